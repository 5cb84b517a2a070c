# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What came out of a run over recordings, in plain values for tables, files and reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from proemlc_ros.core.metrics import PrequentialMetrics
from proemlc_ros.evaluation.replay import Replay


@dataclass(frozen=True)
class LabelResult:
    """How one label fared; first_seen is in seconds from the beginning of the first recording."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    first_sample: int
    first_seen: float


@dataclass(frozen=True)
class Result:
    """One run.

    Attributes:
        name: What distinguishes the run: a model file or settings.
        settings: The settings of the model.
        learning: Whether the model learnt while it was tested.
        samples: Annotations compared.
        vectors: Feature vectors read.
        seconds: Duration of the run.
        metrics: Measures by name; empty where nothing was annotated.
        labels: One entry a label, in the order of their first appearance.
        confusion: For each label, what was predicted instead when it was missed.
        curve: Sample number, loss of the stretch, loss up to it.
        latency_ms: Percentiles of a single prediction: p50 and p95.
        rejects: Numbers of what was refused, by cause.
        notes: What is not as it should be with the recordings.

    """

    name: str
    settings: dict[str, Any]
    learning: bool
    samples: int
    vectors: int
    seconds: float
    metrics: dict[str, float]
    labels: list[LabelResult]
    confusion: dict[str, dict[str, int]]
    curve: list[tuple[int, float, float]]
    latency_ms: dict[str, float]
    rejects: dict[str, int]
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def result_of(
    replay: Replay, name: str, start: int, seconds: float, notes: list[str]
) -> Result:
    """Return the result of a finished run.

    Args:
        replay: The run.
        name: What distinguishes it.
        start: Beginning of the first recording in nanoseconds.
        seconds: Duration of the run.
        notes: Notes on the recordings.

    """
    tally = replay.tally
    half, most = replay.latency.percentiles((50, 95))
    latency = {'p50': half, 'p95': most} if tally.samples else {}
    return Result(
        name, replay.model.options.as_dict(), replay.learning, tally.samples, replay.vectors,
        seconds, tally.values(), _labels(tally, start),
        {name: dict(one.mistaken_for) for name, one in tally.labels.items() if one.mistaken_for},
        tally.curve.points(), latency, dict(replay.all_rejects), notes)


def _labels(tally: PrequentialMetrics, start: int) -> list[LabelResult]:
    ordered = sorted(tally.labels.items(),
                     key=lambda item: (not item[1].support, item[1].first_sample))
    return [
        LabelResult(name, one.precision, one.recall, one.f1, one.support, one.first_sample,
                    (one.first_time - start) / 1e9 if one.support else float('nan'))
        for name, one in ordered
    ]
