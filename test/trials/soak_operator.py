# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The soak's other side of the classifier, with as little work per message as possible."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation, LabelSet, Prediction
from proemlc_ros.srv import SaveModel
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from std_srvs.srv import Trigger

NAME = '/proemlc'
WIDTH, LABELS = 64, 12
SERVICES = {'undo': Trigger, 'renew': Trigger, 'reset': Trigger, 'save_model': SaveModel}
# Seconds without a message behind which the rest counts as lost; of an answer; between two looks.
PATIENCE, TIMEOUT, PAUSE = 10.0, 600.0, 0.0005
# Annotations that may wait to be learnt while the next vectors are sent.
MOST_WAITING = 30


class Inbox:
    """A subscription that is looked into now and then; it counts serialized messages."""

    def __init__(self, node: Any, kind: type, topic: str, qos: QoSProfile) -> None:
        self._kind = kind
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, qos, raw=True)
        self.received = self.expected = self.lost = 0

    def look(self) -> bool:
        """Count what came; tell whether something did."""
        before = self.received
        handle = self._subscription.handle
        with handle:
            while handle.take_message(self._kind, True) is not None:
                self.received += 1
        return self.received > before

    def wait(self, most_missing: int = 0) -> None:
        """Wait until no more than so many messages are missing."""
        changed = time.monotonic()
        while self.expected - self.received - self.lost > most_missing:
            if self.look():
                changed = time.monotonic()
            elif time.monotonic() > changed + PATIENCE:
                self.lost = self.expected - self.received
                print(f'{self.lost} of {self.expected} {self._kind.__name__} are lost', flush=True)
            else:
                time.sleep(PAUSE)


class SoakOperator:
    """Publishes, counts and calls.

    Attributes:
        counts: of vectors, predictions, annotations and what was lost.
    """

    def __init__(self) -> None:
        self._context = rclpy.Context()
        self._context.init()
        # This one is never spun: its messages are taken by hand.
        self._stream = rclpy.create_node('soak_stream', context=self._context)
        self._caller = rclpy.create_node('soak_caller', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._caller)
        self._vectors = self._stream.create_publisher(
            FeatureVector, f'{NAME}/features', qos_profile_sensor_data)
        self._annotations = self._stream.create_publisher(
            LabelAnnotation, f'{NAME}/annotations', 100)
        self._predictions = Inbox(self._stream, Prediction, f'{NAME}/predictions',
                                  QoSProfile(depth=100))
        self._learnt = Inbox(self._stream, LabelAnnotation, f'{NAME}/learnt', QoSProfile(depth=50))
        self._clients = {name: self._caller.create_client(kind, f'{NAME}/{name}')
                         for name, kind in SERVICES.items()}
        self._centres = np.random.default_rng(0).normal(size=(LABELS, WIDTH))
        self._wait_until_ready()

    @property
    def counts(self) -> Counter[str]:
        """What was sent and received."""
        return Counter({
            'vectors': self._predictions.expected, 'predictions': self._predictions.received,
            'annotations': self._learnt.expected, 'learnt': self._learnt.received,
            'predictions lost': self._predictions.lost, 'annotations lost': self._learnt.lost})

    def send_block(self, first: int, count: int, annotated: int) -> None:
        """Send vectors, annotate some, and wait for all predictions."""
        for number, values, labels in self._samples(first, count):
            vector = FeatureVector(data=array('f', values.tobytes()))
            vector.header.stamp.sec = number
            self._vectors.publish(vector)
            if number - first <= annotated:
                annotation = LabelAnnotation(labels=labels)
                annotation.header.stamp.sec = number
                self._annotations.publish(annotation)
        self._predictions.expected += count
        self._learnt.expected += annotated
        self._predictions.wait()
        self._learnt.look()
        self._learnt.wait(MOST_WAITING)

    def wait_until_learnt(self) -> None:
        """Wait until every annotation is learnt."""
        self._learnt.wait()

    def call(self, service: str, **fields: object) -> Any:
        """Call a service and return its answer."""
        client = self._clients[service]
        future = client.call_async(SERVICES[service].Request(**fields))
        self._executor.spin_until_future_complete(future, TIMEOUT)
        assert future.done(), f'no answer of {service} in {TIMEOUT} s'
        return future.result()

    def close(self) -> None:
        """Take everything down."""
        self._executor.shutdown()
        for node in (self._stream, self._caller):
            node.destroy_node()
        self._context.shutdown()

    def _samples(self, first: int, count: int) -> Iterator[tuple[int, np.ndarray, list[str]]]:
        random = np.random.default_rng(first)
        noise = random.normal(scale=0.3, size=(count, WIDTH))
        shown = random.permuted(np.tile(np.arange(LABELS), (count, 1)), axis=1)[:, :2]
        for place in range(count):
            labels = shown[place][:1 + place % 2]
            values = self._centres[labels].sum(axis=0) + noise[place]
            # Stamps from 1 on: 0 stands for none.
            yield first + place + 1, values.astype(np.float32), [f'label {at}' for at in labels]

    def _wait_until_ready(self) -> None:
        labels = Inbox(self._stream, LabelSet, f'{NAME}/labels', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        deadline = time.monotonic() + 60.0
        while not (labels.received and self._vectors.get_subscription_count()
                   and self._annotations.get_subscription_count()
                   and self._stream.count_publishers(f'{NAME}/predictions')):
            assert time.monotonic() < deadline, 'no classifier'
            time.sleep(0.1)
            labels.look()
        for name, client in self._clients.items():
            assert client.wait_for_service(60.0), f'no service {name}'
        # Until the readers are known on both sides.
        while not self._predictions.look():
            assert time.monotonic() < deadline, 'no prediction'
            self._vectors.publish(FeatureVector(data=array('f', bytes(4 * WIDTH))))
            time.sleep(0.2)
        time.sleep(1.0)
        self._predictions.look()
        self._predictions.received = 0
