# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Several threads at once: nothing lost, nothing half done."""

import sys
import threading

import numpy as np
from core_reference import batch_scores, plain, samples

X, ANNOTATIONS = samples(400)


def run(*jobs):
    """Run functions in threads of their own and raise what they raise."""
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as error:  # noqa: B902
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


def test_learning_from_several_threads_loses_nothing():
    model = plain()

    def learner(start):
        def learn():
            for place in range(start, 400, 4):
                model.learn(X[place], ANNOTATIONS[place])
        return learn

    run(*(learner(start) for start in range(4)))
    assert model.samples == 400
    np.testing.assert_allclose(model.scores(X), batch_scores(model, X, ANNOTATIONS, X), atol=1e-8)


def test_predictions_never_see_a_half_updated_model():
    # All labels are always present together: in every whole state their scores agree.
    names = [f'label {number}' for number in range(12)]
    model = plain(hidden_size=30)
    model.learn(X[0], names)
    done = threading.Event()

    def learn():
        for place in range(1, 150):
            names.append(f'label {len(names)}') if place % 10 == 0 else None
            model.learn(X[place], names[:12])
            if place % 7 == 0:
                model.unlearn(X[place], names[:12])
        done.set()

    def predict():
        while not done.is_set():
            scores = model.scores(X[:5])
            assert np.ptp(scores, axis=1).max() < 1e-9
            found = model.classify(X[7])
            assert len(found.scores) == len(found.names)
            assert np.ptp(found.scores) < 1e-9

    run(learn, predict, predict)


def test_copying_saving_and_merging_while_learning():
    model, other = plain(), plain()
    done = threading.Event()

    def learn():
        for place in range(200):
            model.learn(X[place], ANNOTATIONS[place])
            other.learn(X[200 + place], ANNOTATIONS[200 + place])
        done.set()

    def copy():
        while not done.is_set():
            twin = type(model).from_bytes(model.copy().to_bytes())
            count = twin.samples
            expected = batch_scores(twin, X[:count], ANNOTATIONS[:count], X) if count else 0.0
            np.testing.assert_allclose(twin.scores(X), expected, atol=1e-8)

    run(learn, copy)
    # Each into the other at the same time must not lock up.
    run(lambda: model.merge(other), lambda: other.merge(model))
    assert model.samples + other.samples in (800, 1000)
