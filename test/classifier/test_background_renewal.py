# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal of a running model: nothing acknowledged is lost, and a replay gives the same model."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from corrections import correct, remove, rename
from durable_model_stand import PROBES, WIDTH, Opened, make_annotation, scores_of

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.renewal_task import RenewalTask, renew
from proemlc_ros.classifier.renewals import (
    LabelGrowth,
    RenewalPolicy,
    RenewedModel,
    is_for_labels,
)
from proemlc_ros.errors import OutdatedRenewalError, RenewalError, WorkCancelledError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Correction, EventKind, Learnt

PLACES = np.random.default_rng(7).normal(size=(4, WIDTH)) * 2.0
NAMES = ('cup', 'plate', 'fork', 'knife')
# Seconds; the process of a renewal runs only where nothing else on the machine wants to.
DEADLINE = 300.0


def annotation_of(number: int) -> Annotation:
    """Return a picture of one of four things; the first forty are nearly the same picture."""
    thing = 0 if number < 40 else number % 4
    noise = np.random.default_rng(number).normal(size=WIDTH) * (0.01 if number < 40 else 0.5)
    labels = (NAMES[thing], *(['hot'] if number % 8 == 7 else []))
    return Annotation(1000 + number, labels,
                      features=(PLACES[thing] + noise).astype(np.float32))


def teach(durable, start: int, stop: int) -> None:
    for number in range(start, stop):
        answer, = durable.learn([annotation_of(number)])
        assert isinstance(answer, Learnt), answer


def task_for(durable, folder) -> RenewalTask:
    running = folder / 'running.npz'
    durable.model.learner.save(running, {})
    return RenewalTask(str(durable.directory.journal), str(running), str(folder / 'renewed.npz'),
                       durable.position, tuple(durable.table.rejected), most=100)


def renew_once(durable, folder, meanwhile=lambda: None, at_last=lambda: None) -> None:
    """Renew in this process, with something that happens before it is read, and the swap."""
    task = task_for(durable, folder)
    result = renew(task, lambda: Journal(durable.directory.journal, read_only=True).entries())
    assert result.better
    meanwhile()
    renewed = RenewedModel(durable, folder / 'renewed.npz', task.position)
    at_last()
    renewed.swap()
    durable.snapshot()


@pytest.fixture
def opened(tmp_path):
    return Opened(tmp_path / 'model')


def reopened(tmp_path, opened):
    opened.drop()
    again = Opened(tmp_path / 'model')
    assert not again.report.rejections
    return again


def test_a_renewed_model_goes_on_as_if_nothing_had_happened(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 90)
    version, labels, layer = durable.model.version, durable.model.learner.labels, scores_of(
        durable)
    renew_once(durable, tmp_path, lambda: teach(durable, 90, 96), lambda: teach(durable, 96, 100))
    learner = durable.model.learner
    assert learner.samples == 100
    assert (durable.model.version, learner.labels) == (version, labels)
    assert np.abs(scores_of(durable) - layer).max() > 1e-3
    assert len(durable.table.samples) == 100
    # As if all hundred samples had been learnt with the new layer in one go.
    fresh = learner.empty_copy()
    said = [annotation_of(number) for number in range(100)]
    fresh.learn(np.array([one.features for one in said]), [one.labels for one in said])
    columns = [fresh.labels.index(name) for name in learner.labels]
    np.testing.assert_allclose(learner.scores(PROBES), fresh.scores(PROBES)[:, columns],
                               atol=1e-9)


@pytest.mark.parametrize('snapshots', [True, False])
def test_a_restart_gives_the_same_model(opened, tmp_path, snapshots):
    durable = opened.durable
    teach(durable, 0, 60)
    renew_once(durable, tmp_path, lambda: (teach(durable, 60, 70),
                                           rename(durable, 'cup', 'mug'), remove(durable, 'hot')))
    teach(durable, 70, 80)
    durable.undo()
    expected, thresholds = scores_of(durable), durable.model.learner.thresholds
    labels = durable.model.learner.labels
    if not snapshots:
        for path in durable.directory.snapshots:
            path.unlink(missing_ok=True)
    again = reopened(tmp_path, opened)
    np.testing.assert_allclose(scores_of(again.durable), expected, atol=1e-9)
    np.testing.assert_allclose(again.durable.model.learner.thresholds, thresholds)
    assert again.durable.model.renewed_at == 70
    assert again.durable.model.learner.labels == labels
    again.drop()


