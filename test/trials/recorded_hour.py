# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Records all topics of a classifier that is taught, and compares what the tools make of the bag.

    python test/trials/recorded_hour.py --samples 600

A classifier in a process of its own is taught by topic and by service, about the newest vector
and about stamps, with pictures, with mistakes that are undone, corrected or deleted, changes that
are undone and made again, labels that are renamed, merged and removed.
All its topics are recorded over DDS, as `ros2 bag record -a` does. Then `proemlc evaluate`,
`train` and `bag play` (to a new classifier), and the same with its journal, must agree with the
labels, counts and samples that the classifier itself published. Set a ROS_DOMAIN_ID that nobody
else uses.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import rclpy
from rosbags.rosbag2 import StoragePlugin, Writer

for folder in ('', 'nodes'):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

from classifier_partner import LATCHED, ClassifierPartner, annotation, values_of
from proemlc_ros.msg import FeatureVector, LabelAnnotation, LabelSet, ModelEvent, Prediction
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_process import RosProcess
from sensor_msgs.msg import Image

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.core import ProEMLC

TOPICS = {'features': FeatureVector, 'annotations': LabelAnnotation, 'learnt': LabelAnnotation,
          'events': ModelEvent, 'predictions': Prediction, 'labels': LabelSet}
SETTINGS = ('hidden_size:=40', 'activation:=relu', 'scaling:=none', 'ridge:=0.5',
            'query_rate:=0.0', 'picture_topic:=/camera')
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
NAMES = ('cup', 'plate', 'fork', 'spoon')


class Recorder:
    """Writes every message of the topics to a bag, as bytes, in a thread of its own."""

    def __init__(self, path: Path, context: rclpy.Context) -> None:
        self._node = rclpy.create_node('recorder', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        store = RosbagsMessages().store
        for name, kind in TOPICS.items():
            connection = self._writer.add_connection(
                f'/proemlc/{name}', f'proemlc_ros/msg/{kind.__name__}', typestore=store)

            def write(data: bytes, connection: Any = connection) -> None:
                self._writer.write(connection, time.time_ns(), bytes(data))
            # As rosbag2 does: what the publishers offer.
            qos = {'labels': LATCHED, 'features': BEST_EFFORT}.get(name, 1000)
            self._node.create_subscription(kind, f'/proemlc/{name}', write, qos, raw=True)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self) -> None:
        while not self._stop.is_set():
            self._executor.spin_once(0.05)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._writer.close()


def classifier(folder: Path) -> RosProcess:
    parameters = [word for entry in (f'model_directory:={folder}', *SETTINGS)
                  for word in ('-p', entry)]
    return RosProcess(['classifier_node', '--ros-args', *parameters], folder.parent)


def teach(partner: ClassifierPartner, samples: int) -> None:
    """Teach in all ways, with all kinds of changes in between."""
    camera = partner.node.create_publisher(Image, '/camera', 10)
    # The classifier looks for the topic once a second; all could be taught by then.
    partner.spin_until(camera.get_subscription_count, what='the subscription to the camera')
    for number in range(1, samples + 1):
        stamp, label = float(number), NAMES[number % len(NAMES)]
        picture = Image(height=4, width=4, step=12, encoding='rgb8', data=bytes(48))
        picture.header.stamp.sec = number
        camera.publish(picture)
        partner.predict(stamp, values_of(number))
        about = 0.0 if number % 5 == 0 else stamp
        if not about:  # a vector is kept after its prediction is published
            wait_kept(partner, number)
        entry = taught(partner, about, label, by_service=bool(number % 3))
        if number % 7 == 0:  # a mistake, undone
            taught(partner, stamp, 'nonsense')
            assert partner.call('undo').success
        make_corrections(partner, number, entry)
        if number == samples // 2:
            asked(partner, 'rename_label', label='cup', new_label='mug')
            asked(partner, 'rename_label', label='mug', new_label='cup')
            asked(partner, 'rename_label', label='fork', new_label='knife')
            asked(partner, 'undo_change')
        if number == samples // 2 + 1:
            asked(partner, 'remove_label', label='spoon')
    # One that nobody knows the vector of: rejected then, and by the tools.
    partner.annotations.publish(annotation(1e6, ['nowhere']))
    partner.diagnostics(lambda values: values.get('Rejected: unknown_stamp') == '1')


def wait_kept(partner: ClassifierPartner, count: int) -> None:
    """Wait until the classifier has kept so many vectors."""
    partner.diagnostics(lambda values: values['Buffered vectors'] == str(count))


def taught(partner: ClassifierPartner, stamp: float, label: str, by_service: bool = True) -> int:
    """Annotate, and return the number that the classifier publishes for it."""
    before = len(partner.heard['learnt'])
    if by_service:
        assert partner.annotate(stamp, [label]).success
    else:
        partner.annotations.publish(annotation(stamp, [label]))
    partner.spin_until(lambda: len(partner.heard['learnt']) > before, what=f'{label} at {stamp}')
    return int(partner.heard['learnt'][-1].entry)


