# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is found about parts of the samples adds up to what all of them say."""

import numpy as np
import pytest
from core_reference import plain, samples

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import adopt_thresholds, learnt_sums, leave_one_out

X, ANNOTATIONS = samples(120, labels=6)
PARTS = (slice(0, 50), slice(50, 120))


def taught(**settings) -> ProEMLC:
    model = plain(threshold='learnt', **settings)
    model.learn(X, ANNOTATIONS)
    return model


def test_sums_of_models_make_the_model_of_all_samples():
    total = None
    for part in PARTS:
        robot = plain()
        robot.learn(X[part], ANNOTATIONS[part])
        sums = learnt_sums(robot)
        if total is None:
            total = sums
        else:
            total.merge(sums)
    made = ProEMLC.from_sums(total)
    together = taught()
    assert made.samples == 120
    order = [made.labels.index(name) for name in together.labels]
    np.testing.assert_allclose(made.scores(X)[:, order], together.scores(X), atol=1e-8)


def test_parts_left_out_say_what_all_say():
    model, whole = taught(), taught()
    evidence = leave_one_out(model, X[PARTS[0]], ANNOTATIONS[PARTS[0]])
    evidence.merge(leave_one_out(model, X[PARTS[1]], ANNOTATIONS[PARTS[1]]))
    whole.calibrate(X, ANNOTATIONS)
    adopt_thresholds(model, evidence)
    np.testing.assert_allclose(model.thresholds, whole.thresholds)
    assert model.predict(X) == whole.predict(X)


def test_looking_at_parts_changes_nothing():
    model = taught()
    before = model.to_bytes()
    leave_one_out(model, X[:50], ANNOTATIONS[:50])
    assert model.to_bytes() == before


def test_evidence_is_taken_over_not_shared():
    model, other = taught(), taught()
    evidence = leave_one_out(model, X, ANNOTATIONS)
    adopt_thresholds(model, evidence)
    before = model.to_bytes()
    evidence.merge(leave_one_out(other, X, ANNOTATIONS))
    assert model.to_bytes() == before


def test_a_layer_that_is_not_fixed_is_refused():
    waiting = ProEMLC(hidden_size=20)
    waiting.learn(X[:5], ANNOTATIONS[:5])
    with pytest.raises(errors.NotReadyError, match='fix_layer'):
        learnt_sums(waiting)
    with pytest.raises(errors.NotReadyError, match='nothing has been learnt'):
        leave_one_out(waiting, X[:5], ANNOTATIONS[:5])
