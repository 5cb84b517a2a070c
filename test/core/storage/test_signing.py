# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Signed model files: altered ones are noticed, readers without the key ignore the signature."""

import io
import zipfile

import numpy as np
import pytest
from core_reference import plain, samples

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.container import Signature, read_key, sign, signature_of
from proemlc_ros.errors import ForeignModelError, ParameterError, SignatureError

X, ANNOTATIONS = samples(30)
KEY, OTHER_KEY = b'k' * 32, b'o' * 32


@pytest.fixture
def model():
    learnt = plain(hidden_size=5)
    learnt.learn(X, ANNOTATIONS)
    return learnt


def test_a_signed_file_fits_its_key_and_no_other(model, tmp_path):
    model.save(tmp_path / 'model.npz', key=KEY)
    data = (tmp_path / 'model.npz').read_bytes()
    assert signature_of(data) is Signature.UNKNOWN
    assert signature_of(data, KEY) is Signature.VALID
    assert signature_of(data, OTHER_KEY) is Signature.WRONG
    assert signature_of(model.to_bytes(), KEY) is Signature.MISSING
    for settings in ({}, {'key': KEY}, {'key': KEY, 'require_signature': True}):
        assert ProEMLC.load(tmp_path / 'model.npz', **settings).to_bytes() == model.to_bytes()
    with pytest.raises(SignatureError, match='does not fit the key'):
        ProEMLC.load(tmp_path / 'model.npz', key=OTHER_KEY)


def test_an_unsigned_file_is_loaded_unless_a_signature_is_required(model, tmp_path):
    model.save(tmp_path / 'model.npz')
    ProEMLC.load(tmp_path / 'model.npz', key=KEY)
    for key in (KEY, None):
        with pytest.raises(SignatureError, match='not signed, but a signature is required'):
            ProEMLC.load(tmp_path / 'model.npz', key=key, require_signature=True)


def test_every_part_is_signed(model):
    with zipfile.ZipFile(io.BytesIO(model.to_bytes(key=KEY))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert signature_of(_file(parts), KEY) is Signature.VALID
    for name in parts:
        altered = {**parts, name: parts[name][:-1] + bytes([parts[name][-1] ^ 1])}
        assert signature_of(_file(altered), KEY) is Signature.WRONG
        if name != 'signature.npy':
            fewer = {other: content for other, content in parts.items() if other != name}
            assert signature_of(_file(fewer), KEY) is Signature.WRONG
            swapped = {(f'{other}x' if other == name else other): content
                       for other, content in parts.items()}
            assert signature_of(_file(swapped), KEY) is Signature.WRONG
    assert signature_of(_file({**parts, 'more.npy': parts['beta.npy']}), KEY) is Signature.WRONG


def _file(parts):
    from proemlc_ros.core.storage.container import write_archive
    return write_archive(
        lambda archive: [archive.writestr(name, content) for name, content in parts.items()])


def test_signing_again_replaces_the_signature(model):
    once = sign(model.to_bytes(), KEY)
    assert once == model.to_bytes(key=KEY)
    again = sign(once, OTHER_KEY)
    assert signature_of(again, OTHER_KEY) is Signature.VALID
    assert sign(again, KEY) == once


def test_a_signed_file_is_an_ordinary_npz_and_model_file(model, tmp_path):
    """Versions before signatures read every part as an array, and use those that they know."""
    path = tmp_path / 'model.npz'
    model.save(path, key=KEY)
    with np.load(path) as arrays:
        assert arrays['signature'].dtype == np.uint32 and arrays['signature'].shape == (8,)
    _, arrays = container.unpack(path.read_bytes())
    assert set(arrays) - set(container.unpack(model.to_bytes())[1]) == {'signature'}


def test_only_model_files_are_signed():
    with pytest.raises(ForeignModelError):
        sign(b'text', KEY)


def test_key_files(tmp_path):
    path = tmp_path / 'fleet.key'
    path.write_text('0123456789abcdef' * 4 + '\n')
    assert read_key(path) == b'0123456789abcdef' * 4
    for content, text in ((b'short', 'has 5 characters, at least 32'), (b'x' * 5000, 'not a key')):
        path.write_bytes(content)
        with pytest.raises(ParameterError, match=text):
            read_key(path)
    with pytest.raises(ParameterError, match='cannot be read: No such file'):
        read_key(tmp_path / 'nowhere.key')
