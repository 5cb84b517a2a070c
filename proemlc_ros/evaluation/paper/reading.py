# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the figures say, in sentences that are made from them."""

from __future__ import annotations

from collections.abc import Sequence

from .our_runs import Record
from .published import TABLE_2
from .summary import Summary, pick

# What the project holds itself to: Hamming loss at most, F1 by example at least.
BARS = {'scene': (0.071, 0.805), 'medical': (0.0095, 0.833), 'corel5k': (None, 0.27)}
# How near the paper's own formulas should come to its printed Hamming loss.
_NEAR = {'scene': 0.01, 'medical': 0.01, 'corel5k': 0.002}


def reading_of(records: Sequence[Record], summaries: Sequence[Summary],
               judged: bool = True) -> list[str]:
    """Return paragraphs on patterns and places; judged: also on bars and the reproduction."""
    judgements = (_bars(summaries), _reproduction(summaries)) if judged else ()
    parts = [text for text in (_patterns(records), *judgements, _lead(summaries)) if text]
    return ['### What the figures say', *parts]


def _patterns(records: Sequence[Record]) -> str:
    spreads = [record['pattern_spread'] for record in records if 'pattern_spread' in record]
    if not spreads:
        return ''
    return ('With the defaults, all patterns of a data set end in the same model: over all folds, '
            f'test scores of different patterns differ by at most {max(spreads):.1e}.')


def _bars(summaries: Sequence[Summary]) -> str:
    lines = []
    for one in pick(summaries, lambda one: one.variant == 'default' and one.data in BARS):
        loss, f1 = BARS[one.data]
        met = one.means['f1_example'] >= f1 and (
            loss is None or one.means['hamming_loss'] <= loss)
        bar = f'F1 {f1:g}' if loss is None else f'Hamming loss {loss:g}, F1 {f1:g}'
        lines.append(f'- {one.data} {one.pattern}: bar {bar}; '
                     f'{one.means["hamming_loss"]:.4f}, {one.means["f1_example"]:.4f}: '
                     f'{"met" if met else "**not met**"}')
    return '\n'.join(['Quality bars (F1 by example), with the defaults:', '', *lines]) \
        if lines else ''


def _reproduction(summaries: Sequence[Summary]) -> str:
    lines = []
    for one in pick(summaries, lambda one: one.variant == 'paper'):
        printed = TABLE_2.get((one.data, one.pattern))
        if printed is None:
            continue
        difference = one.means['hamming_loss'] - printed.hamming_loss
        near = abs(difference) <= _NEAR[one.data] + 0.0005
        lines.append(f'- {one.data} {one.pattern}: {difference:+.4f} against the printed '
                     f'{printed.hamming_loss:.3f}{"" if near else " (**apart**)"}')
    return '\n'.join(["The paper's own formulas, Hamming loss:", '', *lines]) if lines else ''


def _lead(summaries: Sequence[Summary]) -> str:
    lines = []
    for data in dict.fromkeys(one.data for one in summaries):
        ours = pick(summaries, lambda one, data=data: (
            one.data, one.variant) == (data, 'default'))[-1:]
        for variant in ('stock', 'same rule'):
            rivals = pick(summaries, lambda one, data=data, variant=variant: (
                one.data, one.variant) == (data, variant))
            if ours and rivals:
                lines.append(f'- {data}, rivals {variant}: {_places(ours[0], rivals)}')
    return '\n'.join(['Our place among all methods:', '', *lines]) if lines else ''


def _places(ours: Summary, rivals: list[Summary]) -> str:
    words = []
    for measure, title, sign in (('hamming_loss', 'Hamming loss', 1), ('f1_example', 'F1', -1)):
        best = min(rivals, key=lambda one: sign * one.means[measure])
        place = 1 + sum(sign * one.means[measure] < sign * ours.means[measure] for one in rivals)
        words.append(f'{title} {ours.means[measure]:.4f} (place {place} of {len(rivals) + 1}; '
                     f'best rival {best.method} {best.means[measure]:.4f})')
    return ', '.join(words)
