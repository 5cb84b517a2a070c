# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that leave labels unknown."""

import numpy as np
import pytest
from core_reference import NAMES, batch_scores, masked_scores, plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.learning import evidence_of
from proemlc_ros.errors import LabelError, NeverLearntError

X, ANNOTATIONS = samples(40)
PROBES = np.random.default_rng(9).normal(size=(20, 7))


LABELS = st.sets(st.sampled_from('abcde'), max_size=3)
ANNOTATION = st.tuples(LABELS, LABELS, st.booleans()).map(
    lambda drawn: (tuple(sorted(drawn[0])), tuple(sorted(drawn[1] - drawn[0])), drawn[2]))


def partial(count, share=0.3, seed=1):
    """Return samples of which about that share of the labels is known, some of them complete."""
    random = np.random.default_rng(seed)
    X, shown = samples(count, labels=6, seed=seed)
    annotations = []
    for names in shown:
        known = set(random.permutation(NAMES)[:max(1, round(share * len(NAMES)))])
        complete = bool(random.random() < 0.2)
        annotations.append((names, (), True) if complete else (
            tuple(name for name in names if name in known),
            tuple(sorted(known - set(names))), False))
    return X, annotations


def assert_exact(model, X, annotations, atol=1e-8):
    """Check the scores against one ridge solution per label."""
    np.testing.assert_allclose(model.scores(PROBES), masked_scores(model, X, annotations, PROBES),
                               atol=atol)


@settings(max_examples=60, deadline=None)
@given(annotations=st.lists(ANNOTATION, min_size=1, max_size=25), data=st.data())
def test_weights_are_the_ridge_solution_over_the_known_samples(annotations, data):
    """Learnt one by one or together, taken back in any order, saved, copied and merged."""
    X = np.random.default_rng(0).normal(size=(len(annotations), 7))
    cut = data.draw(st.integers(0, len(annotations)), 'learnt by another model')
    model, other = plain(hidden_size=8), plain(hidden_size=8)
    if cut:
        other.learn(X[:cut], *zip(*annotations[:cut]))
    for x, annotation in zip(X[cut:], annotations[cut:]):
        model.learn(x, *annotation)
    if cut:
        model.merge(other)
    assert_exact(model, X, annotations)
    model = ProEMLC.from_bytes(model.to_bytes()).copy()
    places = data.draw(st.lists(st.sampled_from(range(len(X))), unique=True), 'taken back')
    for place in places:
        model.unlearn(X[place], *annotations[place])
    if left := [place for place in range(len(X)) if place not in places]:
        assert_exact(model, X[left], [annotations[place] for place in left])
    if places:
        model.learn(X[places], *zip(*[annotations[place] for place in places]))
        assert_exact(model, X, annotations)


@pytest.mark.parametrize(('settings', 'atol'), [
    ({'hidden_size': 320}, 1e-8),  # rank-one changes wait
    ({'dtype': 'float32'}, 1e-3),
    ({'activation': 'laplacian', 'warmup': 25}, 1e-8),
    ({'direct_links': True}, 1e-8),
])
def test_blocks_and_single_samples_agree(settings, atol):
    X, annotations = partial(400)
    annotations[150:] = [(names, (), True) for names in samples(400, labels=6, seed=1)[1][150:]]
    one, block = plain(**settings), plain(**settings)
    for x, annotation in zip(X, annotations):
        one.learn(x, *annotation)
    block.learn(X, *zip(*annotations))
    for model in (one, block):
        assert_exact(model, X, annotations, atol)
    assert one.samples == block.samples == 400
    tested = plain(**settings)
    found = tested.test_then_train(X, *zip(*annotations))
    np.testing.assert_allclose(tested.scores(PROBES), one.scores(PROBES), atol=atol)
    again = plain(**settings)
    for place, (x, annotation) in enumerate(zip(X, annotations)):
        if place in (60, 399):
            np.testing.assert_allclose(again.scores(x)[0], found.scores[place], atol=10 * atol)
            np.testing.assert_allclose(again.novelty(x)[0], found.novelty[place], atol=10 * atol)
        again.learn(x, *annotation)


def test_complete_annotations_need_one_matrix_and_partial_ones_no_more_than_they_must():
    X, annotations = samples(40)
    model = plain()
    model.learn(X, annotations)
    assert model.matrices == 1
    small = model.memory_bytes
    model.learn(X[0], ['cup'], ['red'], complete=False)
    assert model.matrices == 3  # of all samples, of the complete ones, of cup and red
    model.learn(X[1], ['cup'], ['red'], complete=False)
    assert model.matrices == 3
    model.learn(X[2], ['cup'], complete=False)
    assert model.matrices == 4
    model.unlearn(X[2], ['cup'], complete=False)
    assert model.matrices == 3  # cup and red are known in the same samples again
    model.unlearn(X[0], ['cup'], ['red'], complete=False)
    model.unlearn(X[1], ['cup'], ['red'], complete=False)
    assert model.matrices == 1
    assert model.memory_bytes == small
    np.testing.assert_allclose(model.scores(PROBES), batch_scores(model, X, annotations, PROBES),
                               atol=1e-8)


