# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/pictures.py teaches: the classifier as its node opens it, or over DDS."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.demo.processes import own_domain
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.records import Annotation, LabelState

Vectors = NDArray[np.float32]
# Seconds that a node may take to start on a busy machine, and to answer.
START, ANSWER = 180.0, 60.0


class PicturePrediction(NamedTuple):
    """What the classifier says of a picture: predicted labels, all labels with scores, novelty."""

    labels: tuple[str, ...]
    names: tuple[str, ...]
    scores: tuple[float, ...]
    novelty: float


class NodeLearner:
    """The classifier that the node opens with its default parameters, called directly."""

    def __init__(self, extractor: str, folder: Path, renew: bool = False) -> None:
        """Open it in an empty folder; renew: wait for the renewals that become due."""
        from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS, open_classifier
        values = SimpleNamespace(**{entry.name: entry.default for entry in CLASSIFIER_PARAMETERS})
        values.model_directory = str(folder)
        self._extractor, self._taught, self._renew = extractor, 0, renew
        self._classifier, _ = open_classifier(values, '/benchmark', print)

    def teach(self, vectors: Vectors, labels: Sequence[tuple[str, ...]],
              order: Iterable[int]) -> None:
        """Learn samples one after the other."""
        durable, renewals = self._classifier.durable, self._classifier.renewals
        for place in order:
            self._taught += 1
            result, = durable.learn([Annotation(
                self._taught, labels[place], features=vectors[place],
                extractor=self._extractor)])
            if isinstance(result, ProEMLCError):
                raise result
            model = durable.model
            if self._renew and renewals.policy.is_due(
                    model.learner.samples, [*model.novelties], len(model.learner.labels),
                    renewals.labels.growth()):
                renewals.request().result()

    def predict(self, vectors: Vectors) -> list[PicturePrediction]:
        """Return the predictions of samples."""
        found = (self._classifier.durable.model.classify(vector).classification
                 for vector in vectors)
        return [PicturePrediction(one.labels, tuple(one.names), tuple(map(float, one.scores)),
                                  float(one.novelty)) for one in found]

    def labelled(self, vectors: Vectors) -> list[tuple[str, ...]]:
        """Return the labels of samples as if "I don't know" were no answer."""
        learner = self._classifier.durable.model.learner
        return [learner.classify(vector).labels for vector in vectors]

    def judged(self) -> LabelState:
        """Return the labels, with how good predictions are for what was taught."""
        self._classifier.durable.model.judge()
        return self._classifier.durable.model.label_state()

    def close(self) -> None:
        """End it."""
        self._classifier.close()


class LiveLearner:
    """A running classifier node with its default parameters, over DDS."""

    def __init__(self, extractor: str, folder: Path, renew: bool = True) -> None:
        """Start the node and wait until it answers; renewals are its own affair."""
        import rclpy
        from proemlc_ros.srv import Annotate, Predict

        from proemlc_ros.demo.processes import Processes
        self._extractor = extractor
        self._processes = Processes(folder)
        self._processes.start('classifier_node', '--ros-args', '-p',
                              f'model_directory:={folder / "model"}')
        self._rclpy, self._annotate_type, self._predict_type = rclpy, Annotate, Predict
        rclpy.init()
        self._node = rclpy.create_node('picture_benchmark')
        self._annotate = self._node.create_client(Annotate, 'proemlc/annotate')
        self._predict = self._node.create_client(Predict, 'proemlc/predict')
        self._names: list[str] = []  # in the order of the scores: as they were taught
        deadline = time.monotonic() + START
        for client in (self._annotate, self._predict):
            while not client.wait_for_service(1.0):
                self._processes.check()
                if time.monotonic() > deadline:
                    raise ProEMLCError(
                        f'the services of the classifier node were not found in {START:.0f} s')

    def teach(self, vectors: Vectors, labels: Sequence[tuple[str, ...]],
              order: Iterable[int]) -> None:
        """Learn samples one after the other, each acknowledged."""
        for number, place in enumerate(order, start=1):
            request = self._annotate_type.Request()
            request.annotation.header.stamp.sec = number
            request.annotation.labels = list(labels[place])
            request.annotation.complete = True
            request.annotation.features = vectors[place]
            request.annotation.extractor = self._extractor
            self._names += [name for name in labels[place] if name not in self._names]
            response = self._call(self._annotate, request)
            if not response.success:
                raise ProEMLCError(response.message)

    def predict(self, vectors: Vectors) -> list[PicturePrediction]:
        """Return the predictions of samples."""
        found = []
        for number, vector in enumerate(vectors, start=1):
            request = self._predict_type.Request()
            request.features.header.stamp.sec = number
            request.features.data = vector
            request.features.extractor = self._extractor
            response = self._call(self._predict, request)
            if not response.success:
                raise ProEMLCError(response.message)
            prediction = response.prediction
            found.append(PicturePrediction(
                tuple(prediction.labels), tuple(self._names), tuple(prediction.scores),
                float(prediction.novelty)))
        return found

    def close(self) -> None:
        """End node and client."""
        self._node.destroy_node()
        self._rclpy.shutdown()
        self._processes.stop()

    def _call(self, client: Any, request: Any) -> Any:
        future = client.call_async(request)
        deadline = time.monotonic() + ANSWER
        while not future.done():
            self._rclpy.spin_once(self._node, timeout_sec=0.1)
            self._processes.check()
            if time.monotonic() > deadline:
                raise ProEMLCError(f'{client.srv_name} did not answer in {ANSWER:.0f} s')
        return future.result()


class PictureLearner:
    """Opens learners for vectors of one extractor, each in a folder of its own."""

    def __init__(self, extractor: str,
                 kind: type[NodeLearner] | type[LiveLearner] = NodeLearner,
                 renew: bool = False) -> None:
        """Take the identity of the vectors, the way to learn, and whether renewals run."""
        self._extractor = extractor
        self._kind = kind
        self._renew = renew

    @contextmanager
    def open(self) -> Iterator[NodeLearner | LiveLearner]:
        """Yield a learner that has learnt nothing."""
        # A domain of its own: another node of the same name would answer in place of this one.
        with own_domain(), tempfile.TemporaryDirectory(prefix='proemlc_pictures_') as folder:
            os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
            learner = self._kind(self._extractor, Path(folder), self._renew)
            try:
                yield learner
            finally:
                learner.close()