def test_what_was_taught_before_a_renewal_can_be_undone_exactly(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 60)
    durable.learn([make_annotation(500, 'wrong')])
    renew_once(durable, tmp_path)
    assert 'wrong' in durable.model.learner.labels
    durable.undo()
    durable.undo()
    learner = durable.model.learner
    assert 'wrong' not in learner.labels
    fresh = learner.empty_copy()
    said = [annotation_of(number) for number in range(59)]
    fresh.learn(np.array([one.features for one in said]), [one.labels for one in said])
    np.testing.assert_allclose(
        learner.scores(PROBES),
        fresh.scores(PROBES)[:, [fresh.labels.index(name) for name in learner.labels]],
        atol=1e-8)
    expected = scores_of(durable)
    again = reopened(tmp_path, opened)
    np.testing.assert_allclose(scores_of(again.durable), expected, atol=1e-9)
    again.drop()


def test_a_renewal_whose_content_is_lost_costs_no_sample(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 60)
    renew_once(durable, tmp_path)
    teach(durable, 60, 65)
    for path in durable.directory.snapshots:
        path.unlink(missing_ok=True)
    for path in durable.journal.attachments.folder.glob('*.npz'):
        path.unlink()
    opened.drop()
    again = Opened(tmp_path / 'model')
    assert again.durable.model.learner.samples == 65
    assert any('layer and settings' in note for note in again.report.notes)
    again.drop()


def test_other_changes_meanwhile_are_not_overwritten(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 60)
    before = durable.model.learner

    def begin_again():
        durable.reset()
        teach(durable, 0, 58)
    with pytest.raises(OutdatedRenewalError):
        renew_once(durable, tmp_path, begin_again)
    with pytest.raises(OutdatedRenewalError):
        renew_once(durable, tmp_path, at_last=begin_again)
    assert durable.model.learner.options == before.options
    assert durable.model.learner.samples == 58


def test_corrections_meanwhile_are_followed(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 60)
    first = next(iter(durable.table.samples))

    def meanwhile():
        durable.undo()
        correct(durable, [Correction(first, ('spoon',)), Correction(first + 1, delete=True)])
    renew_once(durable, tmp_path, meanwhile, at_last=durable.undo)
    learner = durable.model.learner
    assert durable.model.renewed_at and learner.samples == 57
    fresh = learner.empty_copy()
    for number, values in durable.features(durable.table.samples):
        fresh.learn(values, durable.table.samples[number].labels)
    columns = [fresh.labels.index(name) for name in learner.labels]
    np.testing.assert_allclose(learner.scores(PROBES), fresh.scores(PROBES)[:, columns],
                               atol=1e-9)


def test_samples_that_are_not_in_the_journal_are_said(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 40)
    durable.model.learner.save(tmp_path / 'model/kitchen.npz')  # As another robot's file.
    durable.load('kitchen')
    teach(durable, 40, 60)
    errors: list[str] = []
    classifier = Classifier(durable, on_error=errors.append)
    with pytest.raises(RenewalError, match=r'began with kitchen.npz, whose samples are not'):
        classifier.renewals.request().result(DEADLINE)
    classifier.renewals.policy.mode = 'automatic'
    classifier.renewals.consider()
    classifier.close()
    assert not errors


def test_silence_alone_is_no_failure(opened):
    for number in range(40):
        opened.durable.learn([annotation_of(number)._replace(labels=())])
    errors: list[str] = []
    classifier = Classifier(opened.durable, on_error=errors.append)
    classifier.renewals.policy.mode = 'automatic'
    classifier.renewals.consider()
    assert not classifier.renewals.running
    with pytest.raises(RenewalError, match='no sample shows a label yet'):
        classifier.renewals.request().result(DEADLINE)
    classifier.close()
    assert not errors


