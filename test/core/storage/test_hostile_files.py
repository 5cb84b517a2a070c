# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model files made to do harm, with a right checksum: bombs, and parts that do not fit."""

import hashlib
import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
from child_process import run_limited
from core_reference import plain, samples
from trials import hostile_models

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container

X, ANNOTATIONS = samples(40)
MEGABYTE = 1 << 20
LOAD = """
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ModelFileError
import sys
try:
    ProEMLC.load(sys.argv[1])
except ModelFileError as error:
    print(f'rejected: {error}')
"""


def trained(**settings):
    """Return header and arrays of a small model."""
    model = plain(**{'hidden_size': 4, **settings})
    model.learn(X[:5], ANNOTATIONS[:5])
    return container.unpack(model.to_bytes())


def overlapping(size, copies):
    """Return a file whose parts all lie over the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        archive.comment = b' ' * 71
        archive.writestr('header.json', '{"format": "proemlc-model", "version": 1}')
        content = io.BytesIO()
        np.lib.format.write_array(content, np.zeros(size, np.uint16), version=(1, 0))
        archive.writestr('a.npy', content.getvalue())
        first = archive.infolist()[-1]
        for _ in range(copies):
            archive.filelist.append(first)
    content = buffer.getvalue()[:-71]
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def many_parts(count):
    """Return a file with a list of very many empty parts."""
    entry = struct.pack('<4s6H3L5H2L', b'PK\x01\x02', 20, 20, 0, 0, 0, 33, 0, 0, 0, 5, 0, 0, 0, 0,
                        0, 0) + b'a.npy'
    start = b'PK\x03\x04"format": "proemlc-model"'
    end = struct.pack('<4s4H2LH', b'PK\x05\x06', 0, 0, 0xffff, 0xffff, len(entry) * count,
                      len(start), 71)
    content = start + entry * count + end
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def with_header(text):
    """Return a file with that header and no arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        archive.comment = b' ' * 71
        archive.writestr('header.json', text)
    content = buffer.getvalue()[:-71]
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def wide_layer():
    """Return a file with a layer of no features and very many neurons."""
    header, arrays = trained()
    header['options']['hidden_size'] = 700_000_000
    arrays['layer.weights'] = np.zeros((0, 700_000_000))
    arrays['layer.shift'] = arrays['layer.factor'] = np.zeros(0)
    return hostile_models.sealed(header, arrays)


def unpaid_neurons():
    """Return a file with a layer whose matrix would take 6 GB, and without the matrix."""
    header, arrays = trained()
    header['options']['hidden_size'] = size = 27_000
    arrays['layer.weights'] = np.ones((7, size))
    arrays['layer.offset'] = np.ones(size)
    return hostile_models.sealed(header, arrays)


BOMBS = {
    'parts over one another': lambda: overlapping(5 * MEGABYTE, 600),
    'very many parts': lambda: many_parts(200_000),
    'empty lists': lambda: with_header('{"format": "proemlc-model", "version": 1, "x": ['
                                       + '[],' * 3_500_000 + '[]]}'),
    'a header of 70 MB': lambda: with_header('{"format": "proemlc-model", "x": "'
                                             + 'x' * 70 * MEGABYTE + '"}'),
    'deep nesting': lambda: with_header('{"x": ' + '[' * 500_000),
    'neurons of no features': wide_layer,
    'neurons without weights': unpaid_neurons,
}


@pytest.mark.parametrize('name', sorted(set(BOMBS) - {'a header of 70 MB', 'empty lists'}))
def test_a_bomb_is_rejected_within_limits(name, tmp_path):
    path = tmp_path / 'bomb.npz'
    path.write_bytes(BOMBS[name]())
    result = run_limited(LOAD, path, megabytes=1500, seconds=20)
    assert result.stdout.startswith('rejected: '), result.stderr[-500:]


def test_limits_are_named():
    with pytest.raises(errors.ModelTooLargeError, match='more than the limit of 67108864'):
        ProEMLC.from_bytes(BOMBS['a header of 70 MB']())
    with pytest.raises(errors.ModelTooLargeError, match='lists and objects.* limit of 1048576'):
        ProEMLC.from_bytes(BOMBS['empty lists']())
    with pytest.raises(errors.CorruptModelError, match='larger than the file itself|two parts'):
        ProEMLC.from_bytes(overlapping(10_000, 5))
    with pytest.raises(errors.CorruptModelError, match='longer than 65536 bytes'):
        ProEMLC.from_bytes(many_parts(2000))


def test_settings_that_ask_for_too_much_memory_are_rejected():
    header, _ = container.unpack(plain().to_bytes())
    header['options']['hidden_size'] = 100_000
    data = hostile_models.sealed(header, {})
    with pytest.raises(errors.ModelTooLargeError, match='100000 neurons'):
        ProEMLC.from_bytes(data)
    header['options']['hidden_size'] = 5_000
    data = hostile_models.sealed(header, {})
    ProEMLC.from_bytes(data)
    with pytest.raises(errors.ModelTooLargeError, match='more than the 1000000 allowed'):
        ProEMLC.from_bytes(data, max_bytes=1_000_000)


