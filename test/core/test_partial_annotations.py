# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that leave labels unknown."""

import numpy as np
import pytest
from core_reference import plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import LabelError

X, ANNOTATIONS = samples(40)


class Literal:
    """The rules for partial annotations, written out with full matrices."""

    def __init__(self, size, ridge):
        self.A = ridge * np.eye(size)
        self.sums = {}  # H^T y of each label
        self.unnamed = np.zeros(size)

    def learn(self, h, present, absent, complete):
        named = present if complete else present + absent
        for name in named:
            self.sums.setdefault(name, self.unnamed.copy())
        A_next = self.A + np.outer(h, h)
        for name, total in self.sums.items():
            if name in present:
                target = 1.0
            elif complete or name in absent:
                target = -1.0
            else:
                beta = np.linalg.solve(self.A, total)
                total += A_next @ beta - total  # the weights stay: zero residual
                continue
            total += target * h
        self.unnamed += (-1.0 if complete else 0.0) * h
        self.A = A_next

    def scores(self, H, names):
        return H @ np.column_stack([np.linalg.solve(self.A, self.sums[name]) for name in names])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sets(st.sampled_from('abcd')), st.sets(st.sampled_from('abcd')),
                          st.booleans()), min_size=1, max_size=25), st.booleans())
def test_partial_annotations_follow_their_rules(annotations, together):
    annotations = [(tuple(sorted(present)), tuple(sorted(absent - present)), complete)
                   for present, absent, complete in annotations]
    model = plain(hidden_size=8)
    literal = None
    X = np.random.default_rng(0).normal(size=(len(annotations), 3))
    if together:
        model.learn(X, *zip(*annotations))
    else:
        for x, (present, absent, complete) in zip(X, annotations):
            model.learn(x, present, absent, complete)
    for h, (present, absent, complete) in zip(model.hidden(X), annotations):
        literal = literal or Literal(len(h), 1.0)
        literal.learn(h, present, absent, complete)
    assert set(model.labels) == set(literal.sums)
    if model.labels:
        np.testing.assert_allclose(model.scores(X), literal.scores(model.hidden(X), model.labels),
                                   atol=1e-8)


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
