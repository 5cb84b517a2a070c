# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the figures say, in sentences that are made from them."""

from __future__ import annotations

from collections.abc import Sequence

from .our_runs import Record
from .published import TABLE_2
from .summary import Summary, on_folds, pick

# What the project holds itself to: Hamming loss at most, F1 by example at least.
BARS = {'scene': (0.071, 0.805), 'medical': (0.0095, 0.833), 'corel5k': (None, 0.27)}
# How near the paper's own formulas should come to its printed Hamming loss.
_NEAR = {'scene': 0.01, 'medical': 0.01, 'corel5k': 0.002}

_WHY_APART = (
    'Eqs 15-19 give a label that comes after the initial block the targets of the last chunk '
    'alone. Its weights then hardly know where the label is absent, until samples without it '
    'have followed: how many do depends on how the samples were redistributed, which the paper '
    'does not say. Two ways are shown: earlier labels stay in the stream while later ones come '
    '(the first half has only the first labels, the others are introduced at equal distances over '
    'the second), and labels strictly in turn, as our defaults are run. With one group introduced '
    'the last chunk is the initial block itself, so that the formulas are exact.')


def reading_of(records: Sequence[Record], summaries: Sequence[Summary],
               judged: bool = True) -> list[str]:
    """Return paragraphs on patterns and places; judged: also on bars and the reproduction."""
    judgements = (_bars(summaries), _reproduction(summaries)) if judged else ()
    parts = [text for text in (
        _patterns(records), *judgements, _lead(records, summaries)) if text]
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
        grouped = ''.join(f'; labels strictly in turn: {other.means["hamming_loss"]:.4f}'
                          for other in pick(summaries, lambda other, one=one: (
                              other.data, other.pattern, other.variant) == (
                                  one.data, one.pattern, 'paper, grouped')))
        lines.append(f'- {one.data} {one.pattern}: printed {printed.hamming_loss:.3f}, here '
                     f'{one.means["hamming_loss"]:.4f} ({difference:+.4f}'
                     f'{"" if near else ", **apart**"}){grouped}')
    return '\n'.join(["The paper's own formulas, Hamming loss:", '', *lines, '', _WHY_APART]) \
        if lines else ''


def _lead(records: Sequence[Record], summaries: Sequence[Summary]) -> str:
    lines = []
    for data in dict.fromkeys(one.data for one in summaries):
        ours = pick(summaries, lambda one, data=data: (
            one.data, one.variant) == (data, 'default'))[-1:]
        for variant in ('stock', 'same rule'):
            rivals = pick(summaries, lambda one, data=data, variant=variant: (
                one.data, one.variant) == (data, variant))
            if ours and rivals:
                lines.append(f'- {data}, rivals {variant}: {_places(records, ours[0], rivals)}')
        for few in pick(summaries, lambda one, data=data: (
                one.data, one.variant) == (data, 'least errors')):
            lines.append(f'- {data}, ours with the rule of least errors: Hamming loss '
                         f'{few.means["hamming_loss"]:.4f}, F1 {few.means["f1_example"]:.4f}')
    title = 'Our place, each rival against ours on the folds that it ran on:'
    return '\n'.join([title, '', *lines]) if lines else ''


def _places(records: Sequence[Record], ours: Summary, rivals: list[Summary]) -> str:
    words = []
    for measure, title, sign in (('hamming_loss', 'Hamming loss', 1), ('f1_example', 'F1', -1)):
        leads = {one.method: sign * (on_folds(records, ours, one.numbers).means[measure]
                                     - one.means[measure]) for one in rivals}
        nearest = max(leads, key=lambda name: leads[name])
        better = [name for name, lead in leads.items() if lead > 0.0]
        words.append(f'{title} better than {len(rivals) - len(better)} of {len(rivals)}'
                     + (f' (not {", ".join(better)})' if better else '')
                     + f', by {-leads[nearest]:.4f} from the best of them, {nearest}')
    return '; '.join(words)
