# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is done to a model: live, resumed, relearnt and trained, it is the same model.

Hypothesis draws operations on a durable model. After every few of them five models must agree:

- the live one,
- one resumed in a copy of the folder, with its snapshots,
- one resumed in a copy without snapshots,
- one trained from a copy of the journal under another name,
- the ridge solution of the samples in force, in plain NumPy.

The suite has fixed seeds. PROEMLC_STEPS=1000 draws about as many steps in all, and
PROEMLC_SEED=7 others than these; with both a trial of any length is run in parts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from corrections import correct, merge_labels, remove, rename, turn
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from proemlc_ros.classifier import renewal_task, versioned_model
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.renewal_task import RenewalTask, renew
from proemlc_ros.classifier.renewals import RenewedModel, drop_superseded
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError, TooLargeError
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.taught_samples import common_settings
from proemlc_ros.evaluation.training import train
from proemlc_ros.journal.journal import Journal, write_settings
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, ClientRequest, Correction, EventKind, Learnt

WIDTH = 6
TOLERANCE = 1e-9
STEPS = int(os.environ.get('PROEMLC_STEPS', 0))
SEED = int(os.environ.get('PROEMLC_SEED', 10))
# Steps of one run, and after how many of them all models are compared.
RUN, EVERY = (40, 1) if STEPS else (24, 5)
PROBES = np.random.default_rng(99).normal(size=(12, WIDTH))
SETTINGS = {
    'radial': {'hidden_size': 16, 'warmup': 6},
    'young': {'hidden_size': 20},
    'relu': {'hidden_size': 12, 'activation': 'relu', 'scaling': 'none'},
    'never fixed': {'hidden_size': 12, 'activation': 'relu', 'warmup': 500},
    'forgetting': {'hidden_size': 14, 'warmup': 6, 'forgetting': 0.97},
}
NAMES = ('cup', 'plate', 'fork', 'knife', 'spoon', 'owl', 'robot')
names = st.sampled_from(NAMES)
annotators = st.sampled_from(['', 'Ada', 'Bob'])
places = st.integers(0, 30)


@st.composite
def said(draw):
    """Draw labels, absent ones and whether these are all."""
    complete = draw(st.integers(0, 3)) > 0
    drawn = draw(st.lists(names, min_size=0 if complete else 1, max_size=3, unique=True))
    present = draw(st.integers(0, len(drawn))) if not complete else len(drawn)
    return tuple(drawn[:present]), tuple(drawn[present:]), complete


def vector(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)


def shown(table: SampleTable) -> dict[str, object]:
    """Return what a table says, in a form that compares."""
    state = table.state
    return {
        'steps': [(step.number, step.time, tuple(step.record), step.group)
                  for step in table.steps.values()],
        'undone': [*table.undone],
        'samples': [(number, tuple(sample)) for number, sample in table.samples.items()],
        'named': [*state.labels.items()],
        'shown': {name: count for name, count in state.shown.items() if count},
        'base': (state.origin, state.layer), 'rejected': {*table.rejected},
        'ends': (table.last, table.forgotten)}


class Opened:
    """A durable model on a folder."""

    def __init__(self, folder: Path, learner_settings: dict[str, object], clock) -> None:
        def new_learner() -> ProEMLC:
            return ProEMLC(**learner_settings)

        self.directory = ModelDirectory(folder)
        self.journal = Journal(self.directory.journal, max_file_bytes=60_000, clock=clock)
        self.durable = DurableModel(VersionedModel(new_learner(), window=8), new_learner,
                                    self.directory, self.journal, clock=clock)
        write_settings(self.journal.folder, new_learner().options.as_dict())
        self.report = resume(self.durable)
        assert not self.report.rejections, self.report.notes
        assert not any('nearly' in note for note in self.report.notes), self.report.notes

    def close(self) -> None:
        """Let go without any farewell, as a crash does."""
        self.directory.close()
        self.journal.close()


def state_of(durable: DurableModel) -> dict[str, object]:
    learner = durable.model.learner
    return {'labels': learner.labels, 'counts': learner.counts, 'learnt': learner.samples,
            'young': learner.warming_up, 'renewed at': durable.model.renewed_at,
            **shown(durable.table)}


def assert_same(found: dict[str, object], expected: dict[str, object], what: str) -> None:
    for name, value in expected.items():
        assert found[name] == value, f'{what}: {name} is {found[name]}, not {value}'


