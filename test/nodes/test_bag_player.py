# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which services a bag's records are carried out by, at which entries of the classifier."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from rclpy.task import Future

from proemlc_ros.nodes import bag_player
from proemlc_ros.nodes.bag_player import TeachingPlayer
from proemlc_ros.records import Annotation, Event, EventKind


class Classifier:
    """Answers the calls of a player; its entries are numbered 101, 102, ..."""

    def __init__(self) -> None:
        self.calls = []
        self.last = 100
        self.unanswered = 0
        self.player = TeachingPlayer(
            SimpleNamespace(context=SimpleNamespace(ok=lambda: True)),
            SimpleNamespace(spin_once=lambda _: None), '/proemlc')
        for name in bag_player._SERVICES:
            self.player._clients[name] = SimpleNamespace(
                wait_for_service=lambda _: True, remove_pending_request=lambda _: None,
                call_async=lambda request, name=name: self._call(name, request))

    def _call(self, name, request):
        future = Future()
        if name == 'list_history':
            future.set_result(SimpleNamespace(
                success=True, steps=[SimpleNamespace(number=self.last)]))
            return future
        again = (name, request) in self.calls
        if not again:
            self.calls.append((name, request))
            self.last += 1
        if self.unanswered:
            self.unanswered -= 1
        else:
            future.set_result(SimpleNamespace(
                success=True, entry=self.last, steps=[self.last]))
        return future

    def play(self, *records):
        for record in records:
            self.player.take(record)
        return [name for name, _ in self.calls]


def said(entry, label='cup', who=''):
    return Annotation(entry, (label,), features=np.ones(3, np.float32), annotator=who, entry=entry)


@pytest.fixture
def classifier():
    return Classifier()


def test_corrections_are_made_at_the_entries_of_the_classifier(classifier):
    names = classifier.play(
        said(4), said(6, who='Ada'), Event(EventKind.RELABEL, sample=6, labels=('mug',), entry=7),
        Event(EventKind.DELETE, sample=4, entry=8),
        Event(EventKind.RENAME, 0, 'mug', 'jug', entry=9),
        Event(EventKind.UNDO, sample=9, annotator='Bob', entry=10),
        Event(EventKind.UNDO, sample=6, annotator='Ada', entry=11),
        Event(EventKind.REDO, sample=6, annotator='Ada', entry=12))
    assert names == ['annotate', 'annotate', 'change_samples', 'change_samples', 'rename_label',
                     'undo_change', 'undo_change', 'redo_change']
    relabelled, deleted, _, rename, annotation, again = [
        request for _, request in classifier.calls[2:]]
    assert list(relabelled.samples) == [102] and not relabelled.remove
    assert list(deleted.samples) == [101] and deleted.remove
    assert list(rename.steps) == [105] and not rename.mine
    # One's own steps are taken back whatever others did since.
    assert list(annotation.steps) == list(again.steps) == [102] and annotation.mine
    assert classifier.player.failures == [] and classifier.player.done == 8


def test_what_is_not_in_the_bag_is_said_and_nothing_else_changed(classifier):
    assert classifier.play(said(4), Event(EventKind.DELETE, sample=3, entry=7)) == ['annotate']
    assert classifier.player.failures == [
        'delete of entry 3, which is not in the bag or was not repeated']


def test_an_annotation_without_an_answer_is_sent_again_and_counts_once(classifier, monkeypatch):
    monkeypatch.setattr(bag_player, 'REPEAT_AFTER', 0.0)
    classifier.unanswered = 2
    names = classifier.play(said(4), Event(EventKind.DELETE, sample=4, entry=5))
    assert names == ['annotate', 'change_samples']
    assert list(classifier.calls[1][1].samples) == [101]
    assert classifier.calls[0][1].request_id
