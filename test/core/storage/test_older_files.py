# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model files that earlier versions wrote: they load, predict the same and go on learning.

The files in data/ were written by the package before its modules were renamed; beside each stands
what the model predicted then, and after one more sample. Never write them again with newer code.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from core_reference import masked_scores

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import LabelError

DATA = Path(__file__).parent / 'data'
ODD = [' first', ' cup ', 'a\u200bb', 'e\u0301', '\u3164', 'plain']


def older(name):
    """Return the model of an older file, and what it predicted then."""
    expected = json.loads((DATA / f'{name}.json').read_text(encoding='utf-8'))
    return ProEMLC.load(DATA / f'{name}.npz'), expected


@pytest.mark.parametrize('name', ['warm', 'relu', 'laplacian', 'forgetting', 'odd_names'])
def test_an_older_file_gives_the_same_model(name):
    model, expected = older(name)
    tolerance = 1e-6 if model.options.dtype == 'float32' else 1e-12
    X = np.array(expected['X'])
    for attribute in ('labels', 'counts', 'samples', 'warming_up', 'extra'):
        assert getattr(model, attribute) == expected[attribute]
    assert model.options.as_dict().items() >= expected['options'].items()  # newer ones: defaults
    np.testing.assert_allclose(model.scores(X), expected['scores'], rtol=0, atol=tolerance)
    # Novelty has another meaning since: what no label accounts for is new.
    assert ((model.novelty(X) >= 0.0) & (model.novelty(X) <= 1.0)).all()
    np.testing.assert_array_equal(model.thresholds, expected['thresholds'])
    assert [list(labels) for labels in model.predict(X)] == expected['predicted']


@pytest.mark.parametrize('name', ['warm', 'relu', 'laplacian', 'forgetting', 'odd_names'])
def test_an_older_model_goes_on_as_it_would_have(name):
    model, expected = older(name)
    tolerance = 1e-6 if model.options.dtype == 'float32' else 1e-12
    model = ProEMLC.from_bytes(model.to_bytes())
    model.learn(np.array(expected['more']['x']), expected['more']['labels'])
    assert model.labels == expected['later']['labels']
    scores = expected['later']['scores']
    if name == 'warm':
        # Its kept samples, some of them partial, are learnt again, by the exact rule of today.
        kept = model._state.warmup
        assert not all(annotation.complete for annotation in kept.annotations)
        scores = masked_scores(model, kept.rows(), kept.annotations, expected['X'])
    np.testing.assert_allclose(model.scores(expected['X']), scores, rtol=0, atol=tolerance)


def test_names_that_would_be_rejected_today_stay_usable_in_an_older_model():
    model, expected = older('odd_names')
    assert model.labels == ODD
    x = np.array(expected['more']['x'])
    for name in ODD:
        assert model.learn(x, [name]) == ()
    assert model.learn([x, x], [tuple(ODD), ('plain',)]) == ()
    model.unlearn(x, ['\u3164'])
    model.calibrate([x], [(' cup ',)])
    with pytest.raises(LabelError):
        model.learn(x, ['cup '])
    model.rename_label(' cup ', 'cup')
    model.remove_label('a\u200bb')
    assert model.labels == [' first', 'cup', 'e\u0301', '\u3164', 'plain']
    # Only the name as it was written means the older label.
    assert model.learn(x, ['\u00e9']) == ('\u00e9',)