def assert_scores(found: ProEMLC, expected: ProEMLC, what: str) -> None:
    if expected.samples:
        error = np.abs(found.scores(PROBES) - expected.scores(PROBES)).max(initial=0.0)
        assert error < TOLERANCE, f'{what}: scores differ by {error}'


class OneReading(RuleBasedStateMachine):
    """All operations on a model, in any order."""

    learner_settings: dict[str, object]
    steps = checks = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix='one_reading_'))
        ticks = count(1_700_000_000_000_000_000, 1_000)
        self.clock = lambda: next(ticks)
        self.bursts, self.vectors, self.since_check = count(1), count(1), 0
        self.may_compact, self.renewals = False, 0
        self.pending: int | None = None
        self.open()

    def open(self) -> None:
        self.opened = Opened(self.folder / 'model', self.learner_settings, self.clock)
        self.durable = self.opened.durable

    def teardown(self) -> None:
        try:
            self.check_all()
        finally:
            self.opened.close()
            shutil.rmtree(self.folder)

    # ----- what is done -----

    def attempt(self, action):
        """Do something that may be impossible now; then all is as it was."""
        before, scores = state_of(self.durable), self.scores()
        try:
            return action()
        except ProEMLCError as error:
            assert_same(state_of(self.durable), before, f'after {error}')
            np.testing.assert_array_equal(self.scores(), scores)
            return None

    def scores(self) -> np.ndarray:
        learner = self.durable.model.learner
        return learner.scores(PROBES) if learner.samples else np.empty(0)

    def annotation(self, labels, absent, complete, who, again=None) -> Annotation:
        number = next(self.vectors)
        return Annotation(1000 + number, labels, absent, complete, annotator=who,
                          features=vector(number if again is None else again))

    def teach(self, annotations) -> None:
        for learnt in self.durable.learn(annotations):
            assert isinstance(learnt, Learnt), learnt

    def samples(self, *chosen: int) -> list[int]:
        numbers = [*self.durable.table.samples]
        return [*dict.fromkeys(numbers[place % len(numbers)] for place in chosen)]

    def label(self, place: int) -> str:
        labels = self.durable.model.learner.labels
        return labels[place % len(labels)]

    # Behind a compaction not all models can be compared, and nothing is renewed.
    @initialize(compacts=st.integers(0, 2), first=st.integers(0, 20))
    def begin(self, compacts, first):
        self.may_compact = compacts == 0
        self.teach([self.annotation((NAMES[n % 4],), (), True, '') for n in range(first)])

    @rule(said=said(), who=annotators, again=st.none() | st.none() | st.integers(1, 5))
    def learn_one(self, said, who, again):
        self.teach([self.annotation(*said, who, again)])

    @rule(several=st.lists(said(), min_size=2, max_size=5), who=annotators)
    def learn_several(self, several, who):
        self.teach([self.annotation(*one, who) for one in several])

    @rule(said=said(), size=st.integers(2, 4), who=annotators)
    def learn_burst(self, said, size, who):
        name = f'burst:{next(self.bursts):012x}'
        found = [self.annotation(*said, who) for _ in range(size)]
        self.teach([one._replace(request=ClientRequest.of(f'{name}:{place}', one))
                    for place, one in enumerate(found)])

    @precondition(lambda self: self.durable.model.learner.samples)
    @rule(several=st.lists(said(), min_size=1, max_size=3), place=st.integers(0, 3),
          who=annotators)
    def learn_rejected(self, several, place, who):
        """Teach samples of which the learner cannot take one."""
        huge = np.full(WIDTH, 3e38, np.float32)
        try:
            self.durable.model.learner.copy().learn(huge, ['cup'])
        except TooLargeError:
            batch = [self.annotation(*one, who) for one in several]
            place = min(place, len(batch))
            batch.insert(place, self.annotation(('cup', 'rejected'), (), True, who)._replace(
                features=huge))
            results = self.durable.learn(batch)
            assert isinstance(results.pop(place), TooLargeError)
            for learnt in results:
                assert isinstance(learnt, Learnt), learnt

    @rule()
    def undo_last(self):
        self.attempt(self.durable.undo)

    @rule(kind=st.sampled_from([EventKind.UNDO, EventKind.REDO, EventKind.UNDO]),
          who=annotators, mine=st.booleans(), named=st.booleans())
    def turn(self, kind, who, mine, named):
        table = self.durable.table
        following = table.next_undo if kind is EventKind.UNDO else table.next_redo
        steps = following(who if mine else None) if named else []
        self.attempt(lambda: turn(self.durable, kind, [step.number for step in steps], who, mine))

    @precondition(lambda self: self.durable.table.samples)
    @rule(place=places, said=said(), who=annotators)
    def relabel(self, place, said, who):
        number, = self.samples(place)
        self.attempt(lambda: correct(self.durable, [Correction(number, *said)], who))

    @precondition(lambda self: self.durable.table.samples)
    @rule(place=places, who=annotators)
    def delete(self, place, who):
        number, = self.samples(place)
        self.attempt(lambda: correct(self.durable, [Correction(number, delete=True)], who))

    @precondition(lambda self: self.durable.table.samples)
    @rule(chosen=st.lists(st.tuples(places, said(), st.booleans()), min_size=2, max_size=4),
          who=annotators)
    def correct_several(self, chosen, who):
        corrections = {number: Correction(number, *said, delete=delete)
                       for place, said, delete in chosen for number in self.samples(place)}
        self.attempt(lambda: correct(self.durable, [*corrections.values()], who))

    @precondition(lambda self: self.durable.model.learner.labels)
    @rule(label=places, into=places, who=annotators)
    def merge_labels(self, label, into, who):
        self.attempt(lambda: merge_labels(self.durable, self.label(label), self.label(into), who))

    @precondition(lambda self: self.durable.model.learner.labels)
    @rule(label=places, name=names | st.sampled_from(['new', 'newer']), who=annotators)
    def rename(self, label, name, who):
        self.attempt(lambda: rename(self.durable, self.label(label), name, who))

    @precondition(lambda self: self.durable.model.learner.labels)
    @rule(label=places, who=annotators)
    def remove(self, label, who):
        self.attempt(lambda: remove(self.durable, self.label(label), who))

    @rule(really=st.integers(0, 3))
    def reset(self, really):
        if not really:
            self.durable.reset()

    @rule(name=st.sampled_from(['first', 'second']))
    def save(self, name):
        self.durable.save(name)

    @rule(name=st.sampled_from(['first', 'second', 'before_reset']), who=annotators)
    def load_own(self, name, who):
        self.attempt(lambda: self.durable.load(name, who))

    @rule(really=st.integers(0, 3), several=st.lists(said(), min_size=1, max_size=9))
    def load_foreign(self, really, several):
        if really:
            return
        foreign = ProEMLC(**self.learner_settings)
        for labels, absent, complete in several:
            foreign.learn(vector(next(self.vectors)), labels, absent, complete)
        foreign.save(self.opened.directory.path / 'foreign.npz')
        self.attempt(lambda: self.durable.load('foreign'))

    @rule()
    def snapshot(self):
        self.durable.snapshot()

    @rule()
    def restart(self):
        self.opened.close()
        self.open()

    @rule()
    def restart_after_a_snapshot(self):
        self.durable.snapshot()
        self.restart()

    @precondition(lambda self: not self.durable.table.forgotten)
    @rule()
    def restart_without_snapshots(self):
        for path in self.opened.directory.snapshots:
            path.unlink(missing_ok=True)
        self.restart()

    @precondition(lambda self: self.may_compact)
    @rule(really=st.booleans())
    def compact(self, really):
        if really:
            self.durable.compact()

    @precondition(lambda self: self.renewals < 3 and self.pending is None
                  and len(self.durable.table.samples) >= 12
                  and any(self.durable.model.learner.counts)
                  and self.durable.table.base is None and not self.durable.table.forgotten
                  and 'forgetting' not in self.learner_settings)
    @rule()
    def begin_renewal(self):
        running, output = self.folder / 'running.npz', self.folder / 'renewed.npz'
        durable, self.renewals = self.durable, self.renewals + 1
        durable.model.learner.save(running, {})
        task = RenewalTask(str(durable.directory.journal), str(running), str(output),
                           durable.position, tuple(durable.table.rejected), most=16)
        result = renew(task, Journal(durable.directory.journal, read_only=True).entries)
        assert result.better
        self.pending = task.position

    @precondition(lambda self: self.pending is not None)
    @rule()
    def swap_renewed(self):
        position, self.pending = self.pending, None
        self.attempt(lambda: self.swap(position))

    def swap(self, position):
        RenewedModel(self.durable, self.folder / 'renewed.npz', position).swap()
        self.durable.try_snapshot()
        drop_superseded(self.durable)

    # ----- what must be true -----

    @invariant()
    def agrees(self):
        assert_same(shown(self.durable.reading()), shown(self.durable.table), 'the copy')
        self.check_ridge()
        type(self).steps += 1
        self.since_check += 1
        if self.since_check >= EVERY:
            self.check_all()

    def check_all(self):
        """Compare the live model with those that others would get from its folder."""
        self.since_check = 0
        type(self).checks += 1
        copy = self.folder / 'copy'
        shutil.rmtree(copy, ignore_errors=True)  # Of a check that has failed.
        shutil.copytree(self.folder / 'model', copy)
        self.check_resumed(copy, 'resumed')
        table = self.durable.table
        # Entries that were dropped on purpose are in the snapshots alone.
        if not table.forgotten:
            for path in self.opened.directory.snapshots:
                (copy / path.name).unlink(missing_ok=True)
            self.check_resumed(copy, 'resumed without snapshots')
        # A model file's samples are not in the journal; forgetting needs an order, sums have none.
        if (table.samples and not table.forgotten and table.base is None
                and 'forgetting' not in self.learner_settings):
            self.check_trained((copy / 'journal').rename(self.folder / 'other'))
            shutil.rmtree(self.folder / 'other')
        shutil.rmtree(copy)

    def check_resumed(self, copy: Path, what: str):
        other = Opened(copy, self.learner_settings, self.clock)
        try:
            assert_same(state_of(other.durable), state_of(self.durable), what)
            assert_scores(other.durable.model.learner, self.durable.model.learner, what)
        finally:
            other.close()

    def check_trained(self, journal: Path):
        found, notes = common_settings([journal])
        assert not notes
        model, total = train(BagSet([journal]), found)
        live = self.durable.model.learner
        assert not total.rejects and not total.notes
        assert model.labels == live.labels
        assert model.counts == live.counts
        assert (model.samples, model.warming_up) == (live.samples, live.warming_up)
        assert_scores(model, live, 'trained')

    def check_ridge(self):
        """Solve for the weights of each label by the samples that say something about it."""
        learner, table = self.durable.model.learner, self.durable.table
        if (not table.samples or table.base is not None or table.forgotten
                or 'forgetting' in self.learner_settings):
            return
        rows = learner.hidden([values for _, values in self.durable.features(table.samples)])
        samples, probes = [*table.samples.values()], learner.hidden(PROBES)
        scores = learner.scores(PROBES)
        for column, name in enumerate(learner.labels):
            counts = np.array([sample.complete or name in sample.named for sample in samples])
            targets = np.array([1.0 if name in sample.labels else -1.0 for sample in samples])
            H, y = rows[counts], targets[counts]
            beta = np.linalg.solve(H.T @ H + learner.options.ridge * np.eye(H.shape[1]), H.T @ y)
            error = np.abs(probes @ beta - scores[:, column]).max()
            assert error < TOLERANCE, f'ridge solution of {name}: {error}'


@pytest.mark.parametrize('kind', SETTINGS)
def test_all_ways_give_the_same_model(kind, monkeypatch, measured):
    # So that few samples take all ways: young, in blocks, unlearnt or learnt again.
    for name, value in (('_YOUNG', 6), ('_BLOCK', 5), ('_FEW', 3)):
        monkeypatch.setattr(versioned_model, name, value)
    # Every renewal counts, whether or not it is better.
    monkeypatch.setattr(renewal_task, 'is_better', lambda *points: True)

    class Machine(OneReading):
        learner_settings = {**SETTINGS[kind], 'seed': 3}

    # Hypothesis would draw the same for all settings, and the first run draws next to nothing.
    Machine = seed(SEED + [*SETTINGS].index(kind))(Machine)
    runs = max(1, STEPS // (RUN * len(SETTINGS))) if STEPS else 5
    run_state_machine_as_test(Machine, settings=settings(
        max_examples=runs, stateful_step_count=RUN, derandomize=False, deadline=None,
        # A failing run prints its steps; to find fewer that fail takes long.
        phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None))
    measured(f'{kind}, seed {SEED}: {Machine.steps} steps, {Machine.checks} checks')