def test_labels_come_go_and_change_their_names():
    X, annotations = partial(60)
    model = plain()
    model.learn(X[:40], *zip(*annotations[:40]))
    model.rename_label('cup', 'mug')
    model.remove_label('red')

    def now(annotation, cup='mug', red=()):
        present, absent, complete = annotation
        changed = {'cup': (cup,), 'red': red}
        return tuple(tuple(new for name in names for new in changed.get(name, (name,)))
                     for names in (present, absent)) + (complete,)

    left = [now(annotation) for annotation in annotations[:40]]
    assert_exact(model, X[:40], left)
    for place in (3, 31, 17):  # with the names of today; of the removed label nothing is said
        model.unlearn(X[place], *left[place])
    places = [place for place in range(40) if place not in (3, 31, 17)]
    assert_exact(model, X[places], [left[place] for place in places])
    # Taught again, a removed label begins as any new one; so does one with an old name.
    model.learn(X[40:], *zip(*annotations[40:]))
    places += range(40, 60)
    left += annotations[40:]
    assert_exact(model, X[places], [left[place] for place in places])
    for place in (45, 2, 59):
        model.unlearn(X[place], *left[place])
        places.remove(place)
    assert_exact(model, X[places], [left[place] for place in places])


def test_beyond_the_memory_limit_the_labels_with_least_evidence_are_approximate():
    X, annotations = partial(200)
    limit = 3 * 8 * 21 * 21 * 1e-6  # three matrices of 20 neurons and a bias
    model, exact = plain(partial_memory=limit), plain()
    for x, annotation in zip(X, annotations):
        model.learn(x, *annotation)
        exact.learn(x, *annotation)
    assert model.matrices == 5 and len(model.approximate_labels) == 3
    assert exact.matrices == 8 and exact.approximate_labels == ()
    sure = [place for place, name in enumerate(model.labels)
            if name not in model.approximate_labels]
    expected = masked_scores(model, X, annotations, PROBES)
    np.testing.assert_allclose(model.scores(PROBES)[:, sure], expected[:, sure], atol=1e-8)
    assert np.abs(model.scores(PROBES) - expected).max() > 1e-3
    again = ProEMLC.from_bytes(model.to_bytes())
    assert again.approximate_labels == model.approximate_labels
    # The last in is the first out, exactly; and a merge solves for all labels once.
    before = model.scores(PROBES)
    model.learn(X[0] + 1.0, ['cup'], complete=False)
    model.unlearn(X[0] + 1.0, ['cup'], complete=False)
    np.testing.assert_allclose(model.scores(PROBES), before, atol=1e-9)
    none = plain(partial_memory=0.0)
    none.learn(X, *zip(*annotations))
    assert none.matrices == 2 and set(none.approximate_labels) == set(none.labels)


def test_a_merge_keeps_what_is_approximate_and_what_is_exact():
    X, annotations = partial(200)
    limit = 3 * 8 * 21 * 21 * 1e-6
    small, other = plain(partial_memory=limit), plain(partial_memory=limit)
    small.learn(X[:150], *zip(*annotations[:150]))
    approximate = set(small.approximate_labels)
    other.learn(X[150:], [names for names, _, _ in annotations[150:]])
    small.merge(other)
    assert set(small.approximate_labels) == approximate and approximate
    told = annotations[:150] + [(names, (), True) for names, _, _ in annotations[150:]]
    expected = masked_scores(small, X, told, PROBES)
    for place, name in enumerate(small.labels):
        error = np.abs(small.scores(PROBES)[:, place] - expected[:, place]).max()
        assert (error < 1e-8) == (name not in approximate)


