# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Replay of recordings: the same as teaching a model by hand, whatever the order of things."""

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, find_sources
from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.classifier.records import Annotation, Event, EventKind, StampedVector
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import JudgedLabels, PrequentialMetrics
from proemlc_ros.evaluation.introduction import introduction_order, parse_pattern
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.experiments.datasets import find_dataset

SECOND = 1_000_000_000


def small_model(**settings):
    return ProEMLC(hidden_size=30, activation='relu', **settings)


def by_hand(model, samples):
    """Predict, compare, learn: one sample at a time, straight from the arrays."""
    tally, predictions = PrequentialMetrics(), []
    for values, labels in samples:
        said = model.classify(values)
        predictions.append(said)
        tally.add(said.labels, labels,
                  JudgedLabels.by_annotation(labels, (), True, model.labels))
        model.learn(values, labels)
    return tally, predictions


def played(path, model, **options):
    predictions = []
    replay = Replay(model, on_prediction=lambda _, said: predictions.append(said), **options)
    with BagReader(path) as recording:
        replay.play(find_sources(recording).stream(recording))
    return replay, predictions


def test_a_recording_gives_what_its_arrays_give(bag, samples):
    tally, expected = by_hand(small_model(), samples)
    replay, predictions = played(bag, small_model())
    assert replay.tally.values() == tally.values()
    assert replay.tally.curve.points() == tally.curve.points()
    assert (replay.vectors, replay.tally.samples, replay.all_rejects) == (400, 400, {})
    for one, other in zip(predictions, expected, strict=True):
        assert one.labels == other.labels and one.names == other.names
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        assert one.novelty == pytest.approx(other.novelty, abs=1e-9)


@pytest.mark.parametrize('settings', [
    {}, {'activation': 'rbf', 'warmup': 50}, {'threshold': 'zero'}, {'scaling': 'standard'}])
def test_learning_in_blocks_changes_nothing(bag, samples, settings):
    settings = {'hidden_size': 30, **settings}
    tally, _ = by_hand(ProEMLC(**settings), samples)
    replay = Replay(ProEMLC(**settings))
    with BagReader(bag) as recording:
        replay.play(find_sources(recording).stream(recording))
    assert replay.tally.values() == pytest.approx(tally.values())
    assert {name: one.first_sample for name, one in replay.tally.labels.items()} == {
        name: one.first_sample for name, one in tally.labels.items()}


def test_a_frozen_model_does_not_learn(bag, samples):
    model = small_model()
    for values, labels in samples[:200]:
        model.learn(values, labels)
    before = model.scores([values for values, _ in samples])
    replay, predictions = played(bag, model, learning=False)
    np.testing.assert_array_equal(model.scores([values for values, _ in samples]), before)
    assert 'robot' not in model.labels
    # It never says "robot", so every one of them is a miss.
    assert replay.tally.labels['robot'].recall == 0
    assert [p.labels for p in predictions] == model.predict([v for v, _ in samples])


def test_two_recordings_are_one_stream(tmp_path, samples):
    make_bag(tmp_path / 'all', samples)
    make_bag(tmp_path / 'one', samples[:150])
    make_bag(tmp_path / 'two', samples[150:])
    whole, _ = played(tmp_path / 'all', small_model())
    parts = Replay(small_model())
    for name in ('one', 'two'):
        with BagReader(tmp_path / name) as recording:
            parts.play(find_sources(recording).stream(recording))
    assert parts.tally.values() == whole.tally.values()


def vector(*values):
    return np.array(values, np.float32)


def test_the_rules_of_the_node(tmp_path):
    """Late, early, nearest, newest and carried features; wrong ones are counted by cause."""
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(10 * SECOND, vector(1, 0)), 100)
        bag.write_annotation(Annotation(10 * SECOND, ('exact',)), 200)
        bag.write_annotation(Annotation(11 * SECOND, ('early',)), 300)
        bag.write_vector(StampedVector(11 * SECOND, vector(0, 1)), 400)
        bag.write_vector(StampedVector(12 * SECOND, vector(1, 1)), 500)
        bag.write_annotation(Annotation(0, ('newest',)), 600)
        bag.write_annotation(Annotation(11 * SECOND + 50_000_000, ('nearest',)), 700)
        bag.write_annotation(Annotation(1, ('carried',), features=vector(5, 5)), 800)
        bag.write_vector(StampedVector(13 * SECOND, vector(1, 2, 3)), 900)
        bag.write_vector(StampedVector(13 * SECOND, vector(np.nan, 1)), 1000)
        bag.write_annotation(Annotation(13 * SECOND, ('never',)), 1100)
        bag.write_annotation(Annotation(12 * SECOND, ('bad\x07',)), 1200)
    learnt = []
    model = small_model()
    original = model.test_then_train

    def spy(rows, labels, **more):
        learnt.extend((tuple(row), *names) for row, names in zip(rows, labels, strict=True))
        return original(rows, labels=labels, **more)

    model.test_then_train = spy
    replay, _ = played(tmp_path / 'bag', model, rules=MatchingRules(tolerance=0.1))
    assert learnt == [((1, 0), 'exact'), ((0, 1), 'early'), ((1, 1), 'newest'),
                      ((0, 1), 'nearest'), ((5, 5), 'carried')]
    assert replay.all_rejects == {'wrong_width': 1, 'not_finite': 1, 'unknown_stamp': 1,
                              'bad_label': 1}


