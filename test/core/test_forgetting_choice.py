# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Models whose forgetting factor is chosen by prequential losses."""

import numpy as np
import pytest

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import CorruptModelError, MergeError


def stream(count, swapped):
    """Return samples of four things; swapped: two of them change their names half-way."""
    random = np.random.default_rng(0)
    centres = 1.2 * random.normal(size=(4, 6))
    for number in range(count):
        thing = int(random.integers(4))
        name = 1 - thing if swapped and number >= count // 2 and thing < 2 else thing
        yield centres[thing] + random.normal(size=6), [f'thing {name}']


def taught(forgetting, swapped, count=360):
    """Return a model that learnt a stream, and how often it was right in the second half."""
    model, right = ProEMLC(hidden_size=30, forgetting=forgetting), 0
    for number, (x, labels) in enumerate(stream(count, swapped)):
        right += number >= count // 2 and list(model.predict(x)[0]) == labels
        model.learn(x, labels)
    return model, right / (count - count // 2)


def test_it_follows_a_drift_and_is_level_without():
    (drifting, followed), (_, kept) = taught('auto', True), taught(1.0, True)
    assert followed > kept + 0.1
    assert drifting.options.forgetting < 1.0
    (_, followed), (_, kept) = taught('auto', False), taught(1.0, False)
    assert followed > kept - 0.02


def test_saved_and_copied_models_go_on_exactly():
    model, _ = taught(0.0, True, 120)  # As the node gives it.
    others = [model.copy(), ProEMLC.from_bytes(model.to_bytes())]
    for x, labels in stream(40, False):
        for one in (model, *others):
            one.learn(x, labels)
    assert {one.to_bytes() for one in others} == {model.to_bytes()}


def test_changes_reach_the_models_that_are_not_used():
    model, _ = taught('auto', False, 80)
    model.rename_label('thing 0', 'cup')
    model.remove_label('thing 1')
    model.add_labels(['plate'])
    x, labels = next(stream(1, False))
    model.learn(x, labels)
    model.unlearn(x, labels)
    model.fit_decision()
    assert {tuple(state.labels.names) for state in model._choice} == {tuple(model.labels)}
    assert len(model._choice.states) == 2
    result = model.test_then_train(np.array([x]), [labels])
    assert result.scores.shape == (1, len(model.labels))


def test_what_it_cannot_do_is_said():
    model, _ = taught('auto', False, 50)
    with pytest.raises(MergeError, match='order'):
        model.merge(taught('auto', False, 50)[0])
    with pytest.raises(MergeError, match='order'):
        model.fix_layer()
        model.partial_sums()


@pytest.mark.parametrize('change', [
    lambda beside: beside.update(losses=[1.0]), lambda beside: beside.update(seen=-1),
    lambda beside: beside['models'].append(3),
    lambda beside: beside['models'][0]['options'].update(hidden_size=7)])
def test_files_whose_models_do_not_fit_together_are_rejected(change):
    from proemlc_ros.core.storage import container
    model, _ = taught('auto', False, 50)
    header, arrays = container.unpack(model.to_bytes())
    change(header['beside'])
    with pytest.raises(CorruptModelError):
        ProEMLC.from_bytes(container.pack(header, arrays))