def test_a_long_journal_is_drawn_from_but_learnt_in_full(opened, tmp_path):
    durable = opened.durable
    teach(durable, 0, 90)
    task = task_for(durable, tmp_path)
    whole = renew(task, lambda: Journal(durable.directory.journal, read_only=True).entries())
    small = RenewalTask(**{**task.__dict__, 'reservoir_bytes': 40 * 4 * WIDTH})
    drawn = renew(small, lambda: Journal(durable.directory.journal, read_only=True).entries())
    assert (whole.drawn, whole.samples) == (90, 90)
    assert (drawn.drawn, drawn.samples) == (40, 90)
    RenewedModel(durable, tmp_path / 'renewed.npz', task.position).swap()
    assert durable.model.learner.samples == 90


def test_features_of_one_scale_are_not_scaled_one_by_one(opened, tmp_path):
    durable = opened.durable
    for number in range(90):
        durable.learn([annotation_of(number)._replace(extractor='colour_histogram/1')])
    classifier = Classifier(durable)
    task = classifier.renewals._task(tmp_path / 'running.npz', tmp_path / 'renewed.npz')
    classifier.close()
    assert task.extractor == 'colour_histogram/1'
    assert RenewalTask.from_json(task.to_json()) == task
    result = renew(task, lambda: Journal(durable.directory.journal, read_only=True).entries())
    assert 'scaling none' in result.settings or 'scaling l2' in result.settings


def test_in_the_background_and_on_demand(tmp_path):
    opened = Opened(tmp_path / 'model')
    errors: list[str] = []
    classifier = Classifier(opened.durable, on_error=errors.append)
    happened = threading.Event()
    changes = []
    classifier.renewals.on_change = lambda change: (changes.append(change), happened.set())
    classifier.renewals.policy.mode = 'automatic'
    teach(opened.durable, 0, 60)
    classifier.renewals.consider()
    assert happened.wait(DEADLINE), errors
    assert changes[0].events[0].kind is EventKind.RENEW
    assert opened.durable.model.renewed_at == 60
    classifier.renewals.consider()  # Not due before they have doubled.
    assert classifier.renewals.policy.next_at() == 120
    kept = classifier.renewals.request().result(DEADLINE)
    assert not kept.events
    assert 'kept the running model' in kept.message
    # Of the renewals, the content that a replay may need.
    assert len(opened.durable.journal.attachments) == 1
    assert not list(opened.directory.path.glob('.renewal*'))
    classifier.renewals.policy.mode = 'off'
    with pytest.raises(RenewalError, match='off'):
        classifier.renewals.request().result(DEADLINE)
    assert not errors
    classifier.close()


def test_a_renewal_can_be_cancelled(tmp_path):
    opened = Opened(tmp_path / 'model')
    errors: list[str] = []
    classifier = Classifier(opened.durable, on_error=errors.append)
    teach(opened.durable, 0, 60)
    assert not classifier.cancel()
    waiting = classifier.renewals.request()
    deadline = time.monotonic() + DEADLINE
    while not classifier.cancel():  # Its process has yet to start.
        assert time.monotonic() < deadline and not waiting.done()
        time.sleep(0.01)
    with pytest.raises(WorkCancelledError, match='the running model stays'):
        waiting.result(DEADLINE)
    assert opened.durable.model.renewed_at == 0 and not errors
    assert classifier.renewals.text == 'cancelled'
    assert classifier.renewals.request().result(DEADLINE).message
    classifier.close()


class OvertakenProcess:
    """Renews in this process, and every time somebody begins again meanwhile."""

    def __init__(self, durable):
        self.durable = durable

    def run(self, task):
        journal = Journal(self.durable.directory.journal, read_only=True)
        result = renew(task, journal.entries)
        self.durable.reset()
        teach(self.durable, 0, 60)
        return result

    def stop(self):
        pass


