# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Going on with a renewed model: what came meanwhile is learnt, the journal knows of it first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proemlc_ros.classifier.durability.catch_up import catch_up
from proemlc_ros.classifier.durability.journal_protocol import EntryProtocol
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import OutdatedRenewalError
from proemlc_ros.journal.attachments import names_content
from proemlc_ros.records import Annotation, Event, EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel

_BEGINNINGS = (EventKind.LOAD, EventKind.RESET)


class RenewedModel:
    """A renewed model on its way to become the running one.

    Made outside the learning thread: what takes long is done while annotations are learnt.

    Args:
        durable: the running model.
        path: of the file with the renewed model.
        position: number of the last entry that the renewed model has learnt.

    Raises:
        OutdatedRenewalError: changes were made meanwhile that the renewed model cannot follow.
        ProEMLCError, OSError: the file cannot be used.
    """

    def __init__(self, durable: DurableModel, path: Path, position: int) -> None:
        self.learner = ProEMLC.load(path, max_bytes=max(path.stat().st_size, 2**30))
        self._durable, self._path, self._position = durable, path, position
        self._catch_up()
        self._write()

    def swap(self) -> Event:
        """Replace the running model; the file is deleted.

        The journal keeps the content of the renewed model, so that its replay gives the same.

        Raises:
            OutdatedRenewalError, ProEMLCError, OSError: the running model is as before.
        """
        durable, learner = self._durable, self.learner
        with durable.lock:
            catch_up(durable)
            if self._catch_up():
                self._write()
            running = durable.model.learner
            if (learner.labels, learner.counts, learner.samples) != (
                    running.labels, running.counts, running.samples):
                raise OutdatedRenewalError('the renewed model has not learnt the same samples')
            reference = durable.journal.attachments.add(self._path)
            event = durable.record(EventKind.RENEW, reference)
            durable.model.renew(learner)
        self._path.unlink(missing_ok=True)
        return event

    def _catch_up(self) -> bool:
        """Learn what came meanwhile; return whether anything did."""
        durable = self._durable
        with durable.lock:
            # Behind the lock all entries are learnt, or known not to be.
            came = [entry for entry in durable.journal.entries(after=self._position)
                    if entry.number not in durable.not_learnt]
            behind = durable.position > self._position
            self._position = durable.position
        for entry in came:
            _follow(self.learner, entry)
        return behind

    def _write(self) -> None:
        """Write the file anew, as the journal is to keep it."""
        learner, durable = self.learner, self._durable
        learner.extra = {'extractor': durable.model.extractor, 'renewed_at': learner.samples}
        learner.save(self._path, key=durable.directory.key)


def _follow(renewed: ProEMLC, entry: EntryProtocol) -> None:
    """Learn or do again what one entry says.

    Raises:
        OutdatedRenewalError: it changes what was learnt before.
    """
    record = entry.record
    if isinstance(record, Annotation):
        renewed.learn(record.matched_features, accepted_labels(record))
    elif isinstance(record, Event) and record.kind is EventKind.RENAME:
        renewed.rename_label(record.label, record.new_label, accepted=True)
    elif isinstance(record, Event) and record.kind is EventKind.REMOVE:
        renewed.remove_label(record.label)
    else:
        what = record.kind.name if isinstance(record, Event) else entry.error
        raise OutdatedRenewalError(f'entry {entry.number} came meanwhile: {what}')


def drop_superseded(durable: DurableModel) -> None:
    """Delete the content of renewed models that no replay needs any more.

    Needed are those that a snapshot does not hold yet, and the last one of each beginning: a
    correction may learn all samples again with its layer.
    """
    events = [entry for entry in durable.journal.events() if isinstance(entry.record, Event)]
    needed: list[str] = []
    renewal = ''
    for entry in events:
        kind = entry.record.kind if isinstance(entry.record, Event) else None
        if kind in _BEGINNINGS:
            needed.append(renewal)
        if kind is EventKind.RENEW:
            renewal = entry.reference
        if kind is EventKind.LOAD or entry.number > durable.snapshots.oldest_position:
            needed.append(entry.reference)
    durable.journal.attachments.keep_only(filter(names_content, [*needed, renewal]))