def test_forgetting_weighs_by_the_age_among_all_samples():
    forgetting = 0.95
    X, annotations = partial(30)
    model = plain(forgetting=forgetting, hidden_size=5)
    model.learn(X, *zip(*annotations))
    everything = model.to_bytes()
    model.learn(X[3] + 1.0, ['cup'], ['red'], complete=False)
    model.unlearn(X[3] + 1.0, ['cup'], ['red'], complete=False)
    again = ProEMLC.from_bytes(everything)
    np.testing.assert_allclose(model.scores(PROBES), again.scores(PROBES), atol=1e-9)
    H = model.hidden(X)
    weights = forgetting ** np.arange(29, -1, -1)
    prior = model._state.learner.ridge.prior
    for place, name in enumerate(model.labels):
        known = np.array([complete or name in present + absent
                          for present, absent, complete in annotations])
        y = np.array([1.0 if name in present else -1.0 for present, _, _ in annotations])
        rows, share = H[known], weights[known][:, np.newaxis]
        # The ridge that is topped up entry by entry has forgotten its own targets, which were 0.
        beta = np.linalg.solve(rows.T @ (share * rows) + np.diag(prior),
                               rows.T @ (share[:, 0] * y[known]))
        np.testing.assert_allclose(model.weights[:, place], beta, atol=1e-8)


def test_left_out_scores_are_those_of_a_refit_without_the_sample():
    X, annotations = partial(80)
    model = plain()
    model.learn(X, *zip(*annotations))
    found = evidence_of(model._state.learner, X,
                        [SampleLabels(*said) for said in annotations]).scores
    for place in (5, 41, 79):
        present, absent, complete = annotations[place]
        rest = annotations[:place] + annotations[place + 1:]
        without = masked_scores(model, np.delete(X, place, axis=0), rest, X[place:place + 1])[0]
        for column, name in enumerate(model.labels):
            if complete or name in present + absent:
                np.testing.assert_allclose(found[place, column], without[column], atol=1e-8)


def test_novelty_falls_with_every_sample_whatever_is_known_of_it():
    model = plain(hidden_size=50)
    before = model.novelty(X[0])
    for x in X:
        model.learn(x, ['cup'], complete=False)
    seen = plain(hidden_size=50)
    seen.learn(X, [('cup',)] * 40)
    model.fit_decision()  # The percentiles follow with it.
    seen.fit_decision()
    assert model.novelty(X[0]) < 0.9 * before
    # The calibration knows of fewer samples where labels were left unknown.
    np.testing.assert_allclose(model.novelty(X), seen.novelty(X), atol=1e-3)


@pytest.mark.parametrize('wrong', [
    ((), (), True), (('cup', 'red'), (), True), (('red',), (), True), (('cup',), (), False),
    (('cup',), ('red',), False)])
def test_a_sample_is_not_unlearnt_with_other_labels(wrong):
    model = plain(labels=['cup', 'red'])
    model.learn(X, [('cup',), ('red',)] * 20)
    model.learn(X[:10] + 1.0, [('cup',)] * 10, complete=False)
    before = model.to_bytes()
    with pytest.raises(NeverLearntError, match='not with these labels'):
        model.unlearn(X[0], *wrong)
    with pytest.raises(NeverLearntError, match='not with these labels'):
        model.unlearn(X[0] + 1.0, ['cup'], ['red'], complete=False)
    assert model.to_bytes() == before
    model.unlearn(X[0], ['cup'])
    model.unlearn(X[0] + 1.0, ['cup'], complete=False)


def test_unknown_labels_keep_their_weights():
    model = plain()
    model.learn(X, ANNOTATIONS)
    before = model.weights
    model.learn(np.ones(7), ['cup'], complete=False)
    after = model.weights
    cup = model.labels.index('cup')
    others = [column for column in range(after.shape[1]) if column != cup]
    np.testing.assert_array_equal(after[:, others], before[:, others])
    assert not np.array_equal(after[:, cup], before[:, cup])


def test_last_in_first_out_undo_restores_the_scores():
    model = plain()
    model.learn(X[:30], ANNOTATIONS[:30])
    history = []
    for place, x in enumerate(X[30:]):
        history.append(model.scores(X))
        names = ('new',) if place == 5 else ANNOTATIONS[30 + place]
        absent = ('robot',) if 'robot' not in names and place % 2 else ()
        model.learn(x, names, absent, complete=False)
    for place in range(9, -1, -1):
        names = ('new',) if place == 5 else ANNOTATIONS[30 + place]
        absent = ('robot',) if 'robot' not in names and place % 2 else ()
        model.unlearn(X[30 + place], names, absent, complete=False)
        if place == 5:
            model.remove_label('new')
        np.testing.assert_allclose(model.scores(X), history[place], atol=1e-9)


def test_a_label_cannot_be_present_and_absent():
    with pytest.raises(LabelError, match=r"\['cup'\] are given as present and absent"):
        plain().learn([1.0], ['cup'], ['cup'])


def test_an_unheard_absent_label_becomes_known_only_where_it_says_something():
    model = plain()
    assert model.learn([1.0, 2.0], ['cup'], ['red'], complete=True) == ('cup',)
    assert model.learn([1.0, 2.0], ['cup'], ['red'], complete=False) == ('red',)
    assert model.counts == [2, 0]
