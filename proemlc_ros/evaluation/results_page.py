# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The results of evaluations as tables and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from proemlc_ros.evaluation.report import Mark, Page, Series, heat_map, line_chart
from proemlc_ros.evaluation.results import METRICS, EvaluationResult

_MOST_CONFUSED = 30


def results_page(results: Sequence[EvaluationResult], bags: Sequence[str], note: str) -> Page:
    """Return the report of one or more runs over the same bags.

    Args:
        results: The runs.
        bags: Names of the bags.
        note: Date and version.

    """
    page = Page('Evaluation of ' + ', '.join(bags), note)
    page.table(*comparison_table(results))
    page.figure(loss_chart(results), 'Hamming loss over the stream; a line marks the annotation '
                                     'that showed a label for the first time.')
    for result in results:
        _add_run(page, result, len(results) > 1)
    return page


def comparison_table(results: Sequence[EvaluationResult]) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of the metrics, one column per run."""
    header = ['metric', *(result.name for result in results)]
    rows: list[list[object]] = [
        [title, *(result.metrics.get(key, float('nan')) for result in results)]
        for key, title in METRICS.items()
    ]
    rows.append(['annotations', *(result.samples for result in results)])
    rows.append(['labels', *(sum(1 for one in result.labels if one.support)
                             for result in results)])
    for key in ('p50', 'p95'):
        rows.append([f'one prediction {key} [ms]', *(
            result.latency_ms.get(key, float('nan')) for result in results)])
    return header, rows


def label_table(result: EvaluationResult) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of the metrics of each label."""
    header = ['label', 'precision', 'recall', 'F1', 'support', 'first seen [s]', 'at annotation']
    rows: list[list[object]] = [
        [one.name, one.precision, one.recall, one.f1, one.support, one.first_seen,
         one.first_sample]
        for one in result.labels
    ]
    return header, rows


def loss_chart(results: Sequence[EvaluationResult]) -> str:
    """Draw the loss of all runs, with the introductions of labels in the first."""
    series = []
    for result in results:
        series.append(Series(f'{result.name}, so far', [point.samples for point in result.curve],
                             [point.loss_so_far for point in result.curve]))
    if len(results) == 1:
        series.append(Series('lately', *_smoothed(results[0])))
    marks = [Mark(one.first_sample, one.name) for one in results[0].labels if one.support]
    return line_chart(series, 'Hamming loss', 'annotations', 'loss', marks[:40])


def _smoothed(result: EvaluationResult, sections: int = 60) -> tuple[list[float], list[float]]:
    """Return the loss over about so many equal sections of the stream."""
    step = max(1, len(result.curve) // sections)
    xs, ys = [], []
    for start in range(0, len(result.curve), step):
        part = result.curve[start:start + step]
        xs.append(float(part[-1].samples))
        ys.append(sum(point.loss for point in part) / len(part))
    return xs, ys


def _add_run(page: Page, result: EvaluationResult, several: bool) -> None:
    if several:
        page.heading(result.name)
    page.heading('Labels')
    page.table(*label_table(result))
    names = sorted(set(result.confusion).union(*result.confusion.values()))[:_MOST_CONFUSED]
    if names:
        values = [[result.confusion.get(name, {}).get(other, 0) for other in names]
                  for name in names]
        page.heading('Confusion between labels')
        page.figure(heat_map(names, names, values, 'Predicted instead of a missed label',
                             'predicted, but absent', 'missed'))
    kind = 'learnt after each annotation' if result.learning else 'did not learn'
    page.paragraph(
        f'{result.vectors} feature vectors and {result.samples} annotations in '
        f'{result.seconds:.1f} s; the model {kind}.')
    for note in result.notes:
        page.paragraph(f'Note: {note}')
    if result.rejects:
        page.heading('Rejected')
        page.table(['cause', 'number'], sorted(result.rejects.items()))
