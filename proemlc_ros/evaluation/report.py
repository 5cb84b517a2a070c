# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Results of evaluations: their metrics, as JSON, CSV and predictions, and as a report in HTML."""

from __future__ import annotations

import csv
import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from proemlc_ros.core import Classification
from proemlc_ros.core.metrics import CurvePoint, PrequentialMetrics
from proemlc_ros.evaluation.charts import Mark, Series, heat_map, line_chart
from proemlc_ros.files import replace_text, without_infinities
from proemlc_ros.label_text import csv_text
from proemlc_ros.records import StampedVector
from proemlc_ros.stamps import seconds

FORMAT_VERSION = 1

METRICS = {
    'hamming': 'Hamming loss', 'subset_accuracy': 'subset accuracy', 'accuracy': 'accuracy',
    'precision': 'precision', 'recall': 'recall', 'f1': 'example F1', 'micro_f1': 'micro F1',
    'macro_f1': 'macro F1', 'log_loss': 'log loss', 'calibration_error': 'calibration error',
}
"""Keys of the metrics in files and on the command line, with their titles."""


@dataclass(frozen=True)
class _LabelResult:
    """Metrics of one label; first_seen is in seconds from the beginning of the first bag."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    first_sample: int
    first_seen: float


@dataclass(frozen=True)
class Mistake:
    """A sample that was predicted wrong; surprise: how sure the model was, 0 to labels."""

    time: int
    expected: tuple[str, ...]
    predicted: tuple[str, ...]
    surprise: float


@dataclass(frozen=True)
class EvaluationResult:
    """One run of a model over bags.

    Attributes:
        name: What distinguishes the run: a model file or settings.
        settings: The settings of the model.
        learning: Whether the model learnt while it was tested.
        samples: Annotations compared.
        vectors: Feature vectors read.
        seconds: Duration of the run.
        metrics: Metrics by key; empty where nothing was annotated.
        labels: One entry per label, in the order of their first appearance.
        confusion: For each label, what was predicted instead when it was missed.
        curve: Hamming loss over the stream.
        latency_ms: Percentiles of a single prediction: p50 and p95.
        rejects: Numbers of what was rejected, by cause.
        notes: Defects of the bags.
        mistakes: The worst ones, worst first.
        learnt_before: Annotations whose samples the model had learnt before the run.
    """

    name: str
    settings: dict[str, Any]
    learning: bool
    samples: int
    vectors: int
    seconds: float
    metrics: dict[str, float]
    labels: list[_LabelResult]
    confusion: dict[str, dict[str, int]]
    curve: list[CurvePoint]
    latency_ms: dict[str, float]
    rejects: dict[str, int]
    notes: list[str] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    learnt_before: int = 0


def label_results(metrics: PrequentialMetrics, start: int) -> list[_LabelResult]:
    """Return the metrics of each label: in the order of appearance, then those never present.

    Args:
        metrics: Of the run.
        start: Beginning of the first bag in nanoseconds.
    """
    ordered = sorted(metrics.labels.items(),
                     key=lambda item: (not item[1].support, item[1].first_sample))
    return [
        _LabelResult(name, one.precision, one.recall, one.f1, one.support, one.first_sample,
                     (one.first_time - start) / 1e9 if one.support else float('nan'))
        for name, one in ordered
    ]


def write_json(path: Path, results: Sequence[EvaluationResult], bags: Sequence[str]) -> None:
    """Write the results whole; `bags` names the bags that were played."""
    content = {
        'format': 'proemlc evaluation', 'version': FORMAT_VERSION, 'bags': list(bags),
        'runs': [without_infinities(asdict(result)) for result in results],
    }
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + '\n')


def write_csv(path: Path, results: Sequence[EvaluationResult]) -> None:
    """Write a line per run with its metrics, followed by a line per label."""
    rows: list[list[object]] = [[
        'run', 'label', 'precision', 'recall', 'f1', 'support', 'first_seen_s',
        *(f'all_{name}' for name in METRICS)]]
    for result in results:
        rows.append([result.name, '', *[''] * 3, result.samples, '',
                     *(result.metrics.get(name, '') for name in METRICS)])
        rows += [[result.name, one.name, one.precision, one.recall, one.f1, one.support,
                  '' if math.isnan(one.first_seen) else one.first_seen] for one in result.labels]
    replace_text(path, csv_text(rows))


class PredictionFile(AbstractContextManager['PredictionFile']):
    """A CSV file with a line per feature vector: stamp, labels, novelty, scores by name, region.

    Args:
        path: The file; it is replaced.
    """

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._file = path.open('w', encoding='utf-8', newline='')
        self._table = csv.writer(self._file, lineterminator='\n')
        self._table.writerow(['stamp', 'labels', 'novelty', 'scores', 'region'])

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def write(self, vector: StampedVector, prediction: Classification) -> None:
        """Write the prediction for one feature vector."""
        scores = dict(zip(prediction.names, prediction.scores.tolist(), strict=True))
        self._table.writerow([seconds(vector.stamp), ';'.join(prediction.labels),
                              f'{prediction.novelty:.9g}',
                              json.dumps(scores, ensure_ascii=False),
                              '' if vector.region.is_whole else json.dumps(
                                  vector.region._asdict(), ensure_ascii=False)])


_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:0}.note{color:#777;margin-top:.2rem}figure{margin:1.5rem 0}
svg{width:100%;height:auto}
figcaption{font-size:.9rem;color:#777}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:right}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #888}
.images{display:flex;flex-wrap:wrap;gap:1rem}.images figure{margin:0;width:10rem}
.images img{width:100%;image-rendering:pixelated}
.verdict{font-size:1.3rem}.warning{color:#c00;font-weight:600}
@media(prefers-color-scheme:dark){.warning{color:#f66}}
"""


