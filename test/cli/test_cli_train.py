# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc train` and `proemlc merge` from the outside."""

import numpy as np
import pytest

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.classifier.profiles import PROFILES
from proemlc_ros.core import ProEMLC

SMALL = ('--hidden-size', '40', '--activation', 'relu', '--scaling', 'none')


@pytest.fixture
def parts(tmp_path, samples):
    """Return the paths of two bags; only the second shows "robot"."""
    for name, part in (('one', samples[:150]), ('two', samples[150:])):
        make_bag(tmp_path / name, part)
    return [tmp_path / 'one', tmp_path / 'two']


def test_a_fleet_equals_one_robot(proemlc, parts, samples, tmp_path):
    for path in parts:
        assert proemlc('train', path, '-o', f'{path}.npz', *SMALL)[0] == 0
    code, out, err = proemlc('train', *parts, '-o', tmp_path / 'all.npz', *SMALL)
    assert (code, err) == (0, '') and '300 samples from 2 bags, 3 labels' in out
    code, out, _ = proemlc('merge', *(f'{path}.npz' for path in parts), '-o',
                           tmp_path / 'merged.npz')
    assert code == 0 and '2 models, 300 samples, 3 labels' in out
    rows = np.array([values for values, _ in samples])
    whole, merged = (ProEMLC.load(tmp_path / name) for name in ('all.npz', 'merged.npz'))
    order = [merged.labels.index(name) for name in whole.labels]
    np.testing.assert_allclose(merged.scores(rows)[:, order], whole.scores(rows), atol=1e-8)
    right = sum(set(guess) == set(labels)
                for guess, (_, labels) in zip(whole.predict(rows), samples, strict=True))
    assert right > 240


def test_a_trained_model_is_evaluated_and_trained_on(proemlc, parts, tmp_path):
    assert proemlc('train', parts[0], '-o', tmp_path / 'm.npz', *SMALL)[0] == 0
    code, out, _ = proemlc('evaluate', parts[1], '--model', tmp_path / 'm.npz', '--frozen')
    assert code == 0 and 'robot' in out
    code, out, _ = proemlc('train', parts[1], '--model', tmp_path / 'm.npz', '-o',
                           tmp_path / 'm.npz')
    assert code == 0 and ProEMLC.load(tmp_path / 'm.npz').samples == 300


@pytest.mark.slow
def test_dask_from_the_command_line(proemlc, parts, samples, tmp_path):
    pytest.importorskip('distributed', reason='needs dask.distributed')
    assert proemlc('train', *parts, '-o', tmp_path / 'one.npz', *SMALL)[0] == 0
    assert proemlc('train', *parts, '-o', tmp_path / 'two.npz', '--engine', 'dask', *SMALL)[0] == 0
    one, two = (ProEMLC.load(tmp_path / name) for name in ('one.npz', 'two.npz'))
    rows = np.array([values for values, _ in samples])
    np.testing.assert_allclose(one.scores(rows), two.scores(rows), atol=1e-8)


@pytest.mark.parametrize(('words', 'text'), [
    (['--scheduler', 'tcp://x'], '--workers need --engine dask'),
    (['--model', 'none.npz'], 'none.npz'),
    (['--activation', 'magic'], 'magic'),
])
def test_train_errors(proemlc, bag, tmp_path, words, text):
    code, _, err = proemlc('train', bag, '-o', tmp_path / 'm.npz', *words)
    assert code == 1 and text in err and len(err.splitlines()) == 1
    assert not (tmp_path / 'm.npz').exists()


def test_models_that_do_not_fit_together(proemlc, bag, tmp_path, samples):
    rows, labels = [v for v, _ in samples], [names for _, names in samples]
    for name, settings, extra in (
            ('a', {'seed': 1}, {'extractor': 'x/1'}), ('b', {'seed': 2}, {}),
            ('c', {'seed': 1}, {'extractor': 'y/1'})):
        model = ProEMLC(hidden_size=20, activation='relu', scaling='none', **settings)
        model.learn(rows, labels)
        model.save(tmp_path / f'{name}.npz', extra=extra)
    for other, text in (('b', 'hidden layer'), ('c', "features made by 'y/1'")):
        code, _, err = proemlc('merge', tmp_path / 'a.npz', tmp_path / f'{other}.npz', '-o',
                               tmp_path / 'out.npz')
        assert code == 1 and text in err and f'{other}.npz' in err
    assert not (tmp_path / 'out.npz').exists()


def test_settings_follow_the_features_of_the_first_bag(proemlc, samples, tmp_path):
    make_bag(tmp_path / 'deep', samples, extractor='onnx_embedding/1(model=0123)')
    assert proemlc('train', tmp_path / 'deep', '-o', tmp_path / 'deep.npz')[0] == 0
    made = ProEMLC.load(tmp_path / 'deep.npz')
    expected = ProEMLC(**PROFILES['onnx_embedding'])
    assert made.options == expected.options and made.samples == len(samples)
    assert proemlc('train', tmp_path / 'deep', '-o', tmp_path / 'own.npz', *SMALL)[0] == 0
    assert ProEMLC.load(tmp_path / 'own.npz').options.activation == 'relu'
