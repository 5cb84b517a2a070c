# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong labels are found among the most doubtful samples; corrected, they leave no trace."""

from __future__ import annotations

import numpy as np
from corrections import correct

from proemlc_ros.classifier.review import Gallery
from proemlc_ros.records import Annotation, Correction, Learnt, SampleOrder, SampleQuery

NAMES = ['cup', 'plate', 'fork', 'knife']
COUNT = 400


def test_the_wrong_ones_are_first_and_leave_no_trace(opened):
    durable = opened()
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(len(NAMES), 12))
    right = rng.integers(len(NAMES), size=COUNT)
    rows = (centres[right] + 0.5 * rng.normal(size=(COUNT, 12))).astype(np.float32)
    wrong = rng.choice(COUNT, COUNT // 20, replace=False)
    said = right.copy()
    said[wrong] = (right[wrong] + rng.integers(1, len(NAMES), len(wrong))) % len(NAMES)
    learnt = durable.learn([
        Annotation(place + 1, (NAMES[said[place]],), features=rows[place])
        for place in range(COUNT)])
    assert all(isinstance(one, Learnt) for one in learnt)
    page = Gallery(durable).page(SampleQuery(order=SampleOrder.DOUBTFUL, limit=COUNT // 10))
    shown = {sample.number for sample in page.samples}
    found = sum(learnt[place].number in shown for place in wrong)
    assert found >= 0.6 * len(wrong), f'{found} of {len(wrong)}'
    for place in wrong:
        correct(durable, [Correction(learnt[place].number, (NAMES[right[place]],))])
    never = durable.new_learner()
    never.learn(rows, [(NAMES[label],) for label in right])
    model = durable.model.learner
    order = [model.labels.index(name) for name in never.labels]
    np.testing.assert_allclose(model.scores(rows)[:, order], never.scores(rows), atol=1e-8)
    assert [model.counts[place] for place in order] == never.counts


def test_a_hard_sample_that_would_be_predicted_as_it_was_said_contradicts_nothing(opened):
    durable = opened()
    rng = np.random.default_rng(0)
    said = rng.integers(len(NAMES), size=COUNT // 4)
    rows = rng.normal(size=(len(NAMES), 12))[said] + 1.5 * rng.normal(size=(len(said), 12))
    durable.learn([Annotation(place + 1, (NAMES[one],), features=rows[place].astype(np.float32))
                   for place, one in enumerate(said)])
    page = Gallery(durable).page(SampleQuery(order=SampleOrder.DOUBTFUL, limit=len(said)))
    assert durable.model.learner.decision.at_least == 1
    hard = [sample for sample in page.samples
            if sample.doubt > 0.0 and sample.expected == sample.annotation.labels]
    assert hard and not any(sample.doubtful for sample in hard)
    assert any(sample.doubtful for sample in page.samples)
