# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the services that list what was taught, from plain objects and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time

from proemlc_ros.classifier.step_text import step_text
from proemlc_ros.conversions import region_message
from proemlc_ros.journal.table import ModelStep
from proemlc_ros.msg import HistoryStep, LearntSample, ModelFile
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.stamps import NANOSECONDS

if TYPE_CHECKING:
    from proemlc_ros.classifier.gallery import ListedSample


def learnt_sample_message(sample: ListedSample) -> LearntSample:
    """Return the LearntSample of a learnt sample."""
    said = sample.annotation
    return LearntSample(
        number=sample.step.number,
        taught=_time(sample.step.time),
        stamp=_time(said.stamp),
        labels=list(said.labels),
        absent=list(said.absent),
        complete=said.complete,
        annotator=said.annotator,
        region=region_message(RosMessages(), said.region),
        has_picture=sample.has_picture,
        doubt=sample.doubt.amount,
        doubtful_label=sample.doubt.label,
        expected=list(sample.doubt.expected),
    )


def history_step_message(step: ModelStep, undone: bool) -> HistoryStep:
    """Return the HistoryStep of a step."""
    return HistoryStep(
        number=step.number,
        time=_time(step.time),
        kind=int(step.kind or 0),
        text=step_text(step),
        annotator=step.annotator,
        sample=step.sample,
        undone=undone,
        group=step.group,
    )


def model_file_message(name: str, size: int, time: int) -> ModelFile:
    """Return the ModelFile of a file; time: of its last change, in nanoseconds."""
    return ModelFile(name=name, size=size, time=_time(time))


def _time(stamp: int) -> Time:
    return Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
