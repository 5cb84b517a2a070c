# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment: which runs it has, and a file of their records, so that it can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from proemlc_ros.evaluation.bag_steps import fork_context
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.baselines import BASELINES, module_of
from proemlc_ros.experiments.datasets import Source
from proemlc_ros.experiments.paper import FIGURE_PATTERNS, make_folds
from proemlc_ros.experiments.runs import (
    FAILED,
    SELECTED,
    Conditions,
    Record,
    run_baseline,
    run_default,
    run_paper,
    run_selected,
)

OURS = 'Pro-EMLC'
OURS_BY_DEFAULT = 'Pro-EMLC, default settings'
PAPER = 'Pro-EMLC as in the paper'
_OUR_RUNS = {OURS: run_selected, OURS_BY_DEFAULT: run_default, PAPER: run_paper}
# Records of earlier versions say "default" of settings that were selected.
_EARLIER = {'default': {'variant': SELECTED}}


@dataclass(frozen=True)
class ExperimentPlan:
    """An experiment.

    Attributes:
        sources: Where the data sets come from.
        methods: OURS, OURS_BY_DEFAULT, PAPER and names of baselines.
        folds: Number of folds of the cross-validation.
        seed: Seed of folds, streams and methods.
        chunk: Samples per update of our learner.
        quick: Whether to use a part of each data set and small networks only.
        baseline_folds: Number of folds that baselines run on; None: all.
    """

    sources: tuple[Source, ...]
    methods: tuple[str, ...] = (OURS, OURS_BY_DEFAULT, PAPER)
    folds: int = 10
    seed: int = 0
    chunk: int = 1
    quick: bool = False
    baseline_folds: int | None = None

    def tasks(self) -> list[Task]:
        """Return the single runs: ours first, then fold after fold, all baselines on each.

        An experiment that was interrupted has then run all baselines on the same folds.
        """
        ours = [method for method in self.methods if method in _OUR_RUNS]
        baselines = [method for method in self.methods if method not in _OUR_RUNS]
        return [Task(self, source, method, fold)
                for methods in (ours, baselines) for source in self.sources
                for fold in range(self.folds) for method in methods
                if fold < self.folds_of(method)]

    def folds_of(self, method: str) -> int:
        """Return the number of folds that a method runs on."""
        if method in _OUR_RUNS or self.baseline_folds is None:
            return self.folds
        return min(self.folds, self.baseline_folds)


@dataclass(frozen=True)
class Task:
    """One method on one fold of one data set."""

    plan: ExperimentPlan
    source: Source
    method: str
    fold: int

    @property
    def key(self) -> str:
        """Identifier of the task; the same in a later run."""
        plan = self.plan
        return (f'{self.source.name}/{"|".join(self.source.patterns)}/{self.method}/'
                f'{self.fold} of {plan.folds}/seed {plan.seed}/chunk {plan.chunk}'
                f'{"/quick" if plan.quick else ""}')

    def run(self) -> list[Record]:
        """Run it and return what was measured."""
        data = _load(self.source, self.plan.quick)
        patterns = self.source.patterns
        fold = make_folds(data.Y, patterns, self.plan.folds, self.plan.seed)[self.fold]
        if self.method not in _OUR_RUNS:
            return run_baseline(data, fold, self.method)
        shown = FIGURE_PATTERNS.get(data.name, patterns[-1]) if fold.number == 0 else None
        return _OUR_RUNS[self.method](
            data, fold, Conditions(patterns, self.plan.chunk, self.plan.quick, shown))


@dataclass
class ExperimentRecords:
    """What an experiment gave: its records, and an error for each run that failed."""

    records: list[Record]
    failures: dict[Task, str] = field(default_factory=dict)


class _ResultsFile:
    """A file with one JSON object per line, each with the records of one run.

    A last line that was cut off, as by a crash, is skipped and overwritten.
    """

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self.path = path
        self._records: dict[str, list[Record]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = 0
        if path.exists():
            for line in path.read_bytes().splitlines(keepends=True):
                if not self._take(line):
                    break
                whole += len(line)
            os.truncate(path, whole)

    def __contains__(self, key: str) -> bool:
        """Return whether a run is there."""
        return key in self._records

    def __getitem__(self, key: str) -> list[Record]:
        """Return the records of a run."""
        return self._records[key]

    def add(self, key: str, records: list[Record]) -> None:
        """Keep the records of a run, durably."""
        self._records[key] = records
        with self.path.open('a', encoding='utf-8') as file:
            file.write(json.dumps({'key': key, 'records': records}) + '\n')
            file.flush()
            os.fsync(file.fileno())

    def _take(self, line: bytes) -> bool:
        try:
            run = json.loads(line)
            self._records[run['key']] = [
                {**record, **_EARLIER.get(record.get('variant'), {})} for record in run['records']]
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        return line.endswith(b'\n')


def run_plan(plan: ExperimentPlan, path: Path, jobs: int, progress: Callable[[str], None],
             only_finished: bool = False) -> ExperimentRecords:
    """Run what a results file does not hold yet, and return all its records for the plan.

    Every finished run is written immediately, so that an interrupted experiment can be resumed. A
    run that fails is reported and tried again next time; the others go on.

    Args:
        plan: The experiment.
        path: The results file; see _ResultsFile.
        jobs: Number of processes.
        progress: Called with the key of each run that is done, those of earlier times included.
        only_finished: Run nothing; return what is there, for folds on which ours is there.
    """
    results = _ResultsFile(path)
    failures = {}
    missing = []
    for task in plan.tasks():
        if task.key in results:
            progress(task.key)
        else:
            missing.append(task)
    for task, records, error in _spread([] if only_finished else missing, jobs):
        if error:
            failures[task] = error
        else:
            results.add(task.key, records)
        progress(task.key)
    # A baseline is shown beside ours on the same fold, which must be there.
    finished = [task for task in plan.tasks()
                if task.key in results and replace(task, method=OURS).key in results]
    for task in finished:
        if reasons := [record[FAILED] for record in results[task.key] if FAILED in record]:
            failures[task] = '; '.join(reasons)
    return ExperimentRecords([record for task in finished for record in results[task.key]
                              if FAILED not in record], failures)


def _spread(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, list[Record], str]]:
    if not tasks:
        return
    # A fresh process for each run, so that its peak of memory is its own; one BLAS thread each.
    for name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
        os.environ.setdefault(name, '1')
    modules = dict.fromkeys(module_of(task.method) for task in tasks if task.method in BASELINES)
    with fork_context(__name__, *modules).Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(_run, tasks, chunksize=1)


def _run(task: Task) -> tuple[Task, list[Record], str]:
    try:
        return task, task.run(), ''
    except Exception as error:  # one failing run must not end the others
        return task, [], f'{type(error).__name__}: {" ".join(str(error).split())}'


@lru_cache(maxsize=1)
def _load(source: Source, quick: bool) -> DataSet:
    return source.load(quick)