def asked(partner: ClassifierPartner, service: str, **fields: Any) -> None:
    answer = partner.call(service, **fields)
    assert answer.success, f'{service}: {answer.message}'


def make_corrections(partner: ClassifierPartner, number: int, entry: int) -> None:
    """Correct what was taught, at some of the samples; entry: of the last one."""
    if number % 8 == 0:  # taught wrongly, corrected
        wrong = taught(partner, float(number), 'wrong')
        asked(partner, 'change_samples', samples=[wrong], labels=['plate', 'blue'])
    if number % 9 == 0:  # taught twice, one of them deleted
        twice = taught(partner, float(number), 'plate')
        asked(partner, 'change_samples', samples=[twice], remove=True)
    if number % 10 == 0:  # corrected, taken back, made again
        asked(partner, 'change_samples', samples=[entry], labels=['tray'])
        asked(partner, 'undo_change')
        asked(partner, 'redo_change')
    if number % 12 == 0:  # by another name, merged
        taught(partner, float(number), 'dish')
        asked(partner, 'merge_labels', label='dish', into='plate')


def final(partner: ClassifierPartner) -> dict[str, Any]:
    """Return the labels with their counts, and the number of samples, that were published last."""
    values = partner.diagnostics()
    partner.spin_until(lambda: (
        str(partner.heard['labels'][-1].samples) == values['Samples learnt']
        and str(partner.heard['labels'][-1].version) == values['Label set version']))
    partner.spin_for(0.5)  # the last change may have been of the counts alone
    message = partner.heard['labels'][-1]
    return {'samples': int(message.samples),
            'counts': dict(zip(message.names, map(int, message.counts), strict=True))}


def proemlc(*words: object) -> str:
    done = subprocess.run([sys.executable, '-m', 'proemlc_ros.cli.main', *map(str, words)],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def evaluated(bag: Path, folder: Path) -> dict[str, Any]:
    out = folder / 'evaluated.json'
    proemlc('evaluate', bag, '--json', out, *tool_settings(bag))
    run, = json.loads(out.read_text())['runs']
    return run


def trained(bag: Path, folder: Path) -> dict[str, Any]:
    out = folder / f'{bag.parent.name}_{bag.name}.npz'
    proemlc('train', bag, '-o', out, *tool_settings(bag))
    model = ProEMLC.load(out)
    return {'samples': model.samples, 'counts': dict(zip(model.labels, model.counts, strict=True)),
            'settings': model.options.as_dict()}


def tool_settings(bag: Path) -> tuple[str, ...]:
    """Return the settings of the node; the tools know those of a journal by themselves."""
    return () if bag.name == 'journal' else (
        '--set', ','.join(entry.replace(':=', '=') for entry in SETTINGS[:4]))


def played(bag: Path, folder: Path, context: rclpy.Context) -> dict[str, Any]:
    """Play to a new classifier, and return what it has learnt."""
    node, partner = classifier(folder), ClassifierPartner(context)
    try:
        partner.wait_until_ready()
        proemlc('bag', 'play', bag, '--rate', '1000', '--wait', '90')
        partner.diagnostics(lambda values: values['Held annotations'] == '0')
        return final(partner)
    finally:
        partner.close()
        assert node.stop() == 0


def run(samples: int, folder: Path, context: rclpy.Context) -> dict[str, dict[str, Any]]:
    """Return what the node and each tool say of the same teaching."""
    node = classifier(folder / 'node')
    recorder = Recorder(folder / 'bag', context)
    partner = ClassifierPartner(context)
    try:
        partner.wait_until_ready()
        partner.spin_until(lambda: all(
            partner.node.count_subscribers(f'/proemlc/{name}') >= 2
            for name in ('learnt', 'events', 'features')), what='the recorder')
        teach(partner, samples)
        found = {'node': final(partner)}
    finally:
        partner.close()
        recorder.close()
        assert node.stop() == 0
    for name, bag in (('bag', folder / 'bag'), ('journal', folder / 'node' / 'journal')):
        found[f'evaluate {name}'] = evaluated(bag, folder)
        found[f'train {name}'] = trained(bag, folder)
        found[f'play {name}'] = played(bag, folder / f'played_{name}', context)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--samples', type=int, default=600)
    arguments = parser.parse_args()
    context = rclpy.Context()
    rclpy.init(context=context)
    with tempfile.TemporaryDirectory() as folder:
        found = run(arguments.samples, Path(folder), context)
    for name, result in found.items():
        print(f'{name}: {result["samples"]} samples', result.get('counts', ''))
    context.shutdown()


if __name__ == '__main__':
    main()
