# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's operator: puts things before the camera and annotates what it shows, over DDS."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from proemlc_ros.conversions import annotation_message, stamped_vector_of
from proemlc_ros.demo.curriculum import Curriculum, ScenePicture
from proemlc_ros.demo.run_log import OperatorMistake, RunLog
from proemlc_ros.msg import FeatureVector, LabelSet, Prediction
from proemlc_ros.nodes.operator.operator_node import LATCHED, PREDICTIONS, VECTORS
from proemlc_ros.nodes.parameters import Declared, ParameterTable
from proemlc_ros.nodes.process import RunnableNode, run
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.records import Annotation
from proemlc_ros.srv import Annotate, ControlSource, Predict, SaveModel
from proemlc_ros.stamps import stamp_of

_PARAMETERS = (
    Declared('seed', 0, 'seed of the pictures', 0, 2**31 - 1),
    Declared('lesson_pictures', 60, 'pictures of each phase', 1, 10_000),
    Declared('exam_pictures', 200, 'pictures of the exam at the end', 1, 10_000),
    Declared('output', '', 'folder for the log of the run'),
    Declared('model_file', 'table_top.npz', 'file name of the saved model'),
)


class DemoOperator(Node, RunnableNode):
    """Works through the curriculum picture by picture, saves the model, logs the run."""

    def __init__(self) -> None:
        """Connect to the camera and the classifier."""
        super().__init__('operator', automatically_declare_parameters_from_overrides=True)
        values = ParameterTable(self, _PARAMETERS, lambda _: None).values
        self._curriculum = Curriculum(
            values.seed, phase_pictures=values.lesson_pictures,
            exam_pictures=values.exam_pictures)
        self._model_file = values.model_file
        self._log = RunLog(Path(values.output), self._curriculum)
        # By stamp, of the pictures since `_since`.
        self._vectors: dict[int, FeatureVector] = {}
        self._predictions: dict[int, Prediction] = {}
        self._since = 0
        self._change: Future = Future()
        self._camera: Any = self.create_client(ControlSource, 'source/control')
        self._annotate: Any = self.create_client(Annotate, 'proemlc/annotate')
        self._undo: Any = self.create_client(Trigger, 'proemlc/undo')
        self._predict: Any = self.create_client(Predict, 'proemlc/predict')
        self._save: Any = self.create_client(SaveModel, 'proemlc/save_model')
        self.create_subscription(LabelSet, 'proemlc/labels', self._on_labels, LATCHED)
        self.create_subscription(FeatureVector, 'proemlc/features', self._on_features, VECTORS)
        self.create_subscription(Prediction, 'proemlc/predictions', self._on_prediction,
                                 PREDICTIONS)
        self.create_timer(0.2, self._report_progress)

    async def work(self) -> None:
        """Do everything: wait for the other nodes, annotate, save the model, write the log."""
        while not self._connected():
            await self._change_or_tick()
        for picture in self._curriculum.pictures:
            stamp = await self._look(picture)
            if picture.mistake:
                await self._err_and_undo(picture, stamp)
            if not picture.exam:
                answer = await self._annotate.call_async(_request(picture.objects, stamp))
                if answer.success:
                    self._log.learnt.append(picture.number)
                else:
                    self._log.rejections.append((picture.number, answer.message))
        saved = await self._save.call_async(SaveModel.Request(file_name=self._model_file))
        self._log.write(saved.message)
        self._report_progress()

    async def _look(self, picture: ScenePicture) -> int:
        """Put a picture before the camera, record its prediction, and return its stamp."""
        await self._camera.call_async(ControlSource.Request(
            command='show', things=list(picture.objects), position=picture.arrangement))
        # What the camera sends from now on shows these things; it sends them until the next.
        self._since = time.time_ns()
        self._vectors.clear()
        self._predictions.clear()
        while not (both := self._vectors.keys() & self._predictions.keys()):
            await self._change_or_tick()
        stamp = min(both)
        self._log.vectors[picture.number] = stamped_vector_of(self._vectors[stamp]).data
        self._log.predicted(picture.number, tuple(self._predictions[stamp].labels))
        return stamp

    async def _err_and_undo(self, picture: ScenePicture, stamp: int) -> None:
        """Annotate wrongly, undo it, and compare the scores before and after."""
        vector = self._vectors[stamp]
        before = await self._scores(vector)
        await self._annotate.call_async(_request(picture.mistake, stamp))
        during = await self._scores(vector)
        undone = await self._undo.call_async(Trigger.Request())
        after = await self._scores(vector)
        self._log.mistake = OperatorMistake(
            picture.number, picture.mistake, undone.message, len(before), len(during), len(after),
            _difference(before, after))

    async def _scores(self, vector: FeatureVector) -> list[float]:
        response = await self._predict.call_async(Predict.Request(features=vector))
        return [float(score) for score in response.prediction.scores]

    def _on_labels(self, message: LabelSet) -> None:
        self._log.labels(tuple(message.names))

    def _on_features(self, message: FeatureVector) -> None:
        self._keep(self._vectors, message)

    def _on_prediction(self, message: Prediction) -> None:
        self._keep(self._predictions, message)

    def _keep(self, kept: dict[int, Any], message: FeatureVector | Prediction) -> None:
        stamp = stamp_of(message.header)
        if stamp > self._since:
            kept[stamp] = message
            self._wake()

    def _connected(self) -> bool:
        """Return whether the services are there, and a picture came the whole way."""
        clients = (self._camera, self._annotate, self._undo, self._predict, self._save)
        return (all(client.service_is_ready() for client in clients)
                and bool(self._vectors) and bool(self._predictions))

    def _wake(self) -> None:
        if not self._change.done():
            self._change.set_result(None)

    async def _change_or_tick(self) -> None:
        self._change = Future(executor=self.executor)
        await self._change

    def _report_progress(self) -> None:
        """Print a line for the progress display, and check again what to do."""
        print(json.dumps(self._log.progress()), flush=True)
        self._wake()


def _request(labels: tuple[str, ...], stamp: int) -> Annotate.Request:
    annotation = Annotation(stamp=stamp, labels=labels, annotator='scripted operator')
    return Annotate.Request(annotation=annotation_message(RosMessages(), annotation))


def _difference(before: list[float], after: list[float]) -> float:
    """Return the largest change of a score; infinite where the labels are not the same."""
    if len(before) != len(after):
        return float('inf')
    return max((abs(a - b) for a, b in zip(before, after)), default=0.0)


def main() -> int:
    """Run the operator to the end of the curriculum."""
    return run(DemoOperator, work=DemoOperator.work)


if __name__ == '__main__':
    sys.exit(main())
