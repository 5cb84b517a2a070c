# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which runs an experiment consists of, and how they are spread over processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from proemlc_ros.evaluation.forking import fork_context
from proemlc_ros.experiments.baseline_runs import run_rival
from proemlc_ros.experiments.baselines import MODULES
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.our_runs import Record, run_ours, run_paper
from proemlc_ros.experiments.protocol import make_folds
from proemlc_ros.experiments.published import FIGURE_PATTERNS
from proemlc_ros.experiments.results_file import ResultsFile
from proemlc_ros.experiments.sources import Source

OURS = 'Pro-EMLC'
PAPER = 'Pro-EMLC as in the paper'


@dataclass(frozen=True)
class ExperimentPlan:
    """An experiment.

    Attributes:
        sources: Where the data sets come from.
        methods: OURS, PAPER and names of rivals.
        folds: Number of folds of the cross-validation.
        seed: Of folds, streams and methods.
        chunk: Samples learnt at once by our learner.
        quick: Whether to look at a part of each data set and at small networks only.
        rival_folds: Rivals run on these many of the folds only; for long runs.

    """

    sources: tuple[Source, ...]
    methods: tuple[str, ...] = (OURS, PAPER)
    folds: int = 10
    seed: int = 0
    chunk: int = 1
    quick: bool = False
    rival_folds: int | None = None

    def tasks(self) -> list[Task]:
        """Return the single runs: ours first, then fold after fold, all methods beside each other.

        An experiment that was interrupted has then seen all methods on the same folds.
        """
        ours = [method for method in self.methods if method in (OURS, PAPER)]
        rivals = [method for method in self.methods if method not in (OURS, PAPER)]
        return [Task(self, source, method, fold)
                for methods in (ours, rivals) for source in self.sources
                for fold in range(self.folds) for method in methods
                if fold < self.folds_of(method)]

    def folds_of(self, method: str) -> int:
        """Return on how many folds a method runs."""
        if method in (OURS, PAPER) or self.rival_folds is None:
            return self.folds
        return min(self.folds, self.rival_folds)


@dataclass(frozen=True)
class Task:
    """One method on one fold of one data set."""

    plan: ExperimentPlan
    source: Source
    method: str
    fold: int

    @property
    def key(self) -> str:
        """What tells the task from all others; the same in a later run."""
        plan = self.plan
        return (f'{self.source.name}/{"|".join(self.source.patterns)}/{self.method}/'
                f'{self.fold} of {plan.folds}/seed {plan.seed}/chunk {plan.chunk}'
                f'{"/quick" if plan.quick else ""}')

    def run(self) -> list[Record]:
        """Run it and return what was measured."""
        data = _load(self.source, self.plan.quick)
        fold = make_folds(data.Y, self.source.patterns, self.plan.folds, self.plan.seed)[self.fold]
        if self.method not in (OURS, PAPER):
            return run_rival(data, fold, self.method)
        patterns = self.source.patterns
        shown = FIGURE_PATTERNS.get(data.name, patterns[-1]) if fold.number == 0 else None
        run = run_ours if self.method == OURS else run_paper
        return run(data, fold, patterns, self.plan.chunk, self.plan.quick, shown)


def run_plan(plan: ExperimentPlan, path: Path, jobs: int, progress: Callable[[str], None],
             only_finished: bool = False) -> list[Record]:
    """Run what a results file does not hold yet, and return all its records for the plan.

    Every finished run is written at once, so that an interrupted experiment goes on later.

    Args:
        plan: The experiment.
        path: Of the results file, a JSON object a line.
        jobs: Processes to use.
        progress: Called with the key of each run that is done, those of earlier times included.
        only_finished: Run nothing; return what is there, for folds on which ours is there.

    """
    results = ResultsFile(path)
    missing = []
    for task in plan.tasks():
        if task.key in results:
            progress(task.key)
        else:
            missing.append(task)
    for task, records in _spread([] if only_finished else missing, jobs):
        results.add(task.key, records)
        progress(task.key)
    # A rival is shown beside ours on the same fold, which must be there.
    return [record for task in plan.tasks()
            if task.key in results and replace(task, method=OURS).key in results
            for record in results[task.key]]


def _spread(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, list[Record]]]:
    if not tasks:
        return
    # A fresh process for each run, so that its peak of memory is its own; one BLAS thread each.
    for name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
        os.environ.setdefault(name, '1')
    rivals = [f'proemlc_ros.experiments.baselines.{MODULES[method]}'
              for method in dict.fromkeys(task.method for task in tasks) if method in MODULES]
    with fork_context(__name__, *rivals).Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(_run, tasks, chunksize=1)


def _run(task: Task) -> tuple[Task, list[Record]]:
    return task, task.run()


@lru_cache(maxsize=1)
def _load(source: Source, quick: bool) -> DataSet:
    return source.load(quick)