def test_a_renewal_overtaken_by_resets_is_no_failure(tmp_path):
    opened = Opened(tmp_path / 'model')
    errors: list[str] = []
    said: list[str] = []
    classifier = Classifier(opened.durable, on_error=errors.append)
    renewals = classifier.renewals
    renewals.process = OvertakenProcess(opened.durable)
    renewals.policy.mode, renewals.on_overtaken = 'automatic', said.append
    teach(opened.durable, 0, 60)
    with pytest.raises(RenewalError, match='given up'):
        renewals.request().result(DEADLINE)
    assert opened.durable.model.learner.samples == 60
    assert len(said) == 1 and 'another base' in said[0] and 'due at 76 samples' in said[0]
    # One that has not begun when nothing is left to renew.
    renewals._obstacle = lambda: opened.durable.reset() and None
    with pytest.raises(RenewalError, match='given up, overtaken by a reset'):
        renewals.request().result(DEADLINE)
    assert not errors
    classifier.close()


def test_due_with_growth_or_novelty():
    policy = RenewalPolicy()
    assert not policy.is_due(29)
    assert policy.is_due(30)
    assert not policy.is_due(30, labels=1)
    policy.last = 30
    assert not policy.is_due(59)
    assert policy.is_due(60)
    assert policy.is_due(40, [0.9] * 20)
    assert not policy.is_due(35, [0.9] * 20)
    assert not policy.is_due(40, [0.3] * 20)
    policy.mode = 'manual'
    assert not policy.is_due(600)


def test_labels_taught_to_a_full_layer_call_for_a_renewal(tmp_path):
    opened = Opened(tmp_path / 'model')
    classifier = Classifier(opened.durable)
    classifier.renewals.policy.mode = 'automatic'
    size = opened.durable.model.learner.options.hidden_size
    random = np.random.default_rng(0)

    def taught(label, count):
        for number in range(count):
            opened.durable.learn([annotation_of(number)._replace(
                stamp=random.integers(1, 2**40), labels=(label,),
                features=random.normal(size=WIDTH).astype(np.float32))])

    taught('cup', size // 2)
    taught('plate', size - size // 2)
    renewals = classifier.renewals
    renewals.policy.last = opened.durable.model.learner.samples
    assert not opened.durable.model.learner.warming_up
    assert renewals.labels.growth() == LabelGrowth()
    taught('robot', 4)
    assert renewals.labels.growth() == LabelGrowth(unknown=4)
    assert not renewals.policy.is_due(size + 4, growth=LabelGrowth(unknown=4))
    taught('robot', 1)
    assert renewals.policy.is_due(size + 5, growth=renewals.labels.growth())
    assert not renewals.policy.is_due(size + 5)
    classifier.close()


def test_labels_that_outgrow_a_full_layer_call_for_a_renewal(tmp_path):
    opened = Opened(tmp_path / 'model')
    classifier = Classifier(opened.durable)
    policy, labels = classifier.renewals.policy, classifier.renewals.labels
    policy.mode = 'automatic'
    size = opened.durable.model.learner.options.hidden_size
    random = np.random.default_rng(0)

    def taught(label, count):
        opened.durable.learn([annotation_of(number)._replace(
            stamp=random.integers(1, 2**40), labels=(label,),
            features=random.normal(size=WIDTH).astype(np.float32)) for number in range(count)])

    taught('cup', size - 2)
    taught('plate', 2)
    policy.last = size
    taught('plate', 2)
    assert labels.growth() == LabelGrowth()  # Just doubled.
    taught('plate', 1)
    assert labels.growth() == LabelGrowth(outgrown=3)
    assert not policy.is_due(size + 3, growth=labels.growth())  # Below a tenth of all.
    taught('plate', 2)
    assert policy.is_due(size + 5, growth=labels.growth())
    assert is_for_labels(labels.growth(), size + 5)
    policy.last = size + 5
    assert not policy.is_due(size + 6, growth=labels.growth())  # Not again with every sample.
    classifier.close()
