# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys ordered: done one after the other, with a word on how it went."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.operator.actions import ActionResult


@dataclass(slots=True)
class Orders:
    """A queue of orders, and the message about the last of them.

    Args:
        message: for the operator.
        failed: whether it tells of a failure.
    """

    message: str = ''
    failed: bool = False
    _jobs: asyncio.Queue[Awaitable[None]] = field(default_factory=asyncio.Queue)

    @property
    def waiting(self) -> bool:
        """Whether anything is still to be begun."""
        return not self._jobs.empty()

    def say(self, message: str, failed: bool = False) -> None:
        """Show a message."""
        self.message, self.failed = message, failed

    def add(self, job: Awaitable[None]) -> None:
        """Have a job done after those before it."""
        self._jobs.put_nowait(job)

    def order(self, what: str, action: Awaitable[ActionResult]) -> None:
        """Have an action done after those before it, and report on it."""
        self.say(f'{what} …')
        self.add(self._report(action))

    async def work(self) -> None:
        """Do what was ordered until cancelled."""
        while True:
            job = await self._jobs.get()
            try:
                await job
            except ProEMLCError as error:
                self.say(str(error), failed=True)

    async def _report(self, action: Awaitable[ActionResult]) -> None:
        outcome = await action
        self.say(outcome.message, failed=not outcome.done)