def today() -> str:
    """Return date and time for people, in UTC."""
    return datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')


class Page:
    """A report under construction; all text given to it is shown as plain text.

    Args:
        title: Title of the report.
        note: A line below it, such as date and version.

    >>> page = Page('A run')
    >>> page.table(['label', 'F1'], [['cup <b>', 0.5]])
    >>> 'cup &lt;b&gt;' in page.html()
    True
    """

    def __init__(self, title: str, note: str = '') -> None:
        """Start a report."""
        self._title = title
        self._parts = [f'<h1>{escape(title)}</h1><p class="note">{escape(note)}</p>']

    def heading(self, words: str) -> None:
        """Add a heading."""
        self._parts.append(f'<h2>{escape(words)}</h2>')

    def paragraph(self, words: str, kind: str = '') -> None:
        """Add a paragraph; kind: 'verdict' (large), 'warning' (red), or nothing special."""
        style = f' class="{escape(kind, quote=True)}"' if kind else ''
        self._parts.append(f'<p{style}>{escape(words)}</p>')

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table; floats are shown with four digits."""
        head = ''.join(f'<th scope="col">{escape(word)}</th>' for word in header)
        body = ''.join(
            '<tr>' + ''.join(f'<td>{escape(_cell(value))}</td>' for value in row) + '</tr>'
            for row in rows
        )
        self._parts.append(
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f'<tbody>{body}</tbody></table></div>')

    def figure(self, svg: str, caption: str = '') -> None:
        """Add a chart, as the chart functions return it."""
        self._parts.append(f'<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>')

    def images(self, images: Sequence[tuple[bytes, str]]) -> None:
        """Add a row of PNG or JPEG images, each with its caption."""
        figures = ''.join(
            f'<figure><img alt="{escape(caption, quote=True)}" '
            f'src="data:image/{_kind(data)};base64,{b64encode(data).decode()}">'
            f'<figcaption>{escape(caption)}</figcaption></figure>'
            for data, caption in images
        )
        self._parts.append(f'<div class="images">{figures}</div>')

    def html(self) -> str:
        """Return the page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f'<title>{escape(self._title)}</title><style>{_STYLE}</style></head>\n<body>'
            + '\n'.join(self._parts) + '</body></html>\n'
        )

    def write(self, path: Path) -> None:
        """Write the page to a file, as a whole or not at all."""
        replace_text(path, self.html())


