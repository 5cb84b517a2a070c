# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of models over recordings, from paths to results."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, find_sources
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.evaluation.reading import BagToRead, Reading, ReadingBeside
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.evaluation.result import Result, result_of

# Bytes of a recording from which on a process beside pays for its start.
_LONG = 50_000_000


@dataclass(frozen=True)
class BagSet:
    """The recordings of a run and how to read them.

    Attributes:
        paths: In the order to be played.
        choice: Which of their topics to read.
        rules: How annotations find their feature vectors.
        best_effort: Whether to use what is readable of damaged ones.
        beside: Whether long ones are read in a process beside this one.

    """

    paths: Sequence[Path]
    choice: TopicSelection = field(default_factory=TopicSelection)
    rules: MatchingRules = field(default_factory=MatchingRules)
    best_effort: bool = False
    beside: bool = False

    def count(self) -> int:
        """Return the number of messages that a run reads."""
        total = 0
        for path in self.paths:
            with BagReader(path, self.best_effort) as bag:
                total += find_sources(bag, self.choice).count
        return total


def run(
    recordings: BagSet, replay: Replay, name: str, progress: Callable[[int], None]
) -> Result:
    """Play recordings to a model and return how it fared.

    Args:
        recordings: What to play.
        replay: The run, with its model.
        name: What distinguishes the run.
        progress: Called now and then with the number of messages read since the last call.

    Raises:
        BagError: A recording cannot be read, or has nothing to compare predictions with.

    """
    notes: list[str] = []
    start = 0
    began = time.perf_counter()
    for path in recordings.paths:
        reading = _reading(recordings, path, replay)
        for step, messages in reading:
            replay.take(step)
            progress(messages)
        start = start or reading.start
        notes += reading.notes
    notes += _stamp_notes(replay)
    return result_of(replay, name, start, time.perf_counter() - began, notes)


def _reading(recordings: BagSet, path: Path, replay: Replay) -> Reading:
    bag = BagToRead(path, recordings.choice, recordings.best_effort,
                    replay.on_prediction is None)
    beside = recordings.beside and _size(path) >= _LONG and (os.cpu_count() or 1) > 1
    return (ReadingBeside if beside else Reading)(bag, replay.steps)


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _stamp_notes(replay: Replay) -> list[str]:
    notes = []
    matcher = replay.steps.matcher.buffer
    if matcher.duplicates:
        notes.append(f'{matcher.duplicates} feature vectors had the stamp of another one; '
                     'the later one counted')
    if matcher.jumps:
        notes.append(f'{matcher.jumps} times the stamps jumped back by more than '
                     f'{matcher.rules.reorder:g} s; annotations could not reach across')
    return notes
