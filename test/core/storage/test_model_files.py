# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Saved models go on exactly as the model would have."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from core_reference import plain, samples
from scipy import sparse
from scipy.linalg import lapack

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.state import pack_triangle, unpack_triangle

X, ANNOTATIONS = samples(120)
KINDS = [
    {}, {'activation': 'laplacian', 'scaling': 'standard', 'warmup': 90}, {'dtype': 'float32'},
    {'activation': 'rbf', 'whiten': True, 'warmup': 30, 'scaling': 'l2', 'direct_links': True},
    {'forgetting': 0.98}, {'recalibration': 'paper', 'threshold': 'zero'}, {'hidden_size': 310},
    {'activation': 'laplacian', 'scaling': 'asinh', 'warmup': 90},
    {'activation': 'rbf', 'scaling': 'rank', 'whiten': True, 'warmup': 30},
    {'activation': 'kernel_sum', 'scaling': 'standard', 'warmup': 30},
]


def seal(content):
    """Return content with a checksum that fits, as a forger would."""
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def forged(header=None, arrays=None, extra_members=(), compression=zipfile.ZIP_STORED, drop=()):
    """Return a sealed model file with some parts replaced."""
    model = plain(hidden_size=4)
    model.learn(X[:5], ANNOTATIONS[:5])
    true_header, true_arrays = container.unpack(model.to_bytes())
    members = {'header.json': json.dumps({**true_header, **(header or {})}).encode()}
    for name, array in {**true_arrays, **(arrays or {})}.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        members[f'{name}.npy'] = buffer.getvalue()
    members.update(extra_members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', compression) as archive:
        archive.comment = b' ' * 71
        for name, content in members.items():
            if name not in drop:
                archive.writestr(name, content)
    return seal(buffer.getvalue()[:-71])


@pytest.mark.parametrize('settings', KINDS)
@pytest.mark.parametrize('stop', [0, 1, 20, 77, 110])
def test_save_load_learn_on_equals_never_having_saved_bit_for_bit(settings, stop, tmp_path):
    model = plain(**settings)
    if stop:
        model.learn(X[:stop // 2 + 1], ANNOTATIONS[:stop // 2 + 1])
    for x, annotation in zip(X[stop // 2 + 1:stop], ANNOTATIONS[stop // 2 + 1:stop]):
        model.learn(x, annotation)
    model.save(tmp_path / 'model.npz', extra={'extractor': 'test/1'})
    loaded = ProEMLC.load(tmp_path / 'model.npz')
    assert loaded.extra == {'extractor': 'test/1'}
    for twin in (model, loaded):
        for x, annotation in zip(X[stop:], ANNOTATIONS[stop:]):
            twin.learn(x, annotation)
        twin.learn(X[:9], [('new',)] * 9, complete=False)
        twin.unlearn(X[8], ['new'], complete=False)
    assert loaded.to_bytes({}) == model.to_bytes({})
    np.testing.assert_array_equal(loaded.scores(X), model.scores(X))
    assert loaded.predict(X) == model.predict(X)


def test_sparse_samples_of_the_warm_up_are_kept():
    model = plain(activation='rbf', warmup=50)
    model.learn(sparse.csr_matrix(X[:20]), ANNOTATIONS[:20])
    loaded = ProEMLC.from_bytes(model.to_bytes())
    for twin in (model, loaded):
        twin.learn(X[20:70], ANNOTATIONS[20:70])
    np.testing.assert_array_equal(loaded.scores(X), model.scores(X))


def test_a_model_file_is_an_ordinary_npz(tmp_path):
    model = plain()
    model.learn(X, ANNOTATIONS)
    model.save(tmp_path / 'model.npz')
    with np.load(tmp_path / 'model.npz') as arrays:
        assert json.loads(arrays['header.json'])['learner']['labels'] == model.labels
        np.testing.assert_array_equal(arrays['beta'][:, 1:], model.weights)


def test_1000_damaged_files_are_rejected():
    random = np.random.default_rng(0)
    whole = forged()
    ProEMLC.from_bytes(whole)
    for case in range(1000):
        data = bytearray(whole)
        place = int(random.integers(len(data)))
        if case % 4 == 0:
            data = data[:place]
        elif case % 4 == 1:
            data[place] ^= 1 << int(random.integers(8))
        elif case % 4 == 2:
            data[place:place] = bytes([int(random.integers(256))])
        else:
            data[place:place + 16] = b''
        with pytest.raises(errors.ModelFileError):
            ProEMLC.from_bytes(bytes(data))


def test_a_flip_of_every_byte_is_noticed():
    whole = forged()
    digest = container.unpack(whole)
    assert digest
    for place in range(0, len(whole), 7):
        data = bytearray(whole)
        data[place] ^= 0x01
        with pytest.raises((errors.CorruptModelError, errors.ForeignModelError)):
            ProEMLC.from_bytes(bytes(data))


class Bomb:
    """Leaves a trace when it is unpickled."""

    exploded = False

    def __reduce__(self):
        return setattr, (Bomb, 'exploded', True)


@pytest.mark.parametrize('data', [
    b'', b'PK', b'not a model', pickle.dumps({'labels': ['a']}), os.urandom(5000),
    b'PK\x03\x04' + bytes(500)], ids=('empty', 'short', 'text', 'pickle', 'noise', 'zip'))
def test_foreign_files_are_rejected(data):
    with pytest.raises(errors.ForeignModelError, match='not a model file'):
        ProEMLC.from_bytes(data)


def test_somebody_elses_npz_is_rejected(tmp_path):
    np.savez(tmp_path / 'other.npz', beta=np.ones(3))
    with pytest.raises(errors.ForeignModelError):
        ProEMLC.load(tmp_path / 'other.npz')
    with pytest.raises(errors.ForeignModelError):
        ProEMLC.from_bytes(forged({'format': 'other-model'}))


def test_pickled_content_is_rejected_and_not_executed():
    pickled = io.BytesIO()
    np.save(pickled, np.array([Bomb()], dtype=object), allow_pickle=True)
    for data in (forged(arrays={'beta': np.array([Bomb()], dtype=object)}),
                 forged(extra_members={'beta.npy': pickle.dumps(Bomb())}),
                 forged(extra_members={'more.npy': pickled.getvalue()}), pickled.getvalue(),
                 pickle.dumps(Bomb())):
        with pytest.raises(errors.ModelFileError):
            ProEMLC.from_bytes(data)
    assert not Bomb.exploded


def test_a_future_version_is_rejected_by_name():
    with pytest.raises(errors.NewerModelError, match='version 3, .* upgrade the package'):
        ProEMLC.from_bytes(forged({'version': 3}))
    for version in (0, 'one', None):
        with pytest.raises(errors.CorruptModelError):
            ProEMLC.from_bytes(forged({'version': version}))


def test_bombs_and_lies_about_sizes_are_rejected():
    lie = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        lie, {'descr': '<f8', 'fortran_order': False, 'shape': (10 ** 12,)})
    for data in (forged(compression=zipfile.ZIP_DEFLATED),
                 forged(extra_members={'beta.npy': lie.getvalue()}),
                 forged(arrays={'beta': np.ones((4, 99))}), forged(arrays={'matrix': np.ones(3)}),
                 forged(arrays={'pending': np.ones((4, 99))}), forged(drop=('beta.npy',)),
                 forged({'learner': 3}), forged({'options': {'colour': 'red'}}),
                 forged({'options': {'ridge': -1.0}}), forged({'learner': {}}),
                 forged(drop=('header.json',)),
                 forged(extra_members={'header.json': b'[' * 100_000}),
                 forged(extra_members={'header.json': b'[1]'}),
                 forged(extra_members={'beta.npy': b'\x93NUMPY\x09\x00'})):
        with pytest.raises(errors.ModelFileError):
            ProEMLC.from_bytes(data)


def test_a_file_larger_than_allowed_is_not_read(tmp_path):
    path = tmp_path / 'model.npz'
    plain().save(path)
    with pytest.raises(errors.ModelTooLargeError, match='larger than 100 bytes'):
        ProEMLC.load(path, max_bytes=100)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ProEMLC.load(tmp_path / 'nowhere.npz')


def test_a_failed_save_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / 'model.npz'
    plain().save(path)
    before = path.read_bytes()
    path.chmod(0o640)

    def full_disk(*_):
        raise OSError(28, 'No space left on device')

    for step in ('fsync', 'replace'):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full_disk)
            with pytest.raises(OSError, match='No space left'):
                plain(seed=1).save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ['model.npz']
    plain(seed=1).save(path)
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError):
        plain().save(tmp_path / 'no' / 'folder' / 'model.npz')


def test_a_rejected_file_leaves_a_running_model_alone(tmp_path):
    model = plain()
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    (tmp_path / 'bad.npz').write_bytes(before[:-200])
    with pytest.raises(errors.CorruptModelError, match='cut or altered'):
        model.load(tmp_path / 'bad.npz')
    assert model.to_bytes() == before


def test_equal_models_make_equal_files():
    assert plain().to_bytes() == plain().to_bytes()
    with pytest.raises((TypeError, ValueError)):
        plain().to_bytes(extra={'not json': {1, 2}})


@pytest.mark.parametrize('size', [1, 2, 7])
@pytest.mark.parametrize(('kind', 'prefix'), [('float64', 'd'), ('float32', 's')])
def test_packed_as_lapack_does(size, kind, prefix):
    matrix = np.asfortranarray(np.random.default_rng(size).normal(size=(size, size)), dtype=kind)
    packed = pack_triangle(matrix)
    expected, _ = getattr(lapack, f'{prefix}trttp')(matrix, uplo='L')
    np.testing.assert_array_equal(packed, expected)
    again = np.zeros((size, size), dtype=kind, order='F')
    unpack_triangle(packed, again)
    np.testing.assert_array_equal(again, np.tril(matrix))
