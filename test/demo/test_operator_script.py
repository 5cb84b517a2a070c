# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The scripted operator's plan, and the losses of a run."""

import numpy as np
import pytest

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.losses import WINDOW, StreamLosses
from proemlc_ros.demo.operator_script import OperatorAction, OperatorScript
from proemlc_ros.demo.report import BatchComparison, write_report
from proemlc_ros.demo.run import ProgressDisplay, status_line
from proemlc_ros.demo.run_log import OperatorMistake, RunLog, read_run

CURRICULUM = Curriculum(phase_pictures=20, exam_pictures=30)


def watched(answer):
    """Return a script that got all predictions, made by a function of the picture."""
    script = OperatorScript(CURRICULUM)
    for picture in CURRICULUM.pictures:
        script.on_prediction(picture.number, tuple(answer(picture)), (), picture.number / 20)
    return script


def test_every_picture_of_a_phase_is_annotated_and_none_of_the_exam():
    script = watched(lambda picture: ())
    annotated = [step.picture for step in script.waiting if step.action is OperatorAction.ANNOTATE]
    assert [p.number for p in annotated] == [p.number for p in CURRICULUM.pictures if not p.exam]
    assert all(step.labels == step.picture.objects
               for step in script.waiting if step.action is OperatorAction.ANNOTATE)


def test_the_operator_errs_exactly_once_and_then_annotates_the_truth():
    steps = list(watched(lambda picture: ()).waiting)
    (mistake,) = [k for k, step in enumerate(steps) if step.action is OperatorAction.ERR]
    assert set(steps[mistake].labels) != set(steps[mistake].picture.objects)
    assert not set(steps[mistake].labels) <= set(CURRICULUM.labels)
    assert steps[mistake + 1].picture is steps[mistake].picture
    assert steps[mistake + 1].labels == steps[mistake].picture.objects


def test_a_prediction_is_counted_once():
    script = OperatorScript(CURRICULUM)
    for _ in range(3):
        script.on_prediction(0, (), (), 0.0)
    script.on_prediction(10**6, (), (), 0.0)
    assert len(script.waiting) == len(script.records) == 1


def test_finished_means_predicted_to_the_end_and_all_annotated():
    script = watched(lambda picture: ())
    assert not script.finished
    script.waiting.clear()
    assert script.finished


def test_losses_of_the_perfect_and_of_the_silent():
    perfect = StreamLosses(CURRICULUM, watched(lambda picture: picture.objects).records)
    assert perfect.hamming == perfect.exam_loss == 0
    silent = StreamLosses(CURRICULUM, watched(lambda picture: ()).records)
    exam = [p for p in CURRICULUM.pictures if p.exam]
    assert silent.exam_loss == pytest.approx(sum(len(p.objects) for p in exam) / len(exam) / 8)


def test_the_loss_so_far_counts_only_labels_introduced_by_then():
    script = OperatorScript(CURRICULUM)
    script.on_prediction(0, ('cup',), (), 0.0)
    wrong = CURRICULUM.pictures[0].objects != ('cup',)
    assert StreamLosses(CURRICULUM, script.records).hamming == float(wrong)


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
    script = watched(lambda picture: picture.objects[:1])
    while script.waiting:
        script.done(script.waiting.popleft())
    log = RunLog(tmp_path, CURRICULUM)
    log.labels(('cup',))
    log.mistake = OperatorMistake(50, ('<b>bok</b>',), 'Took back', 3, 4, 3, 0.0)
    log.write(script, {0: np.ones(4, np.float32), 1: np.zeros(4, np.float32)}, 'saved it')
    run = read_run(tmp_path)
    assert run.records == script.records and run.learnt == script.learnt
    assert run.mistake == log.mistake and run.label_sets[0][1] == ('cup',)
    np.testing.assert_array_equal(run.vectors[0], 1)
    write_report(tmp_path / 'r.html', CURRICULUM, run, BatchComparison(0.1, 0.1, 160, 30))
    html = (tmp_path / 'r.html').read_text()
    assert html.count('<svg') == 3 and 'Examples from the exam' in html
    assert 'data:image/png' in html and '<b>bok' not in html
    assert 'http://' not in html.replace('http://www.w3.org', '')


@pytest.mark.parametrize('node,batch,ratio', [
    (0.0, 0.0, 1.0), (0.2, 0.1, 2.0), (0.1, 0.0, np.inf)])
def test_ratio_of_losses(node, batch, ratio):
    assert BatchComparison(node, batch, 1, 1).ratio == ratio


def test_display_shows_phases_once_and_the_mistake(capsys):
    script, log = watched(lambda picture: ()), RunLog(None, CURRICULUM)
    log.mistake = OperatorMistake(50, ('bok',), 'Took back', 3, 4, 3, 0.0)
    display = ProgressDisplay(CURRICULUM)
    state = log.progress(script, ('cup', 'book'))
    display.progress({**state, 'phase': 1})
    display.progress({**state, 'phase': 1})
    shown = capsys.readouterr().out
    assert shown.count('phase 2: the operator introduces a new label, book') == 1
    assert shown.count('bok') == 1 and 'labels known 2' in shown
    assert '100%' in status_line(state)
