# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of the terminal: the line being typed, label pages, queued commands, and lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.label_text import completion, join_labels, matching, split_labels
from proemlc_ros.operator.actions import ActionResult, HistoryList, SampleList, history_words
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.records import SampleOrder, SampleQuery, TaughtSample
from proemlc_ros.stamps import NANOSECONDS

if TYPE_CHECKING:
    from proemlc_ros.operator.terminal.console import Console

# Lines of a list that fit on a small terminal.
PAGE = 12
LISTED = (SampleOrder.NEWEST, SampleOrder.OLDEST, SampleOrder.DOUBTFUL)

ENTER = frozenset({'\n', '\r', 'KEY_ENTER'})
BACKSPACE = frozenset({'\x7f', '\b', 'KEY_BACKSPACE'})
ESCAPE = '\x1b'
TAB = '\t'
ERASE_LINE = '\x15'
MAX_LENGTH = 200
# Keys of the labels on the screen: digits, then the letters that have no other function.
LABEL_KEYS = '123456789befhijkmoptvwyz'


@dataclass(slots=True)
class Prompt:
    """A line that the operator types.

    Args:
        prefix: shown before the text.
        done: called with the text after Enter.
        known: names that Tab completes; None for no completion.
        text: typed so far.
        changed: called after each change of the text.
    """

    prefix: str
    done: Callable[[str], None]
    known: Sequence[str] | None = None
    text: str = ''
    changed: Callable[[str], None] = lambda text: None

    def key(self, key: str) -> bool:
        """Take a key; return whether the prompt stays open. Enter closes it and calls `done`."""
        if key == ESCAPE:
            return False
        if key in ENTER:
            self.done(self.text.strip())
            return False
        before = self.text
        if key in BACKSPACE:
            self.text = self.text[:-1]
        elif key == ERASE_LINE:
            self.text = ''
        elif key == TAB and self.known is not None:
            self.text = completion(self.text, self.known)
        elif len(key) == 1 and key.isprintable() and len(self.text) < MAX_LENGTH:
            self.text += key
        if self.text != before:
            self.changed(self.text)
        return True

    def suggestions(self, limit: int = 8) -> list[str]:
        """Return known names that the text may become."""
        if not self.known or not self.text:
            return []
        return matching(self.text, self.known)[:limit]


@dataclass(slots=True)
class LabelPages:
    """The labels that pass the filter, page by page.

    Args:
        view: has the labels.
        draft: may have marks on labels that are still unknown.
        filter: part of a name.
        size: labels that fit on the screen.
    """

    view: ClassifierView
    draft: AnnotationDraft
    filter: str = ''
    size: int = len(LABEL_KEYS)
    _page: int = 0

    def names(self) -> list[str]:
        """Return the labels that pass the filter; newly typed ones first."""
        known = self.view.labels.names
        typed = [name for name in self.draft.marks if name not in known]
        return typed + matching(self.filter, known)

    def visible(self) -> list[tuple[str, str]]:
        """Return key and label of those on the screen."""
        names = self.names()
        size = max(1, min(self.size, len(LABEL_KEYS)))
        self._page = max(0, min(self._page, (len(names) - 1) // size))
        return list(zip(LABEL_KEYS, names[self._page * size:][:size], strict=False))

    def narrow(self, text: str) -> None:
        """Filter by another text, from the first page on."""
        self.filter, self._page = text, 0

    def next(self) -> None:
        """Turn to the next page, if there is one."""
        self._page += 1

    def previous(self) -> None:
        """Turn back a page."""
        self._page -= 1


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
        head = f'{found.total} samples, {LISTED[self._order].name.lower()} first'
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
        actions, who = self.console.actions, self.console.draft.annotator
        if self.open == 'samples':
            self._samples = await actions.samples(SampleQuery(
                order=LISTED[self._order], offset=self._offset, limit=PAGE))
        elif self.open:
            self._history = await actions.history(who, self._mine, self._offset, PAGE)

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
        self._order, self._offset = (self._order + 1) % len(LISTED), 0
        self._load()

    def _other_people(self) -> None:
        self._mine, self._offset = not self._mine, 0
        self._load()

    def _turn(self, undo: bool) -> None:
        """Change exactly the steps that the screen names."""
        steps = self._history.undo if undo else self._history.redo
        if steps:
            self._act('undoing' if undo else 'redoing', self.console.actions.turn(
                self.console.draft.annotator, undo, [step.number for step in steps], self._mine))

    def _ask_relabel(self) -> None:
        def ask_labels(text: str) -> None:
            sample = self._shown(text)
            if sample is not None:
                self.console.prompt = Prompt(
                    f'sample {sample.number} shows (names with commas): ',
                    lambda names: self.console.settle_names(
                        split_labels(names),
                        lambda labels: self._change(sample.number, labels, False)),
                    self.console.view.labels.names, text=join_labels(sample.annotation.labels))
        self.console.prompt = Prompt('relabel sample number: ', ask_labels)

    def _ask_delete(self) -> None:
        def delete(text: str) -> None:
            sample = self._shown(text)
            if sample is not None:
                self._change(sample.number, (), True)
        self.console.prompt = Prompt('delete sample number (Esc: no): ', delete)

    def _shown(self, text: str) -> TaughtSample | None:
        """Return the sample of this number on the screen; otherwise say so."""
        found = next((sample for sample in self._samples.samples if str(sample.number) == text),
                     None)
        if found is None:
            self.console.commands.say(f'no sample on the screen has the number {text}', True)
        return found

    def _change(self, number: int, labels: tuple[str, ...], remove: bool) -> None:
        self._act('deleting' if remove else 'relabelling',
                  self.console.actions.change_samples(
                      self.console.draft.annotator, [number], labels, remove))

    def _act(self, what: str, action: Awaitable[ActionResult]) -> None:
        self.console.commands.run(what, action)
        self._load()


def _sample_line(sample: TaughtSample) -> str:
    said = sample.annotation
    doubt = ''
    if sample.doubtful:
        doubt = f'  others say: {", ".join(sample.expected) or "none"}'
    return (f'{sample.number:>6} {_clock(sample.taught / NANOSECONDS)} {said.annotator:<10} '
            f'{", ".join(said.labels) or "none"}{doubt}')


def _clock(seconds: float) -> str:
    return time.strftime('%H:%M:%S', time.localtime(seconds))
