# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is on the screen: lines of styled text for a given size, free of curses."""

from __future__ import annotations

import time

from proemlc_ros.operator.progress import next_step
from proemlc_ros.operator.questions import (
    SURE_SHARE,
    best_guess,
    doubtful_label,
    share_of_label,
    shares,
    threshold_share,
)
from proemlc_ros.operator.terminal.console import HELP, Console
from proemlc_ros.operator.terminal.screen import picture_lines
from proemlc_ros.operator.terminal.text import (
    UNICODE,
    Glyphs,
    Line,
    clip_line,
    columns_of,
    fit,
    printable,
)
from proemlc_ros.records import StampedPrediction

# Lines beside the labels: status, stamp, predicted labels, gap; query, message, prompt.
FRAME = 7
# A simulation's clock starts near zero and has no time of day.
FIRST_DATE = 10**18


class Layout:
    """Lays out a console as lines of text.

    Args:
        console: what is drawn.
        classifier: full name of the classifier node.
        glyphs: the characters that the terminal can show.
    """

    def __init__(self, console: Console, classifier: str, glyphs: Glyphs = UNICODE) -> None:
        self._console = console
        self._classifier = classifier
        self._glyphs = glyphs
        # Whether the terminal has the 256 colours of xterm, for pictures.
        self.colours = False

    def lines(self, height: int, width: int, now: float) -> list[Line]:
        """Return the lines of the screen, at most `height`; `now` on a steady clock."""
        console = self._console
        console.labels.size = max(1, height - FRAME)
        # The operator sees this prediction from now on; a key freezes it and no newer one.
        console.shown = console.view.prediction
        console.stopped = console.view.trouble(now)
        shown = console.draft.frozen or console.shown
        lines = [self._status(width, now), self._stamp(shown), self._predicted(shown), []]
        if console.helping:
            lines += [[('plain', f' {line}')] for line in HELP]
        elif console.taught.open:
            lines += [[('plain', f' {line}')] for line in console.taught.lines()]
        else:
            lines += self._picture(height, width)
            console.labels.size = max(1, height - FRAME - (len(lines) - 4))
            lines += self._labels(shown, width)
        lines = lines[:max(1, height - 3)]
        lines += [[]] * (height - 3 - len(lines))
        lines += [self._query(), self._message(), self._bottom()]
        # In a very low window the status and the line being typed matter most.
        lines = lines if height > 3 else [lines[0], *lines[-2:]][:height]
        return [clip_line(line, width) for line in lines[:height]]

    def _picture(self, height: int, width: int) -> list[Line]:
        """Return the picture of the question that is being answered, where there is one."""
        query = self._console.answering
        picture = self._console.pictures.find(query.vector.stamp) if query is not None else None
        if picture is None:
            return []
        rows = min(12, (height - FRAME) * 3 // 5)
        return picture_lines(picture, rows, width - 2, self._glyphs, self.colours)

    def _status(self, width: int, now: float) -> Line:
        view = self._console.view
        live, words = not self._console.stopped, self._console.stopped or 'connected'
        figures = (f'{view.rate(now):.1f} Hz  {counted(len(view.labels.names), "label")}  '
                   f'{counted(view.labels.samples, "sample")}')
        left = f' {self._classifier}  '
        room = width - columns_of(left) - columns_of(words) - 5
        return [('title', left), ('good title' if live else 'bad title',
                                  f'{self._glyphs.dot} {words}'),
                ('title', fit(f'   {figures}', max(0, room + 3)))]

    def _stamp(self, shown: StampedPrediction | None) -> Line:
        console = self._console
        if shown is None:
            return [('dim', ' waiting for the first prediction')]
        draft = console.draft
        novelty = f'   {_novelty_word(shown.novelty)}'
        if draft.frozen is None:
            source = console.view.source
            where = '' if source is None or not source.count else (
                f'   {source.position + 1} of {source.count}'
                f'{"" if source.playing else ", paused"}  {printable(source.name)}')
            return [('good', ' LIVE'), ('plain', f'   {clock(shown.stamp)}'), ('dim', novelty),
                    ('plain', where)]
        rest = 'absent' if draft.complete else 'unknown'
        word = ' ASKED' if console.answering else ' HELD'
        missing = '' if draft.has_vector else '   no features yet'
        return [('mark', word), ('plain', f' {clock(shown.stamp)}'), ('bad', missing),
                ('dim', novelty), ('plain', f'   unmarked labels: {rest}')]

    def _predicted(self, shown: StampedPrediction | None) -> Line:
        if shown is None:
            return []
        query = self._console.answering
        if query is not None:
            scores = ', '.join(f'{name} {share:.0%}' for name, share in shares(query))
            return [('dim', ' likeliest: '), ('bold', printable(scores) or 'no label known yet')]
        if shown.unknown:
            guess = best_guess(shown, self._console.view.labels)
            return [('dim', ' sees: '), ('mark', "I don't know"),
                    ('dim', f'   {printable(guess)}?' if guess else '')]
        line: Line = [('dim', ' sees: ')]
        labels = self._console.view.labels
        for name in shown.predicted:
            share = share_of_label(shown, labels, labels.names.index(name)) if (
                name in labels.names) else None
            sure = share is None or share >= SURE_SHARE
            line.append(('bold' if sure else 'dim', printable(name) if sure
                         else f'{printable(name)} {share:.0%}'))
            line.append(('plain', ', '))
        return line[:-1] if len(line) > 1 else [*line, ('plain', 'none of the labels')]

    def _labels(self, shown: StampedPrediction | None, width: int) -> list[Line]:
        labels = self._console.labels
        places = {name: place for place, name in enumerate(self._console.view.labels.names)}
        lines = [self._label(key, name, places.get(name), shown, width)
                 for key, name in labels.visible()]
        if not lines:
            text = 'no label matches the filter' if labels.filter else next_step(
                self._console.view.labels, shown)
            return [[('dim', f' {text}')]]
        return lines

    def _label(self, key: str, name: str, place: int | None, shown: StampedPrediction | None,
               width: int) -> Line:
        console, glyphs = self._console, self._glyphs
        table = console.view.labels
        mark = console.draft.marks.get(name)
        sign, style = {None: (' ', 'plain'), True: (glyphs.present, 'good'),
                       False: (glyphs.absent, 'bad')}[mark]
        name_width = max(8, min(28, width // 3))
        bar_width = max(0, min(36, width - name_width - 26))
        share = threshold = None
        if place is not None:
            share = share_of_label(shown, table, place)
            threshold = threshold_share(shown, table, place)
        seen = shown is not None and name in shown.predicted
        facts = ' new' if place is None else counted(table.counts[place], 'sample')
        return [('bold', f' {key} '), (style, f'{sign} '),
                (style if mark is not None else 'bold' if seen else 'plain',
                 fit(printable(name), name_width)),
                ('good' if seen else 'dim', ' ' + self._bar(share, threshold, bar_width)),
                ('plain', '      ' if share is None else f' {share:4.0%} '), ('dim', facts)]

    def _bar(self, share: float | None, threshold: float | None, width: int) -> str:
        """Return a bar from 0 to 1 with a tick at the threshold."""
        if width < 3:
            return ''
        filled = 0 if share is None else round(share * width)
        bar = list(self._glyphs.full * filled + self._glyphs.empty * (width - filled))
        if threshold is not None:
            bar[min(width - 1, int(threshold * width))] = self._glyphs.threshold
        return ''.join(bar)

    def _query(self) -> Line:
        console = self._console
        if not len(console.view.queries) or not console.view.labels.names:
            return [('dim', f' {console.view.truth.sentence or "the robot asks nothing"}')]
        query = console.answering or list(console.view.queries)[-1]
        label = doubtful_label(query, console.view.labels)
        asked = f'is there "{printable(label)}"?' if label else 'what is new here?'
        keys = '  a answer  x skip'
        if console.answering is not None:
            keys = '  y yes  n no  x not sure' if label else '  n its name  x skip'
        return [('mark', f' the robot asks ({len(console.view.queries)}): {asked}'),
                ('dim', keys), ('plain', f'   {printable(query.text)}')]

    def _message(self) -> Line:
        commands, view = self._console.commands, self._console.view
        if not commands.message and view.labels.names:
            return [('mark', f' {printable(next_step(view.labels, view.prediction))}')]
        return [('bad' if commands.failed else 'good', f' {printable(commands.message)}')]

    def _bottom(self) -> Line:
        console = self._console
        if console.duplicates is not None:
            name, duplicates = console.duplicates
            uses = '  '.join(
                f'{number} use "{known}"' for number, known in enumerate(duplicates, 1))
            return [('mark', f' "{printable(name)}" is nearly "{printable(duplicates[0])}":'),
                    ('plain', printable(f' {uses}  y add "{name}" anyway  Esc no'))]
        if console.prompt is not None:
            prompt = console.prompt
            return [('bold', f' {printable(prompt.prefix)}'), ('plain', printable(prompt.text)),
                    ('cursor', ' '), ('dim', '  ' + printable('  '.join(prompt.suggestions())))]
        return [('dim', ' space hold  Enter teach  0 none  n new  u undo  ? all keys  q quit')]


def clock(stamp: int) -> str:
    """Return a stamp as the time of day, or in seconds where it has none."""
    if stamp < FIRST_DATE:
        return f'{stamp * 1e-9:.2f} s'
    part = stamp // 10_000_000 % 100
    return f'{time.strftime("%H:%M:%S", time.localtime(stamp // 10**9))}.{part:02d}'


def counted(count: int, word: str) -> str:
    """Return a number of things in words.

    >>> counted(1, 'sample'), counted(3, 'sample')
    ('1 sample', '3 samples')
    """
    return f'{count} {word}' if count == 1 else f'{count} {word}s'


def _novelty_word(novelty: float) -> str:
    """Return a novelty in words; the figures are among the diagnostics."""
    return 'well known' if novelty < 0.8 else 'partly new' if novelty < 0.95 else 'new to it'
