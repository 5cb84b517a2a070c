# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Prequential evaluation of bags: the same as predicting and learning by hand."""

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, extractor_pipeline, find_sources
from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation
from proemlc_ros.evaluation.tables import introduction_order, parse_pattern
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector

SECOND = 1_000_000_000


def small_model(**settings):
    return ProEMLC(hidden_size=30, activation='relu', **settings)


def by_hand(model, samples):
    """Predict, compare, learn: one sample at a time, straight from the arrays."""
    metrics, predictions = PrequentialMetrics(), []
    for values, labels in samples:
        predictions.append(model.classify(values))
        metrics.add(predictions[-1].labels, labels,
                    JudgedLabels.by_annotation(labels, (), True, model.labels))
        model.learn(values, labels)
    return metrics, predictions


def play(evaluation, path):
    with BagReader(path) as bag:
        evaluation.play(find_sources(bag).stream(bag))


def played(path, model, **options):
    """Return an evaluation on a bag, and the prediction of every feature vector."""
    predictions = []
    evaluation = PrequentialEvaluation(
        model, on_prediction=lambda _, said: predictions.append(said), **options)
    play(evaluation, path)
    return evaluation, predictions


def test_a_bag_gives_what_its_arrays_give(bag, samples):
    metrics, expected = by_hand(small_model(), samples)
    evaluation, predictions = played(bag, small_model())
    assert evaluation.metrics.values() == metrics.values()
    assert evaluation.metrics.curve.points() == metrics.curve.points()
    assert (evaluation.stream.vectors, evaluation.metrics.samples) == (400, 400)
    assert evaluation.rejects == {}
    for one, other in zip(predictions, expected, strict=True):
        assert one.labels == other.labels and one.names == other.names
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        assert one.novelty == pytest.approx(other.novelty, abs=1e-9)


@pytest.mark.parametrize('settings', [
    {}, {'activation': 'rbf', 'warmup': 50}, {'threshold': 'zero'}, {'scaling': 'standard'}])
def test_learning_in_blocks_changes_nothing(bag, samples, settings):
    settings = {'hidden_size': 30, **settings}
    metrics, _ = by_hand(ProEMLC(**settings), samples)
    evaluation = PrequentialEvaluation(ProEMLC(**settings))
    play(evaluation, bag)
    assert evaluation.metrics.values() == pytest.approx(metrics.values())
    assert {name: one.first_sample for name, one in evaluation.metrics.labels.items()} == {
        name: one.first_sample for name, one in metrics.labels.items()}


def test_a_frozen_model_does_not_learn(bag, samples):
    model = small_model()
    for values, labels in samples[:200]:
        model.learn(values, labels)
    before = model.scores([values for values, _ in samples])
    evaluation, predictions = played(bag, model, learning=False)
    np.testing.assert_array_equal(model.scores([values for values, _ in samples]), before)
    assert 'robot' not in model.labels
    # It never predicts "robot", so that every one is missed.
    assert evaluation.metrics.labels['robot'].recall == 0
    assert [p.labels for p in predictions] == model.predict([v for v, _ in samples])


def test_two_bags_are_one_stream(tmp_path, samples):
    make_bag(tmp_path / 'all', samples)
    make_bag(tmp_path / 'one', samples[:150])
    make_bag(tmp_path / 'two', samples[150:])
    whole, _ = played(tmp_path / 'all', small_model())
    parts = PrequentialEvaluation(small_model())
    for name in ('one', 'two'):
        play(parts, tmp_path / name)
    assert parts.metrics.values() == whole.metrics.values()


def test_a_reset_begins_again_and_a_missing_file_is_counted(samples):
    stream = [(number, Annotation(number + 1, labels, features=values))
              for number, (values, labels) in enumerate(samples[:60])]
    evaluation = PrequentialEvaluation(small_model())
    evaluation.play([*stream, (63, Event(EventKind.RESET)),
                     (64, Event(EventKind.LOAD, file_name='x'))])
    assert evaluation.metrics.samples == 60
    assert evaluation.model.labels == [] and evaluation.model.samples == 0
    assert evaluation.rejects == {'missing_model_file': 1}


