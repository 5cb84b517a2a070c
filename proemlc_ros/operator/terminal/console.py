# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from proemlc_ros.label_text import near_duplicates, split_labels
from proemlc_ros.operator.actions import ActionResult, Actions
from proemlc_ros.operator.classifier_view import ClassifierView, ViewPart
from proemlc_ros.operator.draft import AnnotationDraft, NearCopies
from proemlc_ros.operator.questions import doubtful_label
from proemlc_ros.operator.recent import PictureCache
from proemlc_ros.operator.terminal.widgets import (
    ENTER,
    ESCAPE,
    CommandQueue,
    LabelPages,
    Prompt,
    TaughtLists,
)
from proemlc_ros.records import Annotation, Query, StampedPrediction

# Seconds within which Enter goes on with what was taught last: the key is kept down.
KEPT_DOWN = 1.0
HELP = (
    'space  hold what is shown, or back to live     label key  live: teach; held: mark',
    'Enter  teach what is marked; kept down: go on  0  teach "none of them"',
    'n  new label (Tab completes, comma separates)  u  undo the last annotation   r  redo',
    'a  show the newest question, then y yes, n no  x  skip it',
    'c  unmarked labels: absent or unknown          /  filter the labels',
    's  save    l  load    R  rename    d  remove   PgUp PgDn  more labels',
    'g  gallery: relabel, delete    H  history: undo, redo    M  merge labels',
    'Esc  drop the marks, back to live              q  quit',
    'left, right  one picture back or on, in a folder, video or bag',
)


