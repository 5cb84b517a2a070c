# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was taught, as lists in the terminal: samples to correct, and the history."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.review import (
    ORDERS,
    HistoryList,
    SampleCard,
    SampleChoice,
    SampleList,
    history_words,
)
from proemlc_ros.operator.terminal.widgets import ESCAPE, Prompt

if TYPE_CHECKING:
    from proemlc_ros.operator.terminal.console import Console

# Lines of a list that fit on a small terminal.
PAGE = 12


@dataclass(slots=True)
class TaughtLists:
    """Shows samples or steps page by page; which key does what is on the last line.

    Args:
        console: whose screen it is.
        open: what is shown: 'samples', 'history' or nothing.
    """

    console: Console
    open: str = ''
    _samples: SampleList = field(default_factory=SampleList)
    _history: HistoryList = field(default_factory=HistoryList)
    _order: int = 0
    _mine: bool = False
    _offset: int = 0

    def show(self, what: str) -> None:
        """Open a list from its beginning."""
        self.open, self._offset = what, 0
        self._load()

    def key(self, key: str) -> None:
        """Take a key while a list is open."""
        actions: dict[str, Callable[[], None]] = {
            ESCAPE: self._close, 'q': self._close, 'KEY_NPAGE': self._next, 'n': self._next,
            'KEY_PPAGE': self._previous, 'p': self._previous,
        }
        if self.open == 'samples':
            actions |= {'o': self._other_order, 'r': self._ask_relabel, 'd': self._ask_delete}
        else:
            actions |= {'m': self._other_people, 'u': lambda: self._turn(undo=True),
                        'r': lambda: self._turn(undo=False)}
        if key in actions:
            actions[key]()

    def lines(self) -> list[str]:
        """Return the list for the screen."""
        return self._sample_lines() if self.open == 'samples' else self._history_lines()

    # ----- inside -----

    def _sample_lines(self) -> list[str]:
        found = self._samples
        head = f'{found.total} samples, {ORDERS[self._order]} first'
        return [head, *map(_sample_line, found.samples), '',
                'n next, p back, o order, r relabel, d delete, Esc close']

    def _history_lines(self) -> list[str]:
        found = self._history
        whose = 'mine' if self._mine else 'of everybody'
        steps = [f'{step.number:>6} {_clock(step.time)} {step.who:<10} {step.text}'
                 f'{" (undone)" if step.undone else ""}' for step in found.steps]
        return [f'{found.total} steps {whose}', *steps, '',
                f'u takes back: {history_words(found.undo) or "nothing"}',
                f'r makes again: {history_words(found.redo) or "nothing"}',
                'n next, p back, m mine or all, Esc close']

    def _load(self) -> None:
        self.console.commands.add(self._fetch())

    async def _fetch(self) -> None:
        review, who = self.console.actions.review, self.console.draft.annotator
        if self.open == 'samples':
            self._samples = await review.samples(SampleChoice(
                order=ORDERS[self._order], offset=self._offset, limit=PAGE))
        elif self.open:
            self._history = await review.history(who, self._mine, self._offset, PAGE)

    def _close(self) -> None:
        self.open = ''

    def _next(self) -> None:
        total = self._samples.total if self.open == 'samples' else self._history.total
        if self._offset + PAGE < total:
            self._offset += PAGE
            self._load()

    def _previous(self) -> None:
        self._offset = max(0, self._offset - PAGE)
        self._load()

    def _other_order(self) -> None:
        self._order, self._offset = (self._order + 1) % len(ORDERS), 0
        self._load()

    def _other_people(self) -> None:
        self._mine, self._offset = not self._mine, 0
        self._load()

    def _turn(self, undo: bool) -> None:
        """Change exactly the steps that the screen names."""
        steps = self._history.undo if undo else self._history.redo
        if steps:
            self._act('undoing' if undo else 'redoing', self.console.actions.review.turn(
                self.console.draft.annotator, undo, [step.number for step in steps], self._mine))

    def _ask_relabel(self) -> None:
        def ask_labels(text: str) -> None:
            sample = self._shown(text)
            if sample is not None:
                self.console.prompt = Prompt(
                    f'sample {sample.number} shows (names with commas): ',
                    lambda names: self._change(sample.number, _split(names), False),
                    self.console.view.labels.names, text=', '.join(sample.labels))
        self.console.prompt = Prompt('relabel sample number: ', ask_labels)

    def _ask_delete(self) -> None:
        def delete(text: str) -> None:
            sample = self._shown(text)
            if sample is not None:
                self._change(sample.number, (), True)
        self.console.prompt = Prompt('delete sample number (Esc: no): ', delete)

    def _shown(self, text: str) -> SampleCard | None:
        """Return the sample of this number on the screen; otherwise say so."""
        found = next((sample for sample in self._samples.samples if str(sample.number) == text),
                     None)
        if found is None:
            self.console.commands.say(f'no sample on the screen has the number {text}', True)
        return found

    def _change(self, number: int, labels: tuple[str, ...], remove: bool) -> None:
        self._act('deleting' if remove else 'relabelling',
                  self.console.actions.review.change_samples(
                      self.console.draft.annotator, [number], labels, remove))

    def _act(self, what: str, action: Awaitable[ActionResult]) -> None:
        self.console.commands.say(f'{what} …')
        self.console.commands.add(self._report(action))

    async def _report(self, action: Awaitable[ActionResult]) -> None:
        try:
            result = await action
            self.console.commands.say(result.message, failed=not result.done)
        except ProEMLCError as error:
            self.console.commands.say(str(error), failed=True)
        await self._fetch()


def _sample_line(sample: SampleCard) -> str:
    said = ', '.join(sample.labels) or 'none'
    doubt = ''
    if sample.doubt is not None and sample.doubt > 0.0:
        doubt = f'  others say: {", ".join(sample.expected) or "none"}'
    return f'{sample.number:>6} {_clock(sample.taught)} {sample.who:<10} {said}{doubt}'


def _clock(seconds: float) -> str:
    return time.strftime('%H:%M:%S', time.localtime(seconds))


def _split(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(',') if name.strip())