def test_a_small_file_is_read_with_little_memory(tmp_path):
    path = tmp_path / 'model.npz'
    plain().save(path)
    result = run_limited(LOAD + '\nprint("loaded")', path, megabytes=1500, seconds=20)
    assert result.stdout == 'loaded\n', result.stderr[-500:]


def test_what_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe.npz')
    for path in (tmp_path / 'pipe.npz', '/dev/zero'):
        with pytest.raises(errors.ForeignModelError, match='not a file'):
            ProEMLC.load(path)


@pytest.mark.parametrize('text', ['NaN', 'Infinity', '1e999', '-1e999', '"\\ud800"'])
def test_values_that_could_not_be_written_again_are_rejected(text):
    header, arrays = trained()
    header['extra'] = {'odd': 'here'}
    data = json.dumps(header).replace('"here"', text)
    members = hostile_models.sealed(json.loads('{}'), arrays)
    with zipfile.ZipFile(io.BytesIO(members)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts['header.json'] = data.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        archive.comment = b' ' * 71
        for name, content in parts.items():
            archive.writestr(name, content)
    content = buffer.getvalue()[:-71]
    with pytest.raises(errors.CorruptModelError):
        ProEMLC.from_bytes(content + b'sha256=' + hashlib.sha256(content).hexdigest().encode())


def _broken(change, **settings):
    header, arrays = trained(**settings)
    change(header, arrays)
    return hostile_models.sealed(header, arrays)


@pytest.mark.parametrize('change', [
    lambda h, a: a['beta'].__setitem__((0, 0), np.nan),
    lambda h, a: a['matrix'].__setitem__(0, -1.0),
    lambda h, a: a['matrix'].__setitem__(1, 1e6),
    lambda h, a: a['decision.numbers'].__setitem__(0, 1.5),
    lambda h, a: a['decision.curves'].__setitem__((0, 0), -1.0),
    lambda h, a: a['reservoir.targets'].__setitem__((0, 0), 2),
    lambda h, a: a['reservoir.numbers'].__setitem__((0, 2), 10 ** 6),
    lambda h, a: a['reservoir.numbers'].__setitem__((0, 4), 10 ** 6),
    lambda h, a: a['ledger.places'].__setitem__(-1, 1 << 18),
    lambda h, a: h['learner']['labels'].__setitem__(0, h['learner']['labels'][1]),
    lambda h, a: h['learner']['labels'].append('more'),
    lambda h, a: h['learner']['counts'].__setitem__(0, 6),
    lambda h, a: h['learner'].update(samples=True),
    lambda h, a: h['learner'].update(scale=0.0),
    lambda h, a: h.update(width=8),
    lambda h, a: h.update(extra=[]),
    lambda h, a: h.update(warmup={'needed': 9, 'kept': 0, 'sparse': False, 'annotations': []}),
    lambda h, a: a.update(pending=np.zeros((5, 17))),
    lambda h, a: h['options'].update(ridge=10**400),
])
def test_parts_that_do_not_fit_are_rejected(change):
    with pytest.raises(errors.CorruptModelError):
        ProEMLC.from_bytes(_broken(change))


@pytest.mark.parametrize('change', [
    lambda a: a['layer.rank_knots'].__setitem__((0, 0), 1e6),
    lambda a: a['layer.gamma'].__setitem__(3, 0.0),
    lambda a: a.update({'layer.gamma': np.ones(1)}),
    lambda a: a.update({'layer.rank_centres': np.zeros((1, 1))}),
    lambda a: a.pop('layer.rank_knots'),
    lambda a: a.update({'layer.knots': a['layer.rank_knots']}),
])
def test_parts_of_a_sum_of_kernels_that_do_not_fit_are_rejected(change):
    with pytest.raises(errors.CorruptModelError):
        ProEMLC.from_bytes(_broken(lambda _, arrays: change(arrays), activation='kernel_sum'))


def test_indices_of_kept_samples_outside_of_them_are_rejected():
    files = hostile_models.seeds()
    header, arrays = container.unpack(files['sparse_warm'])
    arrays['warmup.indices'][0] = 2**30
    with pytest.raises(errors.CorruptModelError):
        ProEMLC.from_bytes(hostile_models.sealed(header, arrays))


def test_150_altered_files_are_rejected_or_usable():
    counts, wrong = hostile_models.run(150)
    assert not wrong
    assert counts['rejected'] > 75 and counts['accepted'] > 5


def test_a_rejected_file_leaves_the_running_model_alone():
    model = plain()
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    files = hostile_models.seeds()
    for seed in range(20):
        _, data = hostile_models.mutant(seed, files)
        try:
            ProEMLC.from_bytes(data)
        except errors.ModelFileError:
            pass
    assert model.to_bytes() == before


def test_a_whole_number_as_ridge_works_with_forgetting():
    model = plain(ridge=1, forgetting=0.9)
    model.learn(X, ANNOTATIONS)
    ProEMLC.from_bytes(model.to_bytes()).learn(X[0], ANNOTATIONS[0])
