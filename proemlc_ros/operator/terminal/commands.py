# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands on the model: a prompt asks for their arguments, a queue runs them in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.terminal.widgets import Prompt

if TYPE_CHECKING:
    from proemlc_ros.operator.terminal.console import Console


@dataclass(slots=True)
class CommandQueue:
    """Commands that wait for their turn, and the message about the last of them.

    Args:
        message: for the operator.
        failed: whether it reports a failure.
    """

    message: str = ''
    failed: bool = False
    _jobs: asyncio.Queue[Awaitable[None]] = field(default_factory=asyncio.Queue)

    @property
    def waiting(self) -> bool:
        """Whether any command has not begun."""
        return not self._jobs.empty()

    def say(self, message: str, failed: bool = False) -> None:
        """Show a message."""
        self.message, self.failed = message, failed

    def add(self, job: Awaitable[None]) -> None:
        """Run a job after those before it."""
        self._jobs.put_nowait(job)

    def run(self, what: str, action: Awaitable[ActionResult]) -> None:
        """Run an action after those before it, and report its result.

        Args:
            what: the action in words, shown while it runs.
            action: the call of the classifier.
        """
        self.say(f'{what} …')
        self.add(self._report(action))

    async def work(self) -> None:
        """Run the commands until cancelled."""
        while True:
            job = await self._jobs.get()
            try:
                await job
            except ProEMLCError as error:
                self.say(str(error), failed=True)

    async def _report(self, action: Awaitable[ActionResult]) -> None:
        result = await action
        self.say(result.message, failed=not result.done)


def ask_save(console: Console) -> Prompt:
    """Ask where to save the model."""
    return Prompt('save as (empty: the snapshot of the node): ', lambda name: console.commands.run(
        'saving', _save(console, name)))


async def _save(console: Console, name: str) -> ActionResult:
    """Save the model; a file that exists is overwritten only after a yes."""
    who = console.draft.annotator
    result = await console.actions.save(who, name, True)
    if not result.done and 'exists already' in result.message:
        console.prompt = Prompt(f'{name} exists; overwrite it? y: ', lambda answer: (
            console.commands.run('saving', console.actions.save(who, name))
            if answer.lower() in ('y', 'yes') else None))
    return result


def ask_load(console: Console) -> Prompt:
    """Ask which model to load."""
    return Prompt('load (replaces what the classifier has learnt; Esc: no): ',
                  lambda name: console.commands.run(
                      'loading', console.actions.load(console.draft.annotator, name)))


def ask_rename(console: Console) -> Prompt:
    """Ask which label to rename, then its new name."""

    def ask_new_name(name: str) -> None:
        if name:
            console.prompt = Prompt(f'{name} becomes: ', lambda new_name: console.commands.run(
                'renaming', console.actions.rename(console.draft.annotator, name, new_name)),
                text=name)

    return Prompt('rename label: ', ask_new_name, console.view.labels.names)


def ask_remove(console: Console) -> Prompt:
    """Ask which label to remove."""

    def remove(name: str) -> None:
        if name:
            console.commands.run(
                'removing', console.actions.remove(console.draft.annotator, name))

    return Prompt('remove label (Esc: no): ', remove, console.view.labels.names)


def ask_filter(console: Console) -> Prompt:
    """Ask for a part of the labels' names; the list follows while it is typed."""
    labels = console.labels
    return Prompt('filter: ', labels.narrow, text=labels.filter, changed=labels.narrow)


def ask_merge(console: Console) -> Prompt:
    """Ask which label becomes part of which other."""

    def ask_into(name: str) -> None:
        if name:
            console.prompt = Prompt(f'{name} becomes part of: ', lambda into: console.commands.run(
                'merging', console.actions.review.merge_labels(
                    console.draft.annotator, name, into)), console.view.labels.names)

    return Prompt('merge label: ', ask_into, console.view.labels.names)


PROMPTS = {'s': ask_save, 'l': ask_load, 'r': ask_rename, 'd': ask_remove, '/': ask_filter,
           'M': ask_merge}
