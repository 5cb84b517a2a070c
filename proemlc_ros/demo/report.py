# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's report: the comparison with a batch model, curves, tables and example pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core import ProEMLC
from proemlc_ros.demo.run_log import WINDOW, RunLog, StreamLosses, hamming_loss_of
from proemlc_ros.evaluation.charts import Mark, Series, bar_chart, line_chart
from proemlc_ros.evaluation.report import Page

# Example pictures of the exam that the report shows: the first wrong ones, then right ones.
_EXAMPLES = 8
_WRONG_EXAMPLES = 3


@dataclass(frozen=True)
class BatchComparison:
    """Hamming losses on the exam, whose pictures were not annotated."""

    node: float
    """Of the node's own predictions, as they came over DDS."""
    batch: float
    """Of a model that got all samples at once and knew all labels from the start."""
    samples: int
    exam_pictures: int
    difference: float
    """Largest difference of any score of an exam picture between the two models."""

    @property
    def ratio(self) -> float:
        """The node's loss divided by the batch model's."""
        if self.batch == 0:
            return 1.0 if self.node == 0 else float('inf')
        return self.node / self.batch


def compare_with_batch(run: RunLog, model_file: Path) -> BatchComparison:
    """Train a batch model with the node's own settings, and evaluate both on the same pictures.

    Args:
        run: vectors, what was learnt, and what the node predicted.
        model_file: the node's saved model, for its settings.
    """
    curriculum = run.curriculum
    taught = ProEMLC.load(model_file)
    batch = ProEMLC(labels=curriculum.labels, **taught.options.as_dict())
    learnt = [number for number in run.learnt if number in run.vectors]
    batch.learn(
        np.array([run.vectors[number] for number in learnt]),
        [curriculum.pictures[number].objects for number in learnt])
    exam = [picture for picture in curriculum.pictures
            if picture.exam and picture.number in run.vectors
            and picture.number in run.records]
    vectors = np.array([run.vectors[picture.number] for picture in exam])
    seen = {picture.number: run.records[picture.number] for picture in exam}
    return BatchComparison(
        node=StreamLosses(curriculum, seen).exam_loss,
        batch=hamming_loss_of(exam, batch.predict(vectors), curriculum.labels),
        samples=len(learnt), exam_pictures=len(exam),
        difference=_score_difference(taught, batch, vectors))


def _score_difference(one: ProEMLC, other: ProEMLC, vectors: NDArray[np.float32]) -> float:
    """Return the largest difference of a score; infinite where the labels differ."""
    if set(one.labels) != set(other.labels):
        return float('inf')
    order = [other.labels.index(name) for name in one.labels]
    return float(np.abs(one.scores(vectors) - other.scores(vectors)[:, order]).max())


def write_report(path: Path, run: RunLog, comparison: BatchComparison) -> None:
    """Write the report of a run to an HTML file."""
    losses = StreamLosses(run.curriculum, run.records)
    page = Page(
        'Learning a table top, label by label',
        f'{len(run.records)} pictures in {run.seconds:.0f} s, {comparison.samples} of them '
        f'annotated, over ROS 2: camera, feature node, classifier node and a scripted operator.')
    _add_result(page, comparison, run)
    _add_stream(page, losses)
    _add_phases(page, losses)
    _add_labels(page, losses)
    _add_mistake(page, run)
    _add_examples(page, run)
    page.write(path)


def _add_result(page: Page, comparison: BatchComparison, run: RunLog) -> None:
    """Show the losses on the exam."""
    page.heading('Result')
    page.paragraph(
        f'After the last phase the node was shown {comparison.exam_pictures} pictures without '
        'annotations. A model with the same settings that got the whole stream in one batch, with '
        'all labels known from the start, was evaluated on the same pictures.')
    page.table(['', 'Hamming loss on the exam'], [
        ['the node, trained one picture at a time', comparison.node],
        ['trained in one batch', comparison.batch],
        ['ratio', comparison.ratio]])
    page.paragraph(
        f'The scores of the two models differ by at most {comparison.difference:.1e}: a label '
        'that is introduced late is learnt exactly as if it had been known from the start. The '
        'decisions may differ in a few labels, because the node calibrates its thresholds '
        'while it learns and a batch afterwards.')
    page.paragraph(f'Saved model: {run.saved}')


