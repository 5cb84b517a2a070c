# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The losses of a run, its log and its report."""

import numpy as np
import pytest

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.report import BatchComparison, write_report
from proemlc_ros.demo.run import ProgressDisplay, _status_line
from proemlc_ros.demo.run_log import WINDOW, OperatorMistake, RunLog, StreamLosses

CURRICULUM = Curriculum(phase_pictures=20, exam_pictures=30)


def watched(answer, folder=None):
    """Return the log of a run that got all predictions, made by a function of the picture."""
    log = RunLog(folder, CURRICULUM)
    for picture in CURRICULUM.pictures:
        log.predicted(picture.number, tuple(answer(picture)))
    return log


def test_losses_of_the_perfect_and_of_the_silent():
    perfect = StreamLosses(CURRICULUM, watched(lambda picture: picture.objects).records)
    assert perfect.hamming == perfect.exam_loss == 0
    silent = StreamLosses(CURRICULUM, watched(lambda picture: ()).records)
    exam = [p for p in CURRICULUM.pictures if p.exam]
    assert silent.exam_loss == pytest.approx(sum(len(p.objects) for p in exam) / len(exam) / 8)


def test_the_loss_so_far_counts_only_labels_introduced_by_then():
    log = RunLog(None, CURRICULUM)
    log.predicted(0, ('cup',))
    wrong = CURRICULUM.pictures[0].objects != ('cup',)
    assert StreamLosses(CURRICULUM, log.records).hamming == float(wrong)


def test_phase_losses_compare_the_first_with_the_last_third():
    def late(picture):
        return picture.objects if picture.number % 20 >= 14 else ()

    for first, last in StreamLosses(CURRICULUM, watched(late).records).phase_losses():
        assert first > 0 and last == 0


def test_curves_cover_the_annotated_pictures():
    outcome = StreamLosses(CURRICULUM, watched(lambda picture: picture.objects).records)
    numbers, losses = outcome.curve()
    assert len(numbers) == len(losses) == 160 and not losses.any()
    assert outcome.label_curve('phone')[0].tolist() == list(range(140, 160))
    assert outcome.introductions()[:2] == [(0, 'cup'), (20, 'book')]


def test_a_curve_looks_back_over_its_window():
    def wrong_at_first(picture):
        return picture.objects if picture.number else {'cup'}.difference(picture.objects)

    _, losses = StreamLosses(CURRICULUM, watched(wrong_at_first).records).label_curve('cup')
    assert losses[:WINDOW].tolist() == [1 / number for number in range(1, WINDOW + 1)]
    assert not losses[WINDOW:].any()


def test_the_log_comes_back_and_becomes_a_report(tmp_path):
    log = watched(lambda picture: picture.objects[:1], tmp_path)
    log.learnt += range(160)
    log.labels(('cup',))
    log.mistake = OperatorMistake(50, ('<b>bok</b>',), 'Took back', 3, 4, 3, 0.0)
    log.vectors |= {0: np.ones(4, np.float32), 1: np.zeros(4, np.float32)}
    log.write('saved it')
    run = RunLog.read(tmp_path, CURRICULUM)
    assert run.records == log.records and run.learnt == log.learnt
    assert run.mistake == log.mistake and run.label_sets[0][1] == ('cup',)
    np.testing.assert_array_equal(run.vectors[0], 1)
    write_report(tmp_path / 'r.html', run, BatchComparison(0.1, 0.1, 160, 30, 0.0))
    html = (tmp_path / 'r.html').read_text()
    assert html.count('<svg') == 3 and 'Examples from the exam' in html
    assert 'data:image/png' in html and '<b>bok' not in html
    assert 'http://' not in html.replace('http://www.w3.org', '')


@pytest.mark.parametrize('node,batch,ratio', [
    (0.0, 0.0, 1.0), (0.2, 0.1, 2.0), (0.1, 0.0, np.inf)])
def test_ratio_of_losses(node, batch, ratio):
    assert BatchComparison(node, batch, 1, 1, 0.0).ratio == ratio


def test_display_shows_phases_once_and_the_mistake(capsys):
    log = watched(lambda picture: ())
    log.labels(('cup', 'book'))
    log.mistake = OperatorMistake(50, ('bok',), 'Took back', 3, 4, 3, 0.0)
    display = ProgressDisplay(CURRICULUM)
    state = log.progress()
    display.progress({**state, 'phase': 1})
    display.progress({**state, 'phase': 1})
    shown = capsys.readouterr().out
    assert shown.count('phase 2: the operator introduces a new label, book') == 1
    assert shown.count('bok') == 1 and 'labels known 2' in shown
    assert '100%' in _status_line(state)