def test_events_of_a_journal_are_repeated(samples):
    stream, model = [], small_model()
    for number, (values, labels) in enumerate(samples[:60]):
        stream.append((number, Annotation(number + 1, labels, features=values)))
        model.learn(values, labels)
    stream.append((60, Event(EventKind.UNDO)))
    model.unlearn(samples[59][0], samples[59][1])
    stream.append((61, Event(EventKind.RENAME, label='red', new_label='blue')))
    model.rename_label('red', 'blue')
    stream.append((62, Event(EventKind.REMOVE, label='cup')))
    model.remove_label('cup')
    replay = Replay(small_model())
    replay.play(stream)
    assert replay.model.labels == model.labels == ['blue']
    rows = [values for values, _ in samples]
    np.testing.assert_allclose(replay.model.scores(rows), model.scores(rows), atol=1e-9)
    replay.play([(63, Event(EventKind.RESET)), (64, Event(EventKind.LOAD, file_name='x'))])
    assert replay.model.labels == [] and replay.model.samples == 0
    assert replay.all_rejects == {'model_file_of_another_place': 1}


def test_undo_reaches_back_over_blocks(samples):
    """The last hundred lessons can be taken back, wherever blocks ended, and no more."""
    stream = [(number, Annotation(number + 1, labels, features=values))
              for number, (values, labels) in enumerate(samples[:300])]
    stream.insert(150, (150, Event(EventKind.RENAME, label='red', new_label='crimson')))
    replay = Replay(small_model())
    replay.play([*stream, *[(300, Event(EventKind.UNDO))] * 101])
    assert replay.model.samples == 200
    assert replay.all_rejects == {'undo': 1}


def test_a_sample_that_the_model_refuses_costs_only_itself(samples):
    huge = np.full(6, 1e18, np.float32)
    given = [*samples[:10], (huge, ('cup',)), *samples[10:20]]
    stream = [(number, Annotation(number + 1, labels, features=values))
              for number, (values, labels) in enumerate(given)]
    replay = Replay(small_model())
    replay.play(stream)
    assert replay.tally.samples == 20 == replay.model.samples
    assert replay.all_rejects == {'too_large': 1}


def test_another_extractor_is_refused(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, extractor in enumerate(('a/1', 'b/1', '')):
            stamp = (number + 1) * SECOND
            bag.write_vector(StampedVector(stamp, samples[0][0], extractor), stamp)
            bag.write_annotation(Annotation(stamp, ('cup',)), stamp + 1)
    replay, _ = played(tmp_path / 'bag', small_model())
    assert replay.tally.samples == 2
    assert replay.all_rejects['extractor_changed'] == 1


def test_duplicate_and_backward_stamps_are_counted(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, stamp in enumerate((100, 101, 101, 3, 4)):
            bag.write_vector(StampedVector(stamp * SECOND, samples[number][0]), number + 1)
            bag.write_annotation(Annotation(stamp * SECOND, samples[number][1]), number + 1)
    replay, _ = played(tmp_path / 'bag', small_model())
    assert replay.tally.samples == 5
    assert (replay.steps.matcher.buffer.duplicates, replay.steps.matcher.buffer.jumps) == (1, 1)


def test_sensor_topics_through_the_extractors(shared, tmp_path):
    from proemlc_ros.bags.sources import extractor_pipeline
    moments = []
    replay = Replay(small_model(), on_prediction=lambda moment, _: moments.append(moment))
    with BagReader(shared / 'bags' / 'lidar_nanaaaiya_p1') as bag:
        replay.play(find_sources(bag).stream(bag))
    assert replay.vectors == 277
    assert {moment.extractor.split('/')[0] for moment in moments} == {'laser_profile'}
    with BagReader(shared / 'bags' / 'webots_walker') as bag:
        choice = TopicSelection(sensors=lambda bag: extractor_pipeline(bag, {'/scan': 'laser_profile'}))
        replay = Replay(small_model())
        replay.play(find_sources(bag, choice).stream(bag))
    assert replay.vectors == 3120


@pytest.mark.slow
def test_scene_as_a_bag_gives_what_its_arrays_give(shared, tmp_path):
    data = find_dataset(shared / 'datasets', 'scene')
    order = introduction_order(data.Y, parse_pattern('4+1+1', 6))
    samples = [(data.X[row].astype(np.float32), tuple(data.labels(row))) for row in order]
    tally, expected = by_hand(ProEMLC(hidden_size=200), samples)
    for storage in ('mcap', 'sqlite3'):
        make_bag(tmp_path / storage, samples, storage)
        replay, predictions = played(tmp_path / storage, ProEMLC(hidden_size=200))
        assert [p.labels for p in predictions] == [p.labels for p in expected]
        assert replay.tally.values() == tally.values()
        for one, other in zip(predictions, expected, strict=True):
            np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
