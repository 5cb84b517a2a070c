# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from proemlc_ros.operator.actions import Actions, describe_annotation
from proemlc_ros.operator.classifier_view import ClassifierView, ViewPart
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.pictures import PictureCache
from proemlc_ros.operator.questions import doubtful_label
from proemlc_ros.operator.similar import near_duplicates
from proemlc_ros.operator.terminal.commands import PROMPTS, CommandQueue
from proemlc_ros.operator.terminal.taught import TaughtLists
from proemlc_ros.operator.terminal.widgets import ENTER, ESCAPE, LabelPages, Prompt
from proemlc_ros.records import Annotation, Query, StampedPrediction

HELP = (
    'space  freeze what is shown, or back to live   label key  present, absent, no mark',
    'Enter  teach what is marked                    0  teach "none of them"',
    'n  new label (Tab completes)                   u  undo the last annotation',
    'a  show the oldest question, then y yes, n no   x  skip it',
    'c  unmarked labels: absent or unknown          /  filter the labels',
    's  save    l  load    r  rename    d  remove   PgUp PgDn  more labels',
    'G  taught samples: relabel, delete    H  history: undo, redo    M  merge labels',
    'Esc  drop the marks, back to live              q  quit',
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
    _warned: bool = False
    _known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.labels = LabelPages(self.view, self.draft)
        self.taught = TaughtLists(self)
        self.view.on_change = self._changed

    def _changed(self, part: ViewPart) -> None:
        if part is ViewPart.LABELS:
            before, self._known = self._known, frozenset(self.view.labels.names)
            lost = self.draft.drop_lost(before, self._known)
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
            'c': self._toggle_rest, '?': self._help, 'q': self._quit,
            'G': lambda: self.taught.show('samples'), 'H': lambda: self.taught.show('history'),
            'KEY_NPAGE': self.labels.next, 'KEY_PPAGE': self.labels.previous,
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
            if name is not None and self._freeze():
                self.draft.press(name)

    def _freeze(self) -> bool:
        """Freeze what is on the screen, unless something is frozen; return whether it worked."""
        if self.draft.frozen is None:
            if self.stopped and not self._warned:
                self._warned = True
                self.commands.say(f'{self.stopped}: what is shown is old; once more to freeze it',
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

    def _help(self) -> None:
        self.helping = True

    def _quit(self) -> None:
        self.running = False

    # --- annotations --------------------------------------------------------------------------

    def _teach(self) -> None:
        if self.draft.frozen is None or not self.draft.marks:
            self.commands.say('nothing is marked: press label keys first, or 0 for none', True)
        else:
            self._send(self.draft.annotation())

    def _teach_none(self) -> None:
        if self.draft.marks:
            self.commands.say('labels are marked: Enter teaches them; Esc drops them first', True)
        elif self._freeze():
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
        frozen = self.draft.frozen
        if frozen is not None and frozen.stamp == annotation.stamp:
            self._release()
        self.commands.say(f'learnt: {describe_annotation(annotation)}')

    def _ask_new(self) -> None:
        if self._freeze():
            self.prompt = Prompt('new label: ', self._typed, self.view.labels.names)

    def _typed(self, name: str) -> None:
        duplicates = near_duplicates(name, self.view.labels.names) if name else []
        if duplicates:
            self.duplicates = (name, duplicates)
        elif name:
            self._mark(name)

    def _choose_name(self, key: str) -> None:
        name, duplicates = self.duplicates or ('', [])
        if key == 'y':
            self._mark(name)
        elif key.isdigit() and 1 <= int(key) <= len(duplicates):
            self._mark(duplicates[int(key) - 1])
        elif key != ESCAPE:
            return
        self.duplicates = None

    def _mark(self, name: str) -> None:
        self.draft.mark(name, present=True)
        self.commands.say(f'{name} is marked; Enter teaches')

    # --- queries ------------------------------------------------------------------------------

    def _answer(self) -> None:
        query = next(iter(self.view.queries), None)
        if query is None:
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
        query = self.answering or next(iter(self.view.queries), None)
        if query is not None:
            self.view.settle(query.vector.stamp)
            if self.answering is query:
                self._release()

    def _undo(self) -> None:
        self.commands.run('undoing', self.actions.undo(self.draft.annotator))
