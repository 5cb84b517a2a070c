# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is on the screen: lines of styled text for a given size, free of curses."""

from __future__ import annotations

import time
from dataclasses import dataclass

from proemlc_ros.classifier.records import StampedPrediction
from proemlc_ros.operator.classifier_view import Connection
from proemlc_ros.operator.terminal.columns import clip, columns_of, fit, printable
from proemlc_ros.operator.terminal.console import HELP, Console

Line = list[tuple[str, str]]
# Lines beside the labels: status, moment, seen, gap; question, message, prompt.
FRAME = 7
# A simulation's clock starts near zero and has no time of day.
FIRST_DATE = 10**18


@dataclass(frozen=True)
class Glyphs:
    """The characters to draw with."""

    full: str = '█'
    empty: str = '░'
    threshold: str = '│'
    present: str = '✓'
    absent: str = '✗'
    dot: str = '●'


UNICODE = Glyphs()
ASCII = Glyphs('#', '.', '|', '+', '-', '*')


class View:
    """Draws a console.

    Args:
        console: what is drawn.
        classifier: full name of the classifier node.
        glyphs: the characters that the terminal can show.
    """

    def __init__(self, console: Console, classifier: str, glyphs: Glyphs = UNICODE) -> None:
        self._console = console
        self._classifier = classifier
        self._glyphs = glyphs

    def lines(self, height: int, width: int, now: float) -> list[Line]:
        """Return the lines of the screen, at most `height`; `now` on a steady clock."""
        console = self._console
        console.labels.size = max(1, height - FRAME)
        # What the operator sees from now on is this moment; a key freezes it and no newer one.
        console.shown = console.robot.sight
        sight = console.desk.frozen or console.shown
        lines = [self._status(width, now), self._moment(sight), self._seen(sight), []]
        if console.helping:
            lines += [[('plain', f' {line}')] for line in HELP]
        else:
            lines += self._labels(sight, width)
        lines = lines[:max(1, height - 3)]
        lines += [[]] * (height - 3 - len(lines))
        lines += [self._question(), self._message(), self._bottom()]
        # In a very low window the status and the line being typed matter most.
        lines = lines if height > 3 else [lines[0], *lines[-2:]][:height]
        return [_clipped(line, width) for line in lines[:height]]

    def _status(self, width: int, now: float) -> Line:
        robot = self._console.robot
        connection = robot.connection(now)
        live = connection is Connection.LIVE
        words = 'connected' if live else f'classifier: {connection.value}'
        figures = (f'{robot.rate(now):.1f} Hz  {len(robot.labels.names)} labels  '
                   f'{robot.labels.samples} samples')
        left = f' {self._classifier}  '
        room = width - columns_of(left) - columns_of(words) - 5
        return [('title', left), ('good title' if live else 'bad title',
                                  f'{self._glyphs.dot} {words}'),
                ('title', fit(f'   {figures}', max(0, room + 3)))]

    def _moment(self, sight: StampedPrediction | None) -> Line:
        console = self._console
        if sight is None:
            return [('dim', ' waiting for the first prediction')]
        desk = console.desk
        novelty = f'   novelty {sight.novelty:.2f}'
        if desk.frozen is None:
            return [('good', ' LIVE'), ('plain', f'   {clock(sight.stamp)}'), ('dim', novelty)]
        rest = 'absent' if desk.complete else 'unknown'
        word = ' ASKED ' if console.asked else ' FROZEN'
        return [('mark', word), ('plain', f' {clock(sight.stamp)}'), ('dim', novelty),
                ('plain', f'   unmarked labels: {rest}')]

    def _seen(self, sight: StampedPrediction | None) -> Line:
        if sight is None:
            return []
        asked = self._console.asked
        if asked is not None:
            return [('dim', ' likeliest: '),
                    ('bold', printable(', '.join(asked.candidates)) or 'no label known yet')]
        seen = printable(', '.join(sight.predicted)) or 'none of the labels'
        return [('dim', ' sees: '), ('bold', seen)]

    def _labels(self, sight: StampedPrediction | None, width: int) -> list[Line]:
        labels = self._console.labels
        places = {name: place for place, name in enumerate(self._console.robot.labels.names)}
        lines = [self._label(key, name, places.get(name), sight, width)
                 for key, name in labels.visible()]
        if not lines:
            text = 'no label matches the filter' if labels.filter else 'no label yet: press n'
            return [[('dim', f' {text}')]]
        return lines

    def _label(self, key: str, name: str, place: int | None, sight: StampedPrediction | None,
               width: int) -> Line:
        console, glyphs = self._console, self._glyphs
        table = console.robot.labels
        mark = console.desk.marks.get(name)
        sign, style = {None: (' ', 'plain'), True: (glyphs.present, 'good'),
                       False: (glyphs.absent, 'bad')}[mark]
        name_width = max(8, min(28, width // 3))
        bar_width = max(0, min(40, width - name_width - 24))
        score = threshold = None
        if place is not None:
            threshold = table.thresholds[place]
            if sight is not None and sight.version == table.version:
                score = float(sight.scores[place])
        seen = sight is not None and name in sight.predicted
        facts = ' new' if place is None else f'{table.counts[place]:5d}x'
        return [('bold', f' {key} '), (style, f'{sign} '),
                (style if mark is not None else 'bold' if seen else 'plain',
                 fit(printable(name), name_width)),
                ('good' if seen else 'dim', ' ' + self._bar(score, threshold, bar_width)),
                ('plain', '       ' if score is None else f' {score:+.2f} '), ('dim', facts)]

    def _bar(self, score: float | None, threshold: float | None, width: int) -> str:
        """Return a bar from -1 to +1 with a tick at the threshold."""
        if width < 3:
            return ''
        filled = 0 if score is None else round(_share(score) * width)
        bar = list(self._glyphs.full * filled + self._glyphs.empty * (width - filled))
        if threshold is not None:
            bar[min(width - 1, int(_share(threshold) * width))] = self._glyphs.threshold
        return ''.join(bar)

    def _question(self) -> Line:
        console = self._console
        if not len(console.robot.questions):
            return [('dim', ' the robot asks nothing')]
        question = console.asked or next(iter(console.robot.questions))
        return [('mark', f' the robot asks ({len(console.robot.questions)}): what is this?'),
                ('plain', f' {printable(question.text)}'), ('dim', '  a answer  x skip')]

    def _message(self) -> Line:
        orders = self._console.orders
        return [('bad' if orders.failed else 'good', f' {printable(orders.message)}')]

    def _bottom(self) -> Line:
        console = self._console
        if console.twins is not None:
            name, twins = console.twins
            uses = '  '.join(f'{number} use "{twin}"' for number, twin in enumerate(twins, 1))
            return [('mark', f' "{printable(name)}" is nearly "{printable(twins[0])}":'),
                    ('plain', printable(f' {uses}  y add "{name}" anyway  Esc no'))]
        if console.prompt is not None:
            prompt = console.prompt
            return [('bold', f' {printable(prompt.question)}'), ('plain', printable(prompt.text)),
                    ('cursor', ' '), ('dim', '  ' + printable('  '.join(prompt.suggestions())))]
        return [('dim', ' space freeze  Enter teach  n new  u undo  s save  ? all keys  q quit')]


def clock(stamp: int) -> str:
    """Return a stamp as the time of day, or in seconds where it has none."""
    if stamp < FIRST_DATE:
        return f'{stamp * 1e-9:.2f} s'
    part = stamp // 10_000_000 % 100
    return f'{time.strftime("%H:%M:%S", time.localtime(stamp // 10**9))}.{part:02d}'


def _share(score: float) -> float:
    return min(max((score + 1) / 2, 0.0), 1.0)


def _clipped(line: Line, width: int) -> Line:
    """Return a line cut to the width of the screen."""
    kept: Line = []
    for style, text in line:
        text = clip(text, width)
        if text:
            kept.append((style, text))
        width -= columns_of(text)
        if width <= 0:
            break
    return kept
