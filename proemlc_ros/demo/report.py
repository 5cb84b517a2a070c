# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration's report: one HTML file with curves, tables and example pictures."""

from __future__ import annotations

from pathlib import Path

import cv2

from proemlc_ros.demo.batch_comparison import BatchComparison
from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.losses import WINDOW, StreamLosses
from proemlc_ros.demo.run_log import FinishedRun
from proemlc_ros.evaluation.report import Mark, Page, Series, bar_chart, line_chart

# Example pictures of the exam that the report shows: the first wrong ones, then right ones.
EXAMPLES = 8
WRONG_EXAMPLES = 3


def write_report(
    path: Path, curriculum: Curriculum, session: FinishedRun, judgement: BatchComparison,
) -> None:
    """Write the report of a session to an HTML file."""
    outcome = StreamLosses(curriculum, session.records)
    page = Page(
        'Learning a table top, label by label',
        f'{len(session.records)} pictures in {session.seconds:.0f} s, {judgement.samples} of them '
        f'taught, over ROS 2: camera, feature node, classifier node and a scripted operator.')
    add_result(page, judgement, session)
    add_stream(page, outcome)
    add_lessons(page, outcome)
    add_labels(page, outcome)
    add_slip(page, session)
    add_examples(page, curriculum, session)
    page.write(path)


def add_result(page: Page, judgement: BatchComparison, session: FinishedRun) -> None:
    """Say how the exam went."""
    page.heading('Result')
    page.paragraph(
        f'After the last lesson the node was shown {judgement.exam_pictures} pictures that nobody '
        'taught. A model with the same settings that got the whole stream in one batch, with all '
        'labels known from the start, was examined on the same pictures.')
    page.table(['', 'Hamming loss on the exam'], [
        ['the node, taught one picture at a time', judgement.node],
        ['trained in one batch', judgement.batch],
        ['ratio', judgement.ratio]])
    page.paragraph(f'Saved model: {session.saved}')


def add_stream(page: Page, outcome: StreamLosses) -> None:
    """Draw the loss of the stream, with the moments at which labels were introduced."""
    numbers, losses = outcome.curve()
    marks = [Mark(number, name) for number, name in outcome.introductions()]
    page.heading('The stream')
    page.figure(
        line_chart([Series('Hamming loss', numbers.tolist(), losses.tolist())],
                   'Hamming loss of the lessons', 'picture', 'Hamming loss', marks=marks),
        f'Each picture was predicted before it was taught. Mean over {WINDOW} pictures and the '
        'labels taught so far. A new label raises the loss, and teaching it brings it down.')


def add_lessons(page: Page, outcome: StreamLosses) -> None:
    """Show that the loss falls in each lesson."""
    losses = outcome.lesson_losses()
    names = list(outcome.curriculum.labels)
    page.heading('Lessons')
    page.figure(bar_chart(
        names, [[first for first, _ in losses], [last for _, last in losses]],
        'Hamming loss in each lesson', 'Hamming loss',
        series=['first third', 'last third']), 'Each lesson introduces one label.')
    page.table(['lesson', 'new label', 'first third', 'last third'], [
        [lesson + 1, name, first, last]
        for lesson, (name, (first, last)) in enumerate(zip(names, losses))])


def add_labels(page: Page, outcome: StreamLosses) -> None:
    """Draw the loss of each label on its own."""
    page.heading('Labels')
    series = []
    for name in outcome.curriculum.labels:
        numbers, losses = outcome.label_curve(name)
        series.append(Series(name, numbers.tolist(), losses.tolist()))
    page.figure(
        line_chart(series, 'Loss of each label', 'picture', 'share decided wrongly'),
        f'From the lesson that introduced it; mean over {WINDOW} pictures.')


def add_slip(page: Page, session: FinishedRun) -> None:
    """Tell the story of the mistake that was undone."""
    page.heading('A mistake, undone')
    slip = session.slip
    if slip is None:
        page.paragraph('The operator made no mistake in this session.')
        return
    page.paragraph(
        f'At picture {slip.number} the operator mistyped: {", ".join(slip.labels)}. The '
        f'classifier grew from {slip.labels_before} to {slip.labels_during} labels at once. After '
        f'the undo it had {slip.labels_after} again, and no score of that picture differed by '
        f'more than {slip.difference:.1e} from before the mistake. The node said: {slip.answer}')


def add_examples(page: Page, curriculum: Curriculum, session: FinishedRun) -> None:
    """Show pictures of the exam with truth and prediction."""
    page.heading('Examples from the exam')
    exam = [picture for picture in curriculum.pictures
            if picture.exam and picture.number in session.records]
    wrong = [p for p in exam if set(session.records[p.number].predicted) != set(p.objects)]
    right = [p for p in exam if p not in wrong and p.objects]
    shown = wrong[:WRONG_EXAMPLES]
    shown += right[:EXAMPLES - len(shown)]
    images = []
    for picture in shown:
        _, png = cv2.imencode('.png', curriculum.draw(picture.number)[..., ::-1])
        said = ', '.join(session.records[picture.number].predicted) or 'nothing'
        truth = ', '.join(picture.objects) or 'nothing'
        verdict = 'right' if picture in right else f'wrong, there is: {truth}'
        images.append((png.tobytes(), f'{said} ({verdict})'))
    page.images(images)
    page.paragraph(f'{len(exam) - len(wrong)} of {len(exam)} pictures were right in every label; '
                   f'up to {WRONG_EXAMPLES} of the others are shown first.')
