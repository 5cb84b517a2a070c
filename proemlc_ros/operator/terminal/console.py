# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the keys do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from proemlc_ros.classifier.records import Annotation, Query, StampedPrediction
from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.activity import describe
from proemlc_ros.operator.classifier_view import ClassifierView, ViewPart
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.similar import near_duplicates
from proemlc_ros.operator.terminal.label_pages import LabelPages
from proemlc_ros.operator.terminal.model_prompts import QUESTIONS
from proemlc_ros.operator.terminal.orders import Orders
from proemlc_ros.operator.terminal.prompt import ENTER, ESCAPE, Prompt

HELP = (
    'space  freeze the moment, or back to live      label key  present, absent, no mark',
    'Enter  teach what is marked                    0  teach "none of them"',
    'n  new label (Tab completes)                   u  undo the last annotation',
    'a  answer the oldest question                  x  skip it',
    'c  unmarked labels: absent or unknown          /  filter the labels',
    's  save    l  load    r  rename    d  remove   PgUp PgDn  more labels',
    'Esc  drop the marks, back to live              q  quit',
)


@dataclass(slots=True)
class Console:
    """The operator's side of the terminal, free of curses.

    Args:
        robot: the shared picture.
        desk: the operator's frozen moment and marks.
        actions: the classifier's services.
    """

    robot: ClassifierView
    desk: AnnotationDraft
    actions: Actions
    orders: Orders = field(default_factory=Orders)
    prompt: Prompt | None = None
    asked: Query | None = None
    twins: tuple[str, list[str]] | None = None
    shown: StampedPrediction | None = None
    helping: bool = False
    running: bool = True
    labels: LabelPages = field(init=False)
    _teaching: bool = False
    _known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.labels = LabelPages(self.robot, self.desk)
        self.robot.watch = self._changed

    def _changed(self, topic: ViewPart) -> None:
        if topic is ViewPart.LABELS:
            before, self._known = self._known, frozenset(self.robot.labels.names)
            lost = self.desk.drop_lost(before, self._known)
            if lost:
                self.orders.say(
                    f'{", ".join(lost)}: renamed or removed meanwhile, mark dropped', failed=True)
        elif topic is ViewPart.QUESTIONS and not self._still_asked():
            self.asked = None

    def _still_asked(self) -> bool:
        asked = self.asked
        return asked is not None and self.robot.questions.find(asked.vector.stamp) is not None

    def key(self, key: str) -> None:
        """Take a key: a character, or a name of curses such as KEY_NPAGE."""
        if self.twins is not None:
            self._choose_twin(key)
        elif self.prompt is not None:
            prompt = self.prompt
            if not prompt.key(key) and self.prompt is prompt:
                self.prompt = None
        elif self.helping:
            self.helping = False
        else:
            self._command(key)

    def _command(self, key: str) -> None:
        commands: dict[str, Callable[[], None]] = {
            ' ': self._toggle_freeze, ESCAPE: self._release, '0': self._teach_none,
            'n': self._ask_new, 'u': self._undo, 'a': self._answer, 'x': self._skip,
            'c': self._toggle_rest, '?': self._help, 'q': self._quit,
            'KEY_NPAGE': self.labels.next, 'KEY_PPAGE': self.labels.previous,
            'KEY_DOWN': self.labels.next, 'KEY_UP': self.labels.previous,
        }
        if key in ENTER:
            self._teach()
        elif key in commands:
            commands[key]()
        elif key in QUESTIONS:
            self.prompt = QUESTIONS[key](self)
        else:
            name = dict(self.labels.visible()).get(key)
            if name is not None and self._freeze():
                self.desk.press(name)

    def _freeze(self) -> bool:
        """Freeze what is on the screen, unless something is frozen; tell whether it worked."""
        if self.desk.frozen is None:
            if self.shown is None:
                self.orders.say('there is nothing to label yet: no prediction has come', True)
                return False
            self.desk.freeze(self.shown)
            self.orders.say('')
        return True

    def _toggle_freeze(self) -> None:
        if self.desk.frozen is None:
            self._freeze()
        else:
            self._release()

    def _release(self) -> None:
        self.desk.release()
        self.asked = None

    def _toggle_rest(self) -> None:
        self.desk.rest_absent = not self.desk.rest_absent

    def _help(self) -> None:
        self.helping = True

    def _quit(self) -> None:
        self.running = False

    # --- teaching ----------------------------------------------------------------------------

    def _teach(self) -> None:
        if self.desk.frozen is None or not self.desk.marks:
            self.orders.say('nothing is marked: press label keys first, or 0 for none', True)
        else:
            self._send(self.desk.annotation())

    def _teach_none(self) -> None:
        if self._freeze():
            self._send(self.desk.none_of_them())

    def _send(self, annotation: Annotation) -> None:
        # Enter pressed twice must not teach twice.
        if not self._teaching:
            self._teaching = True
            self.orders.say('teaching …')
            self.orders.add(self._send_annotation(annotation))

    async def _send_annotation(self, annotation: Annotation) -> None:
        try:
            outcome = await self.actions.annotate(annotation)
        finally:
            self._teaching = False
        if not outcome.done:
            # Frozen moment and marks stay, to be sent again when the trouble is over.
            self.orders.say(outcome.message, failed=True)
            return
        frozen = self.desk.frozen
        if frozen is not None and frozen.stamp == annotation.stamp:
            self._release()
        said = describe(annotation.labels, annotation.absent, annotation.complete)
        self.orders.say(f'learnt: {said}')

    def _ask_new(self) -> None:
        if self._freeze():
            self.prompt = Prompt('new label: ', self._typed, self.robot.labels.names)

    def _typed(self, name: str) -> None:
        twins = near_duplicates(name, self.robot.labels.names) if name else []
        if twins:
            self.twins = (name, twins)
        elif name:
            self._mark(name)

    def _choose_twin(self, key: str) -> None:
        name, twins = self.twins or ('', [])
        if key == 'y':
            self._mark(name)
        elif key.isdigit() and 1 <= int(key) <= len(twins):
            self._mark(twins[int(key) - 1])
        elif key != ESCAPE:
            return
        self.twins = None

    def _mark(self, name: str) -> None:
        self.desk.mark(name, present=True)
        self.orders.say(f'{name} is marked; Enter teaches')

    # --- questions ---------------------------------------------------------------------------

    def _answer(self) -> None:
        question = next(iter(self.robot.questions), None)
        if question is None:
            self.orders.say('the robot asks nothing at the moment')
            return
        self.asked = question
        self.desk.freeze(question.prediction(), question.vector)

    def _skip(self) -> None:
        question = self.asked or next(iter(self.robot.questions), None)
        if question is not None:
            self.robot.settle(question.vector.stamp)
            if self.asked is question:
                self._release()

    def _undo(self) -> None:
        self.orders.order('undoing', self.actions.undo(self.desk.annotator))
