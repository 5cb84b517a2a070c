# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weights are read as they were written; nothing that a file names is ever called."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_weights import dictionary, head, inner, name, pickled, tensor

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.torch_file import read_tensors

VALUES = np.arange(24, dtype='<f4')


def test_tensors_are_views_of_their_numbers(write_weights):
    found = read_tensors(write_weights({
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
        read_tensors(path)


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
        read_tensors(write_weights(state, {'7': VALUES}))
    assert not (tmp_path / 'exploited').exists()


def test_small_files_that_would_take_all_memory_are_refused(write_weights, tmp_path):
    stated = write_weights({'w': tensor('7', 1 << 60, 0, (1 << 60,), (1,))}, {'7': VALUES})
    with pytest.raises(BackboneError):
        read_tensors(stated)
    # A place in the memo that an unpickler would make room for.
    stated.write_bytes(head() + b'\x80\x02Nr\xff\xff\xff\xff.')
    with pytest.raises(BackboneError):
        read_tensors(stated)
    stated.write_bytes(head() + b'\x80\x02' + b'(' * 400_000)
    with pytest.raises(BackboneError, match='opcodes'):
        read_tensors(stated)


# Tuples of two that name one tuple of two, and so on: 2 ** 60 parts when walked through.
NESTED = b')' + b''.join(b'q%ch%c\x86' % (level, level) for level in range(60))


@pytest.mark.parametrize('state', [b'\x80\x02}' + NESTED + b'K\x01s.',
                                   b'\x80\x02' + NESTED + b')R.'], ids=['key', 'called'])
def test_tuples_of_tuples_are_not_walked_through(write_weights, state):
    with pytest.raises(BackboneError, match='weights.pth'):
        read_tensors(write_weights(state, {'7': VALUES}))


def test_every_truncated_or_lengthened_file_is_refused(write_weights):
    path = write_weights({'w': tensor('7', 24, 0, (24,), (1,))}, {'7': VALUES})
    whole = path.read_bytes()
    for length in {*range(0, len(whole), 7), len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(BackboneError):
            read_tensors(path)
    path.write_bytes(whole + b'\0')
    with pytest.raises(BackboneError, match='behind its end'):
        read_tensors(path)
    with pytest.raises(BackboneError, match='cannot read'):
        read_tensors(path.with_name('none.pth'))


@settings(deadline=None)  # the first file of a busy machine may take long
@given(st.binary(max_size=300), st.integers(0, 299))
def test_any_bytes_give_tensors_or_the_error(tmp_path_factory, junk, place):
    path = tmp_path_factory.mktemp('junk') / 'w.pth'
    state = dictionary({'w': tensor('7', 24, 0, (24,), (1,))})
    whole = head() + state + pickled(['7']) + pickle.dumps(VALUES.tobytes())
    path.write_bytes(whole[:place] + junk + whole[place + len(junk):])
    with pytest.raises(BackboneError):
        read_tensors(path)
