# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's operator: receives the predictions and annotates by the script, over DDS."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from std_srvs.srv import Trigger

from proemlc_ros.conversions import annotation_message, stamped_vector_of
from proemlc_ros.demo.curriculum import Curriculum, Timetable
from proemlc_ros.demo.operator_script import OperatorAction, OperatorScript, Step
from proemlc_ros.demo.run_log import OperatorMistake, RunLog
from proemlc_ros.msg import FeatureVector, LabelSet, Prediction
from proemlc_ros.nodes.demo_camera import PARAMETERS
from proemlc_ros.nodes.parameter_table import Declared, ParameterTable
from proemlc_ros.nodes.process import RunnableNode, run
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.records import Annotation
from proemlc_ros.srv import Annotate, Predict, SaveModel
from proemlc_ros.stamps import stamp_of

OUTPUT = Declared('output', '', 'folder for the log of the run')
MODEL_FILE = 'table_top.npz'
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STREAM = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# Seconds without a prediction after which the stream counts as over.
SILENCE = 10.0
# Seconds after which the prediction of the last lesson was lost.
LOST = 3.0


class DemoOperator(Node, RunnableNode):
    """Starts the camera, annotates by the curriculum, saves the model, logs the run."""

    def __init__(self) -> None:
        """Connect to the camera and the classifier."""
        super().__init__('operator')
        values = ParameterTable(self, (*PARAMETERS, OUTPUT), lambda _: None).values
        self._curriculum = Curriculum(
            values.seed, phase_pictures=values.lesson_pictures,
            exam_pictures=values.exam_pictures)
        self._timetable = Timetable(values.start, values.rate)
        self._script = OperatorScript(self._curriculum)
        self._log = RunLog(Path(values.output), self._curriculum)
        self._known: tuple[str, ...] = ()
        self._vectors: dict[int, FeatureVector] = {}
        self._warmed_up = {'features': False, 'predictions': False}
        self._last_prediction = 0.0
        self._change: Future = Future()
        self._camera = self.create_client(Trigger, 'camera/start')
        self._exam = self.create_client(Trigger, 'camera/begin_exam')
        self._annotate = self.create_client(Annotate, 'proemlc/annotate')
        self._undo = self.create_client(Trigger, 'proemlc/undo')
        self._predict = self.create_client(Predict, 'proemlc/predict')
        self._save = self.create_client(SaveModel, 'proemlc/save_model')
        self.create_subscription(LabelSet, 'proemlc/labels', self._on_labels, LATCHED)
        self.create_subscription(FeatureVector, 'proemlc/features', self._on_features, STREAM)
        self.create_subscription(Prediction, 'proemlc/predictions', self._on_prediction, STREAM)
        self.create_timer(0.2, self._report_progress)

    async def work(self) -> None:
        """Do everything: wait for the other nodes, annotate, save the model, write the log."""
        while not self._connected():
            await self._change_or_tick()
        await self._camera.call_async(Trigger.Request())
        self._last_prediction = time.monotonic()
        in_exam = False
        while not (self._script.finished or self._silent()):
            if self._script.waiting:
                await self._do(self._script.waiting.popleft())
            elif not in_exam and (self._script.lessons_over or self._silent(LOST)):
                # Only now, or it would judge a model that has not learnt everything yet.
                await self._exam.call_async(Trigger.Request())
                in_exam = True
            else:
                await self._change_or_tick()
        saved = await self._save.call_async(SaveModel.Request(file_name=MODEL_FILE))
        self._log.write(self._script, self._vector_table(), saved.message)
        self._report_progress()

    async def _do(self, step: Step) -> None:
        if step.action is OperatorAction.ERR:
            await self._err_and_undo(step)
            return
        response = await self._annotate.call_async(self._annotation(step))
        if response.success:
            self._script.done(step)
        else:
            self._log.rejected(step, response.message)

    async def _err_and_undo(self, step: Step) -> None:
        """Annotate wrongly, undo it, and compare the scores before and after."""
        # A prediction may be heard before the features that it is about.
        deadline = time.monotonic() + SILENCE
        while step.picture.number not in self._vectors and time.monotonic() < deadline:
            await self._change_or_tick()
        before = await self._scores(step)
        await self._annotate.call_async(self._annotation(step))
        during = await self._scores(step)
        undone = await self._undo.call_async(Trigger.Request())
        after = await self._scores(step)
        self._log.mistake = OperatorMistake(
            step.picture.number, step.labels, undone.message, len(before), len(during), len(after),
            difference(before, after))

    async def _scores(self, step: Step) -> list[float]:
        request = Predict.Request(features=self._vectors[step.picture.number])
        response = await self._predict.call_async(request)
        return [float(score) for score in response.prediction.scores]

    def _annotation(self, step: Step) -> Annotate.Request:
        annotation = Annotation(
            stamp=self._timetable.stamp(step.picture.number), labels=step.labels,
            annotator='scripted operator')
        return Annotate.Request(annotation=annotation_message(RosMessages(), annotation))

    def _on_labels(self, message: LabelSet) -> None:
        self._known = tuple(message.names)
        self._log.labels(self._known)
        self._wake()

    def _on_features(self, message: FeatureVector) -> None:
        number = self._timetable.number(stamp_of(message.header))
        if number < 0:
            self._warmed_up['features'] = True
        else:
            self._vectors[number] = message
        self._wake()

    def _on_prediction(self, message: Prediction) -> None:
        self._last_prediction = time.monotonic()
        number = self._timetable.number(stamp_of(message.header))
        if number < 0:
            self._warmed_up['predictions'] = True
        else:
            self._script.on_prediction(
                number, tuple(message.labels), self._known, self._log.seconds())
        self._wake()

    def _connected(self) -> bool:
        """Return whether the services are there, and warm-up pictures came the whole way."""
        clients = (self._camera, self._exam, self._annotate, self._undo, self._predict, self._save)
        return (all(client.service_is_ready() for client in clients)
                and all(self._warmed_up.values()))

    def _silent(self, seconds: float = SILENCE) -> bool:
        return time.monotonic() - self._last_prediction > seconds

    def _wake(self) -> None:
        if not self._change.done():
            self._change.set_result(None)

    async def _change_or_tick(self) -> None:
        self._change = Future(executor=self.executor)
        await self._change

    def _report_progress(self) -> None:
        """Print a line for the progress display, and check again what to do."""
        print(json.dumps(self._log.progress(self._script, self._known)), flush=True)
        self._wake()

    def _vector_table(self) -> dict[int, NDArray[np.float32]]:
        return {number: stamped_vector_of(message).data
                for number, message in sorted(self._vectors.items())}


def difference(before: list[float], after: list[float]) -> float:
    """Return the largest change of a score; infinite where the labels are not the same."""
    if len(before) != len(after):
        return float('inf')
    return max((abs(a - b) for a, b in zip(before, after)), default=0.0)


def main() -> int:
    """Run the operator to the end of the curriculum."""
    return run(DemoOperator, work=DemoOperator.work)


if __name__ == '__main__':
    sys.exit(main())
