# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A recording played into the running node, evaluated, and straight from the arrays: the same."""

import csv
import json
import threading

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs ROS 2')

from dashboard_stand import wait_until
from proemlc_ros.msg import LabelAnnotation, LabelSet, Prediction
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_process import DEADLINE
from rosbags.highlevel import AnyReader

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.evaluation.tables import introduction_order, parse_pattern
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.nodes.bag_player import BagPlayer
from proemlc_ros.stamps import stamp_of

SETTINGS = {'hidden_size': 200, 'seed': 7}


class Listener:
    """Keeps predictions by stamp, and tells when a message has been dealt with."""

    def __init__(self, context):
        self.node = rclpy.create_node('listener', context=context)
        self.predictions, self.learnt = {}, set()
        self._changed = threading.Condition()
        reliable = QoSProfile(depth=100)
        self.node.create_subscription(
            Prediction, '/proemlc/predictions', self._on_prediction, reliable)
        self.node.create_subscription(
            LabelAnnotation, '/proemlc/learnt', self._on_learnt, reliable)
        # Made last: when the latched labels come, the node knows the subscriptions before.
        self.connected = threading.Event()
        self.node.create_subscription(
            LabelSet, '/proemlc/labels', lambda message: self.connected.set(),
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        threading.Thread(target=self.executor.spin, daemon=True).start()

    def _on_prediction(self, message):
        with self._changed:
            self.predictions[stamp_of(message.header)] = message
            self._changed.notify_all()

    def _on_learnt(self, message):
        with self._changed:
            self.learnt.add(stamp_of(message.header))
            self._changed.notify_all()

    def wait_for_answer(self, topic, recorded, period=100_000_000):
        """Wait until the node has answered to the message that was just published."""
        stamp = recorded - recorded % period
        answers = self.predictions if topic.endswith('features') else self.learnt
        with self._changed:
            assert self._changed.wait_for(lambda: stamp in answers, DEADLINE), (topic, stamp)


def play_to_node(bag_path, ros, start_process, folder):
    """Play a recording to a fresh node, message by message; return its predictions by stamp."""
    parameters = {**SETTINGS, 'model_directory': folder, 'features_reliability': 'reliable',
                  'predictions_reliability': 'reliable', 'max_annotation_rate': 0.0,
                  'renewal': 'off'}
    words = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
    node = start_process('classifier_node', '--ros-args', *words)
    listener = Listener(ros)
    with BagReader(bag_path) as bag:
        player = BagPlayer(bag, ros)
        assert player.wait_for_subscribers(DEADLINE), node.output
        assert listener.connected.wait(DEADLINE), node.output
        # As fast as the node answers.
        count = player.play(rate=1e9, after_each=listener.wait_for_answer)
    assert count == bag_message_count(bag_path)
    assert node.stop() == 0
    listener.executor.shutdown()
    return listener.predictions


def bag_message_count(path):
    with BagReader(path) as bag:
        return bag.count


def evaluated(path, folder):
    """Return what `proemlc evaluate` says: predictions and measures."""
    words = ['--hidden-size', SETTINGS['hidden_size'], '--seed', SETTINGS['seed'],
             '--predictions', folder / 'p.csv', '--json', folder / 'out.json']
    assert main(['evaluate', str(path), *map(str, words)]) == 0
    with (folder / 'p.csv').open() as file:
        rows = list(csv.DictReader(file))
    (run,) = json.loads((folder / 'out.json').read_text())['runs']
    return rows, run


def scene_samples(shared, count):
    data = find_dataset(shared / 'datasets', 'scene')
    order = introduction_order(data.Y, parse_pattern('4+1+1', 6))
    # Every few samples of the whole stream, so that all labels appear.
    order = order[::max(1, len(order) // count)]
    return [(data.X[row].astype(np.float32), tuple(data.labels(row))) for row in order]


def straight(samples):
    """Predict and learn straight from the arrays."""
    model, metrics, said = ProEMLC(**SETTINGS), PrequentialMetrics(), []
    for values, labels in samples:
        said.append(model.classify(values))
        metrics.add(said[-1].labels, labels,
                    JudgedLabels.by_annotation(labels, (), True, model.labels))
        model.learn(values, labels)
    return said, metrics.values()


@pytest.mark.slow
def test_scene_live_offline_and_straight(ros, start_process, tmp_path, shared):
    samples = scene_samples(shared, 800)
    make_bag(tmp_path / 'scene', samples)
    live = play_to_node(tmp_path / 'scene', ros, start_process, tmp_path / 'models')
    rows, run = evaluated(tmp_path / 'scene', tmp_path)
    said, metrics = straight(samples)
    assert len(live) == len(rows) == len(said) == len(samples)
    live_metrics = PrequentialMetrics()
    for stamp, row, expected, (_, labels) in zip(sorted(live), rows, said, samples, strict=True):
        prediction = live[stamp]
        scores = json.loads(row['scores'])
        assert tuple(prediction.labels) == expected.labels
        assert ';'.join(prediction.labels) == row['labels']
        assert tuple(scores) == expected.names
        # Messages carry float32.
        np.testing.assert_allclose(prediction.scores, expected.scores, atol=1e-6)
        np.testing.assert_allclose(list(scores.values()), expected.scores, atol=1e-9)
        live_metrics.add(prediction.labels, labels,
                         JudgedLabels.by_annotation(labels, (), True, expected.names))
    assert live_metrics.values() == metrics
    assert metrics.items() <= run['metrics'].items()  # It has measures of the calibration, too.
    check_journal(tmp_path / 'models' / 'journal', tmp_path, len(samples), metrics)


def check_journal(journal, folder, count, metrics):
    """The node's journal is a recording for everyone, and teaches the same again."""
    with AnyReader([journal]) as reader:
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
        messages = [reader.deserialize(data, connection.msgtype)
                    for connection, _, data in reader.messages()]
    assert counts['/proemlc/annotations'] == count == len(messages)
    assert all(len(message.features) == 294 for message in messages)
    words = ['--hidden-size', SETTINGS['hidden_size'], '--seed', SETTINGS['seed']]
    assert main(['evaluate', str(journal), '--json', str(folder / 'journal.json'),
                 *map(str, words)]) == 0
    (run,) = json.loads((folder / 'journal.json').read_text())['runs']
    assert metrics.items() <= run['metrics'].items()
    assert main(['info', str(journal)]) == 0


def test_the_player_publishes_what_was_recorded(ros, tmp_path):
    from proemlc_ros.msg import FeatureVector
    rng = np.random.default_rng(0)
    samples = [(rng.random(5, dtype=np.float32), ('cup',)) for _ in range(20)]
    make_bag(tmp_path / 'bag', samples, rate=100.0)
    node = rclpy.create_node('listener', context=ros)
    received = []
    node.create_subscription(FeatureVector, '/proemlc/features', received.append,
                             QoSProfile(depth=100))
    node.create_subscription(LabelAnnotation, '/proemlc/annotations', received.append,
                             QoSProfile(depth=100))
    executor = SingleThreadedExecutor(context=ros)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    with BagReader(tmp_path / 'bag') as bag:
        player = BagPlayer(bag, ros)
        assert player.wait_for_subscribers(DEADLINE)
        assert player.play(rate=2.0) == 40
    wait_until(lambda: len(received) == 40, '40 messages')
    executor.shutdown()
    vectors = [message for message in received if isinstance(message, FeatureVector)]
    assert len(received) == 40 and len(vectors) == 20
    for message, (values, _) in zip(vectors, samples, strict=True):
        np.testing.assert_array_equal(message.data, values)
