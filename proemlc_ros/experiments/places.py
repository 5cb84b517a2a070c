# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where our learner stands among the rivals, in quality and in time, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proemlc_ros.experiments.our_runs import Record
from proemlc_ros.experiments.summary import Summary, by_fold, on_folds, pick

# What training is held against: these methods take the most and are the paper's best rivals.
_CHAINS = ('CC', 'ECC')
# Differences of fewer standard errors than this are noise.
_NOISE = 2.0
_MEASURES = {'hamming_loss': 'Hamming loss', 'f1_example': 'F1'}


def places(records: Sequence[Record], summaries: Sequence[Summary]) -> str:
    """Return our place on each data set, each rival held against ours on its own folds."""
    lines = []
    forms = {'stock': 'in stock form', 'same rule': 'with our decision rule'}
    for data in dict.fromkeys(one.data for one in summaries):
        for variant, title in forms.items():
            rivals = _of(summaries, data, variant)
            # In stock form each of our two rules is shown at what it is for.
            careful = 'least errors' if variant == 'stock' else 'default'
            ours = [(measure, *_of(summaries, data, kind)[-1:]) for measure, kind in (
                ('hamming_loss', careful), ('f1_example', 'default'))]
            words = [_place(records, pair[1], rivals, pair[0]) for pair in ours
                     if rivals and len(pair) > 1]
            if words:
                lines.append(f'- {data}, rivals {title}: ' + '; '.join(words))
    return '\n'.join([
        'Our place, each rival against ours on the folds that it ran on; differences are means ± '
        'standard errors over these folds, and noise where they are below two of these:', '',
        *lines]) if lines else ''


def _place(records: Sequence[Record], ours: Summary, rivals: Sequence[Summary],
           measure: str) -> str:
    sign = 1.0 if measure == 'hamming_loss' else -1.0
    mine = by_fold(records, ours, measure)
    leads = {}
    for one in rivals:
        theirs = by_fold(records, one, measure)
        leads[one] = sign * np.array([theirs[fold] - mine[fold] for fold in one.numbers])
    better = [one for one, lead in leads.items() if lead.mean() < 0.0]
    apart = [one for one in better if _beyond_noise(leads[one])]
    nearest = min(rivals, key=lambda one: leads[one].mean())
    rule = 'the rule of least errors' if ours.variant == 'least errors' else 'the default rule'
    beside = on_folds(records, ours, nearest.numbers).means[measure]
    text = (f'{_MEASURES[measure]} with {rule} {_ordinal(len(better) + 1)} of {len(rivals) + 1} '
            f'({beside:.4f}; {"next" if not better else "best"} is {nearest.method} with '
            f'{nearest.means[measure]:.4f}, {_difference(leads[nearest])})')
    if better and not apart:
        text += ', with nobody before it by more than noise'
    return text


def _ordinal(number: int) -> str:
    return {1: 'first', 2: 'second', 3: 'third'}.get(number, f'{number}th')


def _difference(lead: np.ndarray) -> str:
    words = f'{abs(lead.mean()):.4f} {"worse" if lead.mean() >= 0.0 else "better"}'
    if len(lead) < 2:
        return f'{words}, one fold'
    return (f'{words} ± {_error(lead):.4f}'
            f'{"" if _beyond_noise(lead) else ", which is noise"}')


def _error(lead: np.ndarray) -> float:
    return float(lead.std(ddof=1) / np.sqrt(len(lead)))


def _beyond_noise(lead: np.ndarray) -> bool:
    return len(lead) < 2 or abs(float(lead.mean())) >= _NOISE * _error(lead)


def speeds(records: Sequence[Record], summaries: Sequence[Summary]) -> str:
    """Return how much longer the chains take to train than we do, and how good either is."""
    lines = []
    for data in dict.fromkeys(one.data for one in summaries):
        chains = [one for one in pick(summaries, lambda one, data=data: (
            one.data == data and one.method in _CHAINS)) if one.variant == 'stock']
        for kind, title in (('default', 'defaults'), ('small', 'small')):
            for ours in _of(summaries, data, kind)[-1:] if chains else ():
                lines.append(f'- {data}, {title}: {ours.means["at_once_seconds"]:.2f} s at once, '
                             f'{ours.means["training_seconds"]:.2f} s one by one; ' + '; '.join(
                                 _against(records, summaries, ours, one) for one in chains))
    title = ('Training time: ours is given for the whole training fold at once, as rivals learn '
             'it, and one by one, which ends in the same model. "Small" is the smallest network '
             'whose left-out F1 on the training fold is within 2 % of the best:')
    return '\n'.join([title, '', *lines]) if lines else ''


def _against(records: Sequence[Record], summaries: Sequence[Summary], ours: Summary,
             stock: Summary) -> str:
    beside = on_folds(records, ours, stock.numbers).means
    ratio = stock.means['training_seconds'] / max(beside['at_once_seconds'], 1e-9)
    verdicts = []
    for one in (stock, *(other for other in _of(summaries, stock.data, 'same rule')
                         if other.method == stock.method)):
        won = [title for measure, title in _MEASURES.items()
               if (beside[measure] - one.means[measure])
               * (1.0 if measure == 'hamming_loss' else -1.0) <= 0.0]
        form = 'in stock form' if one.variant == 'stock' else 'with our rule'
        verdicts.append(f'{form} ours is no worse in {" and ".join(won)}' if won
                        else f'{form} ours is worse')
    return f'{stock.method} takes {ratio:.1f} times as long ({", ".join(verdicts)})'


def _of(summaries: Sequence[Summary], data: str, variant: str) -> list[Summary]:
    return pick(summaries, lambda one: (one.data, one.variant) == (data, variant))
