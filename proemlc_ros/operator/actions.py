# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What an operator can have done; the nodes do it over ROS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proemlc_ros.classifier.records import Annotation, StampedPrediction


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How an action ended: whether it was done, and the classifier's own words on it."""

    done: bool
    message: str


class Actions(Protocol):
    """The classifier's services; `who` is the operator, for the activity log."""

    async def annotate(self, annotation: Annotation) -> ActionResult:
        """Teach; done only once the annotation is durable."""

    async def undo(self, who: str) -> ActionResult:
        """Take back the last annotation."""

    async def rename(self, who: str, label: str, new_label: str) -> ActionResult:
        """Give a label another name."""

    async def remove(self, who: str, label: str) -> ActionResult:
        """Forget a label."""

    async def save(self, who: str, file_name: str) -> ActionResult:
        """Write the model to a file; an empty name means the classifier's own snapshot."""

    async def load(self, who: str, file_name: str) -> ActionResult:
        """Replace the model by that of a file."""

    async def predict(self, stamp: int) -> StampedPrediction | None:
        """Return what the classifier now says of a held moment; None where it cannot."""
