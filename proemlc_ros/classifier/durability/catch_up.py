# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bringing model and journal in step once the disk allows it, before anything is learnt.

A node also starts on a disk that is full, read-only or failing. What it could not read or write
then is made good here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proemlc_ros.classifier.durability.replay import Replay, ReplayReport
from proemlc_ros.errors import JournalError, ProEMLCError
from proemlc_ros.records import EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel


def catch_up(durable: DurableModel) -> None:
    """Read and write what the disk did not allow before; nothing to do on a sound one.

    Args:
        durable: locked by the caller.

    Raises:
        JournalError: the disk still does not allow it.
    """
    journal = durable.journal
    if not durable.is_behind:
        return
    journal.retry()
    if journal.problem:
        raise JournalError(journal.problem)
    if journal.last_number > durable.position:
        # Entries that could not be read when the node started.
        Replay(durable, ReplayReport()).run()
    if durable.reset_is_due:
        durable.record(EventKind.RESET)
        durable.model.replace(durable.new_learner())
        durable.reset_is_due = False
    if durable.first_file:
        _load_first_file(durable)


def catch_up_error(durable: DurableModel) -> JournalError | None:
    """Do the same; return the error instead of raising it."""
    try:
        catch_up(durable)
    except JournalError as error:
        return error
    return None


def _load_first_file(durable: DurableModel) -> None:
    name, durable.first_file = durable.first_file, ''
    try:
        durable.load(name)
    except (ProEMLCError, OSError) as error:
        durable.first_file = name
        raise JournalError(
            f'cannot journal that the model began with {name}: {error}') from error
