# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of models over recordings, from paths to results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.bags.recording import Recording
from proemlc_ros.bags.sources import Choice, Taught, find_sources
from proemlc_ros.conversions import ANNOTATION_TYPE
from proemlc_ros.errors import BagError
from proemlc_ros.teaching.matching import MatchingRules

from .replay import Replay
from .result import Result, result_of

_PROGRESS_EVERY = 200


@dataclass(frozen=True)
class Recordings:
    """The recordings of a run and how to read them.

    Attributes:
        paths: In the order to be played.
        choice: Which of their topics to read.
        rules: How annotations find their feature vectors.
        best_effort: Whether to use what is readable of damaged ones.

    """

    paths: Sequence[Path]
    choice: Choice = field(default_factory=Choice)
    rules: MatchingRules = field(default_factory=MatchingRules)
    best_effort: bool = False

    def count(self) -> int:
        """Return the number of messages that a run reads."""
        total = 0
        for path in self.paths:
            with Recording(path, self.best_effort) as bag:
                total += find_sources(bag, self.choice).count
        return total


def run(
    recordings: Recordings, replay: Replay, name: str, progress: Callable[[int], None]
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
        with Recording(path, recordings.best_effort) as bag:
            sources = find_sources(bag, recordings.choice)
            if replay.on_prediction is None:
                _require_annotations(bag)
            start = start or bag.start
            replay.play(_counted(sources.stream(bag), progress))
            replay.rejects.update(sources.rejects)
            notes += [f'{path.name}: {note}' for note in bag.notes]
    notes += _stamp_notes(replay)
    return result_of(replay, name, start, time.perf_counter() - began, notes)


def _require_annotations(bag: Recording) -> None:
    if not bag.of_type(ANNOTATION_TYPE):
        raise BagError(
            f'{bag.path}: no annotations in it to compare predictions with; add some with '
            '"proemlc bag annotate", or write the predictions with --predictions FILE')


def _counted(
    stream: Iterable[tuple[int, Taught]], progress: Callable[[int], None]
) -> Iterator[tuple[int, Taught]]:
    number = 0
    for number, item in enumerate(stream, 1):
        yield item
        if number % _PROGRESS_EVERY == 0:
            progress(_PROGRESS_EVERY)
    progress(number % _PROGRESS_EVERY)


def _stamp_notes(replay: Replay) -> list[str]:
    notes = []
    matcher = replay.steps.intake.matcher
    if matcher.duplicates:
        notes.append(f'{matcher.duplicates} feature vectors had the stamp of another one; '
                     'the later one counted')
    if matcher.jumps:
        notes.append(f'{matcher.jumps} times the stamps jumped back by more than '
                     f'{matcher.rules.reorder:g} s; annotations could not reach across')
    return notes
