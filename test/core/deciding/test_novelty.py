# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Novelty as a percentile among left-out samples, and what "I don't know" makes of it."""

import io
import zipfile

import numpy as np
import pytest

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage.container import write_archive

RANDOM = np.random.default_rng(3)
THINGS = 4.0 * RANDOM.normal(size=(30, 24))
SETTINGS = [{}, {'activation': 'rbf', 'scaling': 'l2', 'gamma': 0.5, 'ridge': 0.003},
            {'whiten': True}, {'activation': 'relu', 'hidden_size': 60},
            {'dtype': 'float32'}]


def seen(things, count, spread=2.0):
    """Return views of things, and their labels."""
    kinds = np.repeat(np.arange(*things), count)
    X = THINGS[kinds] + spread * RANDOM.normal(size=(len(kinds), 24))
    return X, [(f'thing {kind}',) for kind in kinds]


def taught(**settings):
    """Return a model of 15 things, which were taught shuffled."""
    X, labels = seen((0, 15), 10)
    model = ProEMLC(**settings)
    for place in RANDOM.permutation(len(X)):
        model.learn(X[place], labels[place])
    model.fix_layer()
    model.fit_decision()
    return model


@pytest.mark.parametrize('settings', SETTINGS)
def test_novelty_is_the_percentile_among_left_out_samples(settings):
    model = taught(**settings)
    known = model.novelty(seen((0, 15), 40)[0])
    for share in (0.5, 0.8, 0.95):
        assert np.mean(known > share) == pytest.approx(1.0 - share, abs=0.15)
    strange = model.novelty(np.concatenate([seen((15, 30), 20)[0], 20.0 * seen((15, 30), 1)[0]]))
    if model.options.radial:
        assert np.mean(strange > 0.95) > 0.95
        assert model.classify(np.full(24, 1e4)).novelty > 0.99 or model.options.scaling == 'l2'


def test_views_of_one_burst_do_not_make_every_other_view_strange():
    # Ten frames of each thing by a camera that stands still: their distances are those of noise.
    X, labels = seen((0, 15), 1)
    model = ProEMLC()
    for x, name in zip(X, labels, strict=True):
        for _ in range(10):
            model.learn(x + 1e-3 * RANDOM.normal(size=24), name)
    assert np.mean(model.novelty(seen((0, 15), 20)[0]) > 0.95) < 0.1
    assert np.mean(model.novelty(5.0 * seen((15, 30), 20)[0]) > 0.95) > 0.9


def wandering(thing, count, random):
    """Return frames of a thing that moves a little from each to the next, and their noise."""
    frames, offset = [], np.zeros(24)
    for _ in range(count):
        offset += 0.4 * random.normal(size=24) - 0.1 * offset
        frames.append(THINGS[thing] + offset + 0.6 * random.normal(size=24))
    return np.array(frames)


def test_a_thing_that_moves_stays_known_after_one_burst_of_it():
    # Each frame is near the one before: percentiles of these tell little of the frames to come.
    random = np.random.default_rng(5)
    model = ProEMLC(activation='rbf', scaling='l2', gamma=0.5, ridge=0.003, hidden_size=1000)
    known = []
    for thing in range(4):
        frames = wandering(thing, 90, random)
        for x in frames[:25]:
            model.learn(x, (f'thing {thing}',))
        known.append(frames[30:])
        assert np.mean(model.novelty(np.concatenate(known)) > 0.85) < 0.3
        assert np.mean(model.novelty(wandering(10 + thing, 60, random)) > 0.85) > 0.95


def test_where_samples_without_labels_are_normal_no_label_is_no_news():
    model = taught(scaling='standard')
    X = np.concatenate([seen((0, 15), 10)[0], seen((15, 25), 10)[0]])
    model.learn(X, [('any',)] * 150 + [()] * 100)
    assert np.mean(model.novelty(seen((15, 25), 20)[0]) > 0.95) < 0.2


def test_one_sample_many_and_before_learning_have_the_same_novelty():
    model = taught()
    X, labels = seen((0, 20), 3)
    one_by_one = [model.classify(x).novelty for x in X]
    np.testing.assert_allclose(model.novelty(X), one_by_one, atol=1e-9)
    found = model.copy().test_then_train(X[:2], labels[:2])
    assert found.novelty[0] == pytest.approx(one_by_one[0], abs=1e-9)


@pytest.mark.parametrize('settings', SETTINGS)
def test_save_copy_and_undo_keep_it(settings):
    model = taught(**settings)
    X, labels = seen((10, 25), 2)
    expected = model.novelty(X)
    for twin in (ProEMLC.from_bytes(model.to_bytes()), model.copy()):
        np.testing.assert_array_equal(twin.novelty(X), expected)
    for x, name in zip(X, labels, strict=True):
        model.learn(x, name)
    model.unlearn(X, labels)
    model.fit_decision()
    np.testing.assert_allclose(model.novelty(X), expected, atol=0.02)


def test_a_merged_model_has_that_of_all_samples():
    X, labels = seen((0, 15), 10)
    first = ProEMLC(hidden_size=50)
    first.learn_initial(X[::2], labels[::2])
    other = first.empty_copy()
    other.learn(X[1::2], labels[1::2])
    first.merge(other)
    fresh = seen((0, 15), 40)[0]
    assert np.mean(first.novelty(fresh) > 0.9) == pytest.approx(0.1, abs=0.08)


def test_a_file_without_it_loads_and_gets_it_with_the_next_samples():
    model = taught()
    with zipfile.ZipFile(io.BytesIO(model.to_bytes())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()
                 if name != 'decision.percentiles.npy'}
    assert 'decision.curves.npy' in parts

    def write(archive):
        for name, content in parts.items():
            archive.writestr(name, content)

    older = ProEMLC.from_bytes(write_archive(write))
    X, labels = seen((10, 25), 6)
    found = older.novelty(X)
    assert ((found >= 0.0) & (found <= 1.0)).all() and not np.allclose(found, model.novelty(X))
    older.learn(X, labels)
    model.learn(X, labels)
    np.testing.assert_allclose(older.novelty(X), model.novelty(X), atol=1e-12)


def test_too_novel_for_any_label():
    model = taught()
    strange = model.classify(np.full(24, 50.0))
    answer = strange.or_unknown(0.95)
    assert strange.labels and answer.unknown and answer.labels == ()
    np.testing.assert_array_equal(answer.probabilities, strange.probabilities)
    np.testing.assert_array_equal(answer.scores, strange.scores)
    assert (answer.probabilities <= np.float32(answer.threshold)).all()
    assert strange.or_unknown(1.5) is strange
    known = model.classify(THINGS[3])
    assert known.or_unknown(0.95) is known and not known.unknown
    assert not ProEMLC().classify(np.ones(3)).or_unknown(0.5).unknown
