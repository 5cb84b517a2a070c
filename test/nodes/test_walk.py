# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The way of a message through the package, counted: docs/architecture.md lists its steps."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation
from rclpy.lifecycle import LifecycleNode
from ros_process import DEADLINE

import proemlc_ros
from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS, open_classifier
from proemlc_ros.nodes.classifier_topics import ClassifierTopics
from proemlc_ros.nodes.logs import ThrottledLog
from proemlc_ros.records import Annotation

PACKAGE = Path(proemlc_ros.__file__).parent
ARCHITECTURE = PACKAGE.parent / 'docs' / 'architecture.md'
# The numerics and the files have depths of their own: they count as one call.
BLACK_BOXES = ('core', 'journal')
# Plain data, counters and the like: they neither pass a message on nor decide about it.
BOOKKEEPING = re.compile(
    r'records\.py|(RateMeter|LatencyWindow|Statistics)\.|prequential|queries\.py|'
    r'(width|labels|version|unsaved|_follow_labels|consider|_count|match|resolve|is_behind)$|'
    r'accepted_labels$|'
    r'durable_model\.py: DurableModel\._(expected|apply|learn)$|'
    r'versioned_model\.py: VersionedModel\._(judge|decided)$|'
    r'conversions\.py: (vector_of|new_header|distinct|region_of|region_message)|stamps\.py|'
    r'validation\.py: distinct|ros_messages\.py')


class Tracer:
    """Notes every call of the package's functions until a message is published."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.every: list[str] = []
        self.published = threading.Event()
        self._inside: dict[int, int] = {}

    def __call__(self, frame, event, argument) -> None:
        if self.published.is_set():
            return
        name = getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)
        path = Path(frame.f_code.co_filename)
        if path.match('rclpy/lifecycle/*'):  # A lifecycle publisher.
            self.published.set()
        if not path.is_relative_to(PACKAGE) or name.startswith('<') or '<locals>' in name:
            return
        box = path.relative_to(PACKAGE).parts[0] in BLACK_BOXES
        thread = threading.get_ident()
        if event == 'call':
            if threading.current_thread().name in ('MainThread', 'learning'):
                self.every.append(f'{path.relative_to(PACKAGE)}: {name}')
            step = f'{path.relative_to(PACKAGE)}: {name}'
            if not self._inside.get(thread) and not BOOKKEEPING.search(step):
                self.calls.append(step)
            if box:
                self._inside[thread] = self._inside.get(thread, 0) + 1
        elif event == 'return' and box:
            self._inside[thread] -= 1


@pytest.fixture
def topics(tmp_path):
    context = rclpy.Context()
    rclpy.init(context=context)
    node = LifecycleNode('walked', context=context, enable_rosout=False)
    values = SimpleNamespace(**{entry.name: entry.default for entry in CLASSIFIER_PARAMETERS})
    values.model_directory, values.activation, values.hidden_size = str(tmp_path), 'relu', 20
    tracer = Tracer()
    threading.setprofile(tracer)      # the learning thread is traced too
    classifier, _ = open_classifier(values, '/walked', print)
    threading.setprofile(None)
    # Somebody listens, or nothing would be published.
    node.create_subscription(LabelAnnotation, '~/learnt', print, 10)
    topics = ClassifierTopics(node, values, classifier, ThrottledLog(print, 1.0))
    deadline = time.monotonic() + DEADLINE
    while not node.count_subscribers('~/learnt'):
        assert time.monotonic() < deadline
    topics.active = True
    for number in range(20):
        features = np.random.default_rng(number).normal(size=8).astype(np.float32)
        classifier.durable.learn([Annotation(number + 1, (f'label {number % 2}',),
                                             features=features)])
    yield topics, classifier, tracer
    topics.stop_receiving()
    classifier.close()
    topics.destroy()
    node.destroy_node()
    rclpy.shutdown(context=context)


def walk(tracer, callback, message) -> list[str]:
    tracer.calls.clear()
    tracer.every.clear()
    tracer.published.clear()
    sys.setprofile(tracer)
    try:
        callback(message)
    finally:
        sys.setprofile(None)
    assert tracer.published.wait(DEADLINE)
    return list(tracer.calls)


def documented(title: str) -> list[str]:
    """Return the steps that the architecture page lists under a title."""
    text = ARCHITECTURE.read_text(encoding='utf-8')
    section = re.split(r'^#+ ', text.split(f'### {title}\n')[1], flags=re.MULTILINE)[0]
    return re.findall(r'^\d+\. `([^`]+)`', section, flags=re.MULTILINE)


def test_one_feature_vector(topics):
    topics, classifier, tracer = topics
    message = FeatureVector(data=np.zeros(8, np.float32).tolist())
    message.header.stamp.sec = 5
    steps = walk(tracer, topics._on_features, message)
    assert len(steps) <= 12
    assert steps == documented('One feature vector')


def test_one_annotation(topics):
    topics, classifier, tracer = topics
    vector = FeatureVector(data=np.ones(8, np.float32).tolist())
    vector.header.stamp.sec = 5
    topics._on_features(vector)
    message = LabelAnnotation(labels=['label 1'])
    message.header.stamp.sec = 5
    steps = walk(tracer, topics._on_annotation, message)
    learnt = steps[:steps.index('nodes/classifier_topics.py: ClassifierTopics.publish_learnt')]
    assert len(learnt) <= 16
    assert learnt == documented('One annotation')


def test_all_calls_are_as_many_as_the_page_says(topics):
    topics, classifier, tracer = topics
    for number in range(20, 400):
        features = np.random.default_rng(number).normal(size=8).astype(np.float32)
        classifier.durable.learn([Annotation(number + 1, (f'label {number % 2}',),
                                             features=features)])
    found = {}
    for second in range(500, 504):  # Now and then the decision is fitted again.
        vector = FeatureVector(data=np.ones(8, np.float32).tolist())
        annotation = LabelAnnotation(labels=['label 1'])
        vector.header.stamp.sec = annotation.header.stamp.sec = second
        for title, callback, message in (
                ('feature vector to prediction', topics._on_features, vector),
                ('annotation to `~/learnt`', topics._on_annotation, annotation)):
            # It may be busy still with what it has published.
            classifier.learning.call(lambda: None).result(DEADLINE)
            walk(tracer, callback, message)
            counts = len(tracer.every), len({call.partition(':')[0] for call in tracer.every})
            found[title] = min(counts, found.get(title, counts))
    for title, (calls, modules) in found.items():
        row = next(line for line in ARCHITECTURE.read_text(encoding='utf-8').splitlines()
                   if line.startswith(f'| {title}'))
        most = [int(number) for number in row.split('|')[-2].split('/')]
        assert calls <= most[0] and modules <= most[1], (title, calls, modules)