@dataclass(slots=True)
class Console:
    """The operator's side of the terminal, free of curses.

    Args:
        view: what is known of the classifier.
        draft: the operator's annotation draft.
        actions: the classifier's services.
    """

    view: ClassifierView
    draft: AnnotationDraft
    actions: Actions
    commands: CommandQueue = field(default_factory=CommandQueue)
    prompt: Prompt | None = None
    answering: Query | None = None
    duplicates: tuple[str, list[str]] | None = None
    shown: StampedPrediction | None = None
    pictures: PictureCache = field(default_factory=PictureCache)
    stopped: str = ''
    helping: bool = False
    running: bool = True
    labels: LabelPages = field(init=False)
    taught: TaughtLists = field(init=False)
    _teaching: bool = False
    _chosen: Callable[[str], None] = lambda name: None
    _warned: bool = False
    _led: bool = False
    _taught: tuple[int, tuple[str, ...], float] = (0, (), 0.0)
    _known: frozenset[str] = frozenset()
    _copies: NearCopies = field(default_factory=NearCopies)

    def __post_init__(self) -> None:
        self.labels = LabelPages(self.view, self.draft)
        self.taught = TaughtLists(self)
        self.view.on_change = self._changed

    def _changed(self, part: ViewPart) -> None:
        if part is ViewPart.LABELS:
            before, self._known = self._known, frozenset(self.view.labels.names)
            lost = self.draft.drop_lost(before, self._known)
            # As on the page: before the first label there is one field to type into.
            if not self._known and not self._led and self.prompt is None:
                self._led = True
                self._ask_name('name (Esc: other keys): ', typing=True)
            if lost:
                self.commands.say(
                    f'{", ".join(lost)}: renamed or removed meanwhile, mark dropped', failed=True)
        elif part is ViewPart.QUERIES:
            for query in self.view.queries:
                self.pictures.hold(query.vector.stamp)
            if not self._still_open():
                self.answering = None

    def _still_open(self) -> bool:
        query = self.answering
        return query is not None and self.view.queries.find(query.vector.stamp) is not None

    def key(self, key: str) -> None:
        """Take a key: a character, or a name of curses such as KEY_NPAGE."""
        if self.duplicates is not None:
            self._choose_name(key)
        elif self.prompt is not None:
            prompt = self.prompt
            if not prompt.key(key) and self.prompt is prompt:
                self.prompt = None
        elif self.helping:
            self.helping = False
        elif self.taught.open:
            self.taught.key(key)
        else:
            self._command(key)

    def _command(self, key: str) -> None:
        commands: dict[str, Callable[[], None]] = {
            ' ': self._toggle_freeze, ESCAPE: self._release, '0': self._teach_none,
            'n': self._ask_new, 'u': self._undo, 'a': self._answer, 'x': self._skip,
            'c': self._toggle_rest, '?': self._help, 'q': self._quit, 'r': self._redo,
            'g': lambda: self.taught.show('samples'), 'G': lambda: self.taught.show('samples'),
            'H': lambda: self.taught.show('history'),
            'KEY_NPAGE': self.labels.next, 'KEY_PPAGE': self.labels.previous,
            'KEY_RIGHT': lambda: self._step('step'), 'KEY_LEFT': lambda: self._step('back'),
            'KEY_DOWN': self.labels.next, 'KEY_UP': self.labels.previous,
        }
        if self.answering is not None and self._answer_one(key):
            return
        if key in ENTER:
            self._teach()
        elif key in commands:
            commands[key]()
        elif key in PROMPTS:
            self.prompt = PROMPTS[key](self)
        else:
            name = dict(self.labels.visible()).get(key)
            if name is not None and self.draft.frozen is not None:
                self.draft.press(name)
            elif name is not None:
                self._teach_live((name,))

    def _teach_live(self, names: tuple[str, ...]) -> None:
        """Teach what is shown now; a key that is kept down goes on with each new picture."""
        if self._teaching or (self.shown is not None and self.shown.stamp == self._taught[0]):
            return
        if self.stopped:
            self.commands.say(f'not taught: {self.stopped}; hold it to teach it anyway', True)
        elif self._freeze():
            for name in names:
                self.draft.mark(name, present=True)
            self._send(self.draft.annotation() if names else self.draft.none_of_them())

    def _freeze(self) -> bool:
        """Hold what is on the screen, unless something is held; return whether it worked."""
        if self.draft.frozen is None:
            if self.stopped and not self._warned:
                self._warned = True
                self.commands.say(f'{self.stopped}: what is shown is old; once more to hold it',
                                  True)
                return False
            if self.shown is None:
                self.commands.say('there is nothing to label yet: no prediction has come', True)
                return False
            self.draft.freeze(self.shown)
            self.view.keep(self.shown.stamp)
            self._warned = False
            self.commands.say('')
        return True

    def _toggle_freeze(self) -> None:
        if self.draft.frozen is None:
            self._freeze()
        else:
            self._release()

    def _release(self) -> None:
        self.draft.release()
        self.answering = None

    def _toggle_rest(self) -> None:
        self.draft.rest_absent = not self.draft.rest_absent

    def _step(self, command: str) -> None:
        """Show the next picture of a folder, video or bag, or the one before."""
        if self.view.source is not None and self.view.source.count:
            self.commands.run('turning', self.actions.control_source(command, 0, ()))

    def _help(self) -> None:
        self.helping = True

    def _quit(self) -> None:
        self.running = False

    # --- annotations --------------------------------------------------------------------------

    def _teach(self) -> None:
        stamp, names, at = self._taught
        if self.draft.frozen is None and stamp and time.monotonic() - at < KEPT_DOWN:
            self._teach_live(names)
        elif self.draft.frozen is None or not self.draft.marks:
            self.commands.say('nothing is marked: hold with space, press label keys, or 0', True)
        else:
            self._send(self.draft.annotation())

    def _teach_none(self) -> None:
        if self.draft.marks:
            self.commands.say('labels are marked: Enter teaches them; Esc drops them first', True)
        elif self.draft.frozen is None:
            self._teach_live(())
        else:
            self._send(self.draft.none_of_them())

    def _send(self, annotation: Annotation) -> None:
        # Enter pressed twice must not teach twice.
        if not self._teaching:
            self._teaching = True
            self.commands.say('teaching …')
            self.commands.add(self._send_annotation(annotation))

    async def _send_annotation(self, annotation: Annotation) -> None:
        try:
            result = await self.actions.annotate(annotation)
        finally:
            self._teaching = False
        if not result.done:
            # The draft stays, to be sent again when the cause is mended.
            self.commands.say(result.message, failed=True)
            return
        self._taught = (annotation.stamp, annotation.labels, time.monotonic())
        frozen = self.draft.frozen
        if frozen is not None and frozen.stamp == annotation.stamp:
            self._release()
        if annotation.features is not None:
            self._copies.is_near(annotation.said, annotation.features)
        advice = self._copies.advice
        self.commands.say(f'learnt: {annotation.said}{f". {advice}" if advice else ""}')

    def _ask_new(self) -> None:
        typing = self.draft.frozen is None
        if self._freeze():
            self._ask_name('name: ', typing)

    def _ask_name(self, prefix: str, typing: bool) -> None:
        """Ask for labels; `typing`: the picture is held for the typing alone, as on the page."""
        self.prompt = Prompt(prefix, lambda text: self.settle_names(
            split_labels(text), self._teach_typed if typing else self._mark),
            self.view.labels.names, changed=lambda text: self._hold_for(text))

    def _hold_for(self, text: str) -> None:
        """Hold what is shown when the typing begins."""
        if text and self.draft.frozen is None:
            self._freeze()

    def _teach_typed(self, names: tuple[str, ...]) -> None:
        self._mark(names)
        if names:
            self._send(self.draft.annotation())

    def settle_names(self, names: Sequence[str], done: Callable[[tuple[str, ...]], None]) -> None:
        """Ask about each name that is nearly a known label, then go on with those meant.

        Args:
            names: as they were typed.
            done: called with the names, unless Esc ends the question.
        """
        if not names:
            done(())
            return

        def go_on(chosen: str) -> None:
            self.settle_names(names[1:], lambda rest: done(tuple(dict.fromkeys((chosen, *rest)))))

        similar = near_duplicates(names[0], self.view.labels.names)
        if similar:
            self.duplicates, self._chosen = (names[0], similar), go_on
        else:
            go_on(names[0])

    def _choose_name(self, key: str) -> None:
        name, duplicates = self.duplicates or ('', [])
        chosen = ''
        if key == 'y':
            chosen = name
        elif key.isdigit() and 1 <= int(key) <= len(duplicates):
            chosen = duplicates[int(key) - 1]
        elif key != ESCAPE:
            return
        self.duplicates = None
        if chosen:
            self._chosen(chosen)

    def _mark(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.draft.mark(name, present=True)
        if names:
            self.commands.say(f'{", ".join(names)} marked; Enter teaches')

    # --- queries ------------------------------------------------------------------------------

    def _answer(self) -> None:
        query = next(reversed(list(self.view.queries)), None)
        if query is None or not self.view.labels.names:
            self.commands.say('the robot asks nothing at the moment')
            return
        self.answering = query
        self.draft.freeze(query.prediction(), query.vector)

    def _answer_one(self, key: str) -> bool:
        """Answer a question about one label with yes or no; return whether the key did."""
        query = self.answering
        label = doubtful_label(query, self.view.labels) if query is not None else ''
        if not label or key not in 'yn' or self.draft.marks:
            return False
        self.draft.mark(label, present=key == 'y')
        # About this label only: nothing is said about the others.
        self._send(self.draft.annotation()._replace(complete=False))
        return True

    def _skip(self) -> None:
        query = self.answering or next(reversed(list(self.view.queries)), None)
        if query is not None:
            self.view.settle(query.vector.stamp)
            if self.answering is query:
                self._release()

    def _undo(self) -> None:
        self.commands.run('undoing', self.actions.undo(self.draft.annotator))

    def _redo(self) -> None:
        self.commands.run('redoing', self._redo_next())

    async def _redo_next(self) -> ActionResult:
        who = self.draft.annotator
        steps = (await self.actions.history(who, False, 0, 1)).redo
        if not steps:
            return ActionResult(False, 'there is nothing to redo')
        return await self.actions.turn(who, False, [step.number for step in steps], False)


def _ask_save(console: Console) -> Prompt:
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


def _ask_load(console: Console) -> Prompt:
    """Ask which model to load."""
    return Prompt('load (replaces what the classifier has learnt; Esc: no): ',
                  lambda name: console.commands.run(
                      'loading', console.actions.load(console.draft.annotator, name)))


def _ask_rename(console: Console) -> Prompt:
    """Ask which label to rename, then its new name."""

    def ask_new_name(name: str) -> None:
        if name:
            console.prompt = Prompt(f'{name} becomes: ', lambda new_name: console.commands.run(
                'renaming', console.actions.rename(console.draft.annotator, name, new_name)),
                text=name)

    return Prompt('rename label: ', ask_new_name, console.view.labels.names)


def _ask_remove(console: Console) -> Prompt:
    """Ask which label to remove."""

    def remove(name: str) -> None:
        if name:
            console.commands.run('removing', console.actions.remove(console.draft.annotator, name))

    return Prompt('remove label (Esc: no): ', remove, console.view.labels.names)


def _ask_filter(console: Console) -> Prompt:
    """Ask for a part of the labels' names; the list follows while it is typed."""
    labels = console.labels
    return Prompt('filter: ', labels.narrow, text=labels.filter, changed=labels.narrow)


def _ask_merge(console: Console) -> Prompt:
    """Ask which label becomes part of which other."""

    def ask_into(name: str) -> None:
        if name:
            console.prompt = Prompt(f'{name} becomes part of: ', lambda into: console.commands.run(
                'merging', console.actions.merge_labels(
                    console.draft.annotator, name, into)), console.view.labels.names)

    return Prompt('merge label: ', ask_into, console.view.labels.names)


PROMPTS = {'s': _ask_save, 'l': _ask_load, 'R': _ask_rename, 'd': _ask_remove, '/': _ask_filter,
           'M': _ask_merge}