def test_a_sample_that_the_model_rejects_costs_only_itself(samples):
    huge = np.full(6, 1e18, np.float32)
    given = [*samples[:10], (huge, ('cup',)), *samples[10:20]]
    stream = [(number, Annotation(number + 1, labels, features=values))
              for number, (values, labels) in enumerate(given)]
    evaluation = PrequentialEvaluation(small_model(scaling='standard'))
    evaluation.play(stream)
    assert evaluation.metrics.samples == 20 == evaluation.model.samples
    assert evaluation.rejects == {'too_large': 1}


def test_another_extractor_is_rejected(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, extractor in enumerate(('a/1', 'b/1', '')):
            stamp = (number + 1) * SECOND
            bag.write_vector(StampedVector(stamp, samples[0][0], extractor), stamp)
            bag.write_annotation(Annotation(stamp, ('cup',)), stamp + 1)
    evaluation, _ = played(tmp_path / 'bag', small_model())
    assert evaluation.metrics.samples == 2
    assert evaluation.rejects['extractor_changed'] == 1


def test_duplicate_and_backward_stamps_are_counted(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, stamp in enumerate((100, 101, 101, 3, 4)):
            bag.write_vector(StampedVector(stamp * SECOND, samples[number][0]), number + 1)
            bag.write_annotation(Annotation(stamp * SECOND, samples[number][1]), number + 1)
    evaluation, _ = played(tmp_path / 'bag', small_model())
    assert evaluation.metrics.samples == 5
    duplicates, jumps = evaluation.result('run', 0, 0.0, []).notes
    assert duplicates.startswith('1 feature vectors had the stamp of another')
    assert jumps.startswith('1 times the stamps jumped back')


def test_sensor_topics_through_the_extractors(shared, tmp_path):
    vectors = []
    evaluation = PrequentialEvaluation(
        small_model(), on_prediction=lambda vector, _: vectors.append(vector))
    with BagReader(shared / 'bags' / 'lidar_nanaaaiya_p1') as bag:
        evaluation.play(find_sources(bag).stream(bag))
    assert evaluation.stream.vectors == 277
    assert {vector.extractor.split('/')[0] for vector in vectors} == {'laser_profile'}
    with BagReader(shared / 'bags' / 'webots_walker') as bag:
        choice = TopicSelection(
            sensors=lambda bag: extractor_pipeline(bag, {'/scan': 'laser_profile'}))
        evaluation = PrequentialEvaluation(small_model())
        evaluation.play(find_sources(bag, choice).stream(bag))
    assert evaluation.stream.vectors == 3120


def test_a_result_has_the_metrics_of_each_label(bag, samples):
    evaluation, _ = played(bag, small_model())
    result = evaluation.result('run', 50_000_000, 1.5, ['a note'])
    assert (result.name, result.seconds, result.notes) == ('run', 1.5, ['a note'])
    assert result.metrics.items() >= evaluation.metrics.values().items()
    assert set(result.metrics) - set(evaluation.metrics.values()) == {
        'calibration_error', 'log_loss'}
    assert [label.name for label in result.labels][-1] == 'robot'
    first = next(n for n, (_, labels) in enumerate(samples) if 'robot' in labels)
    robot, counts = result.labels[-1], evaluation.metrics.labels['robot']
    assert (robot.first_sample, robot.support) == (first + 1, counts.support)
    assert robot.first_seen == (counts.first_time - 50_000_000) / 1e9
    assert robot.f1 == counts.f1 and result.confusion['robot'] == counts.mistaken_for
    assert 0 < result.latency_ms['p50'] < result.latency_ms['p95']


@pytest.mark.slow
def test_scene_as_a_bag_gives_what_its_arrays_give(shared, tmp_path):
    data = find_dataset(shared / 'datasets', 'scene')
    order = introduction_order(data.Y, parse_pattern('4+1+1', 6))[::3]
    samples = [(data.X[row].astype(np.float32), tuple(data.labels(row))) for row in order]
    metrics, expected = by_hand(ProEMLC(hidden_size=200), samples)
    for storage in ('mcap', 'sqlite3'):
        make_bag(tmp_path / storage, samples, storage)
        evaluation, predictions = played(tmp_path / storage, ProEMLC(hidden_size=200))
        assert [p.labels for p in predictions] == [p.labels for p in expected]
        assert evaluation.metrics.values() == metrics.values()
        for one, other in zip(predictions, expected, strict=True):
            np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
