# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weights are read as they were written; nothing that a file names is ever called."""

import hashlib
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_weights import dictionary, head, inner, name, pickled, tensor

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.installing import published_file
from proemlc_ros.features.backbone.torch_file import read_tensors

VALUES = np.arange(24, dtype='<f4')


def read(path):
    """Read a file as if its hash had been published."""
    content = path.read_bytes() if path.exists() else b''
    return read_tensors(published_file(path, hashlib.sha256(content).hexdigest()), str(path))


def test_tensors_are_views_of_their_numbers(write_weights):
    found = read(write_weights({
        'whole': tensor('7', 24, 0, (2, 3, 4), (12, 4, 1)),
        'turned': tensor('7', 24, 4, (4, 3), (1, 4)),
        'one': tensor('8', 1, 0, (), (), 'torch LongStorage'),
    }, {'7': VALUES, '8': np.array([5], '<i8')}))
    np.testing.assert_array_equal(found['whole'], VALUES.reshape(2, 3, 4))
    np.testing.assert_array_equal(found['turned'], VALUES[4:16].reshape(3, 4).T)
    assert found['one'] == 5 and found['whole'].flags.owndata


@pytest.mark.parametrize(('offset', 'size', 'stride'), [
    (0, (25,), (1,)), (1, (24,), (1,)), (0, (2, 3, 4), (12, 4, 2)), (-1, (4,), (1,)),
    (0, (4,), (-1,)), (0, (1000, 1000, 1000), (0, 0, 0)), (0, (1 << 62, 4), (0, 1)),
    (0, (2, 2), (1,)), (0, (True, 2), (1, 1)), (0, (1,) * 9, (1,) * 9), (0, [2, 2], (1, 1)),
    (1 << 70, (1,), (1,)), (0, (2.0,), (1,)), ('0', (2,), (1,)),
], ids=str)
def test_a_tensor_beyond_its_numbers_is_refused(write_weights, offset, size, stride):
    path = write_weights({'w': tensor('7', 24, offset, size, stride)}, {'7': VALUES})
    with pytest.raises(BackboneError, match='weights.pth'):
        read(path)


class Exploit:
    """What an ordinary unpickler would call."""

    def __reduce__(self):
        return os.mkdir, ('exploited',)


@pytest.mark.parametrize('state', [
    pickled(Exploit()),
    dictionary({'w': name('os mkdir') + b'(' + inner('exploited') + b't' + b'R'}),
    dictionary({'w': name('builtins eval') + b'(' + inner('1') + b't' + b'R'}),
    b'\x80\x02' + b'(' + inner('exploited') + b'ios\nmkdir\n.',  # INST
    b'\x80\x02' + name('os mkdir') + inner(('exploited',)) + b'\x81.',  # NEWOBJ
    b'\x80\x04\x8c\x02os\x8c\x05mkdir\x93.',  # STACK_GLOBAL
    b'\x80\x02' + b'\x82\x01.',  # EXT1
    dictionary({'w': inner([1, 2])}), dictionary({'w': b'N'}), pickled({}), pickled([]),
    pickled(5), pickled({3: 4}), b'\x80\x02u.', b'\x80\x02(u.', b'\x80\x02R.', b'\x80\x02h\x07.',
    b'\x80\x02.', b'\x80\x02}(' + inner('a') + b'u.',
], ids=range(19))
def test_anything_but_tensors_is_refused_and_nothing_is_run(
        write_weights, tmp_path, monkeypatch, state):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BackboneError):
        read(write_weights(state, {'7': VALUES}))
    assert not (tmp_path / 'exploited').exists()


def test_a_small_file_that_would_take_all_memory_is_refused(write_weights):
    with pytest.raises(BackboneError):
        read(write_weights({'w': tensor('7', 1 << 60, 0, (1 << 60,), (1,))}, {'7': VALUES}))


def test_a_file_of_another_hash_is_not_even_read(write_weights, monkeypatch):
    path = write_weights({'w': tensor('7', 24, 0, (24,), (1,))}, {'7': VALUES})
    monkeypatch.setattr(pickle, 'Unpickler', None)
    with pytest.raises(BackboneError, match='published'):
        read_tensors(published_file(path, '0' * 64), str(path))


def test_every_truncated_or_lengthened_file_is_refused(write_weights):
    path = write_weights({'w': tensor('7', 24, 0, (24,), (1,))}, {'7': VALUES})
    whole = path.read_bytes()
    for length in {*range(0, len(whole), 7), len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(BackboneError):
            read(path)
    path.write_bytes(whole + b'\0')
    with pytest.raises(BackboneError, match='behind its end'):
        read(path)
    with pytest.raises(BackboneError, match='cannot read'):
        read(path.with_name('none.pth'))


@settings(deadline=None)  # the first file of a busy machine may take long
@given(st.binary(max_size=300), st.integers(0, 299))
def test_any_bytes_give_tensors_or_the_error(tmp_path_factory, junk, place):
    path = tmp_path_factory.mktemp('junk') / 'w.pth'
    state = dictionary({'w': tensor('7', 24, 0, (24,), (1,))})
    whole = head() + state + pickled(['7']) + pickle.dumps(VALUES.tobytes())
    path.write_bytes(whole[:place] + junk + whole[place + len(junk):])
    with pytest.raises(BackboneError):
        read(path)