def _kind(image: bytes) -> str:
    return 'jpeg' if image.startswith(b'\xff\xd8') else 'png'


def _cell(value: object) -> str:
    return f'{value:.4f}' if isinstance(value, float) else str(value)


_MOST_CONFUSED = 30


def results_page(results: Sequence[EvaluationResult], bags: Sequence[str], note: str,
                 pictures: Mapping[int, bytes] | None = None) -> Page:
    """Return the report of one or more runs over the same bags.

    First how good the model is, then its worst mistakes, confusions and labels; curves last.

    Args:
        results: The runs.
        bags: Names of the bags.
        note: Date and version.
        pictures: Of annotations, by the time of their journal entries.
    """
    page = Page('Evaluation of ' + ', '.join(bags), note)
    for result in results:
        if len(results) > 1:
            page.heading(result.name)
        page.paragraph(verdict(result, bags), 'verdict')
        if result.learnt_before:
            page.paragraph(warning(result), 'warning')
        _add_mistakes(page, result, pictures or {})
        _add_run(page, result)
    page.heading('Metrics')
    page.table(*comparison_table(results))
    page.figure(_loss_chart(results), 'Hamming loss over the stream; a line marks the annotation '
                                      'that showed a label for the first time.')
    return page


def verdict(result: EvaluationResult, bags: Sequence[str]) -> str:
    """Return in one sentence how good a model is, and what it was tested on."""
    if not result.samples:
        return 'Nothing could be compared.'
    right = round(result.metrics['subset_accuracy'] * result.samples)
    each = ('each predicted before it was learnt' if result.learning
            else 'none of them learnt during the test')
    return (f'All labels right in {right} of {result.samples} annotations '
            f'({right / result.samples:.0%}) of {", ".join(bags)}; {each}.')


def warning(result: EvaluationResult) -> str:
    """Return that a model was tested on what it was trained with."""
    return (f'Tested on what it was trained with: the model had learnt {result.learnt_before} of '
            f'the {result.samples} annotations before. On new ones expect worse; test it on '
            'other bags.')


def _add_mistakes(page: Page, result: EvaluationResult, pictures: Mapping[int, bytes]) -> None:
    if not result.mistakes:
        return
    page.heading('Worst mistakes')
    shown = [(pictures[one.time], f'{_words(one.predicted)} instead of {_words(one.expected)}')
             for one in result.mistakes if one.time in pictures]
    if shown:
        page.images(shown)
    rest = [one for one in result.mistakes if one.time not in pictures]
    if rest:
        page.table(['expected', 'predicted', 'time [s]'], [
            [_words(one.expected), _words(one.predicted), f'{one.time / 1e9:.3f}']
            for one in rest])


def _words(names: Sequence[str]) -> str:
    return ', '.join(names) or 'nothing'


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


def _loss_chart(results: Sequence[EvaluationResult]) -> str:
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


def _add_run(page: Page, result: EvaluationResult) -> None:
    names = sorted(set(result.confusion).union(*result.confusion.values()))[:_MOST_CONFUSED]
    if names:
        values = [[result.confusion.get(name, {}).get(other, 0) for other in names]
                  for name in names]
        page.heading('Confusion between labels')
        page.figure(heat_map(names, names, values, 'Predicted instead of a missed label',
                             'predicted, but absent', 'missed'))
    page.heading('Labels')
    page.table(*label_table(result))
    page.paragraph(f'{result.vectors} feature vectors and {result.samples} annotations in '
                   f'{result.seconds:.1f} s.')
    for note in result.notes:
        page.paragraph(f'Note: {note}')
    if result.rejects:
        page.heading('Rejected')
        page.table(['cause', 'number'], sorted(result.rejects.items()))