def _add_stream(page: Page, losses: StreamLosses) -> None:
    """Draw the loss of the stream, with the pictures at which labels were introduced."""
    numbers, curve = losses.curve()
    marks = [Mark(number, name) for number, name in losses.introductions()]
    page.heading('The stream')
    page.figure(
        line_chart([Series('Hamming loss', numbers.tolist(), curve.tolist())],
                   'Hamming loss of the phases', 'picture', 'Hamming loss', marks=marks),
        f'Each picture was predicted before it was learnt. Mean over {WINDOW} pictures and the '
        'labels introduced so far. A new label raises the loss, and learning it lowers it.')


def _add_phases(page: Page, losses: StreamLosses) -> None:
    """Show the loss at the beginning and at the end of each phase."""
    thirds = losses.phase_losses()
    names = list(losses.curriculum.labels)
    page.heading('Phases')
    page.figure(bar_chart(
        names, [[first for first, _ in thirds], [last for _, last in thirds]],
        'Hamming loss in each phase', 'Hamming loss',
        series=['first third', 'last third']), 'Each phase introduces one label.')
    page.table(['phase', 'new label', 'first third', 'last third'], [
        [phase + 1, name, first, last]
        for phase, (name, (first, last)) in enumerate(zip(names, thirds))])


def _add_labels(page: Page, losses: StreamLosses) -> None:
    """Draw the loss of each label on its own."""
    page.heading('Labels')
    series = []
    for name in losses.curriculum.labels:
        numbers, curve = losses.label_curve(name)
        series.append(Series(name, numbers.tolist(), curve.tolist()))
    page.figure(
        line_chart(series, 'Loss of each label', 'picture', 'share decided wrongly'),
        f'From the phase that introduced it; mean over {WINDOW} pictures.')


def _add_mistake(page: Page, run: RunLog) -> None:
    """Describe the mistake that was undone."""
    page.heading('A mistake, undone')
    mistake = run.mistake
    if mistake is None:
        page.paragraph('The operator made no mistake in this run.')
        return
    page.paragraph(
        f'At picture {mistake.number} the operator mistyped: {", ".join(mistake.labels)}. The '
        f'classifier grew from {mistake.labels_before} to {mistake.labels_during} labels at once. '
        f'After the undo it had {mistake.labels_after} again, and no score of that picture '
        f'differed by more than {mistake.difference:.1e} from before the mistake. The node '
        f'answered: {mistake.answer}')


def _add_examples(page: Page, run: RunLog) -> None:
    """Show pictures of the exam with truth and prediction."""
    page.heading('Examples from the exam')
    exam = [picture for picture in run.curriculum.pictures
            if picture.exam and picture.number in run.records]
    wrong = [p for p in exam if set(run.records[p.number].predicted) != set(p.objects)]
    right = [p for p in exam if p not in wrong and p.objects]
    shown = wrong[:_WRONG_EXAMPLES]
    shown += right[:_EXAMPLES - len(shown)]
    images = []
    for picture in shown:
        _, png = cv2.imencode('.png', run.curriculum.draw(picture.number)[..., ::-1])
        said = ', '.join(run.records[picture.number].predicted) or 'nothing'
        truth = ', '.join(picture.objects) or 'nothing'
        verdict = 'right' if picture in right else f'wrong, there is: {truth}'
        images.append((png.tobytes(), f'{said} ({verdict})'))
    page.images(images)
    page.paragraph(f'{len(exam) - len(wrong)} of {len(exam)} pictures were right in every label; '
                   f'up to {_WRONG_EXAMPLES} of the others are shown first.')
