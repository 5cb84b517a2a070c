# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile model files: parts of a valid file altered and sealed again with a right checksum.

    python test/trials/hostile_models.py --rounds 5000

Each file must be rejected by a ModelFileError, or give a model of finite numbers that classifies,
learns, unlearns and saves. Everything else is printed and counted; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.state import dump
from proemlc_ros.errors import ModelFileError, ProEMLCError

FIXTURES = Path(__file__).parents[1] / 'core' / 'storage' / 'data'
WIDTH = 4
# Values that do not belong where they are put.
VALUES = (None, True, False, -1, 0, 1, 2, 7, 10**6, 10**12, 2**53, 2**63, 10**30, 10**400, -10**30,
          0.0, -0.0, 0.5, 1.5, -3.5, 1e-300, 1e17, 1e40, 1e300, float('nan'), float('inf'),
          -float('inf'), '', 'cup', 'float32', 'relu', 'rbf', 'laplacian', 'standard', 'zero',
          '\ud800', '\x1b[2J', 'x' * 5000, [], {}, [[]], ['cup'], ['cup', 'cup'], [1, 2], [None],
          {'labels': []}, [['cup'], [], True], [[['cup'], [], True]])
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e30, -1e30, 1e12, -1e12, 1e-300, 0, 1, -1, 2,
           0.5, 65535, 2**31, 300_000)
TYPES = ('<f8', '<f4', '<i8', '<i4', '<u4', '<u2', '<f2', '>f8', '<c16', '|b1', '|S3')


def seeds() -> dict[str, bytes]:
    """Return valid model files of all kinds."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, WIDTH))
    labels = [tuple(name for name, value in zip(('cup', 'red', 'door'), row) if value > 0)
              for row in X]
    kinds = {
        'untrained': ({'activation': 'relu', 'scaling': 'none'}, 0),
        'waiting': ({'hidden_size': 9}, 0),
        'rbf': ({'activation': 'rbf', 'whiten': True, 'hidden_size': 10, 'scaling': 'l2',
                 'direct_links': True}, 40),
        'float32': ({'hidden_size': 6, 'dtype': 'float32', 'warmup': 5}, 30),
        'forgets': ({'forgetting': 0.95, 'activation': 'sigmoid', 'hidden_size': 6}, 120),
        'pending': ({'activation': 'tanh', 'scaling': 'none', 'hidden_size': 302}, 9),
        'zero': ({'threshold': 'zero', 'activation': 'sine', 'scaling': 'minmax',
                  'recalibration': 'paper', 'hidden_size': 5, 'warmup': 4}, 12),
        'dense_warm': ({'activation': 'rbf', 'hidden_size': 30}, 11),
    }
    files = {path.stem: path.read_bytes() for path in sorted(FIXTURES.glob('*.npz'))}
    for name, (settings, count) in kinds.items():
        model = ProEMLC(**settings, labels=('first',))
        for number in range(count):
            model.learn(X[number % len(X)], labels[number % len(X)], complete=number % 5 > 0)
        files[name] = model.to_bytes({'extractor': 'trial/1'})
    model = ProEMLC(activation='rbf', hidden_size=20)
    model.learn(sparse.csr_matrix(X[:9] * (X[:9] > 0)), labels[:9])
    return {**files, 'sparse_warm': model.to_bytes()}


def sealed(header: object, arrays: dict[str, np.ndarray]) -> bytes:
    """Return a model file with a checksum that fits, whatever is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w') as archive:
        archive.comment = b' ' * 71
        archive.writestr('header.json', json.dumps(header))
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0))
            archive.writestr(f'{name}.npy', content.getvalue())
    content = buffer.getvalue()[:-71]
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def mutant(seed: int, files: dict[str, bytes]) -> tuple[str, bytes]:
    """Return the description and the bytes of a hostile file."""
    random = np.random.default_rng(seed)
    name = sorted(files)[random.integers(len(files))]
    header, arrays = container.unpack(files[name])
    header = copy.deepcopy(header)
    done = [name]
    for _ in range(random.integers(1, 4)):
        if arrays and random.random() < 0.55:
            done.append(alter_array(random, arrays))
        else:
            done.append(alter_header(random, header))
    return ' + '.join(done), sealed(header, arrays)


def alter_header(random: np.random.Generator, header: dict) -> str:
    """Change one value of the header."""
    place, key = header, None
    path = []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return 'nothing'
        key = keys[random.integers(len(keys))]
        path.append(key)
        if not isinstance(place[key], (dict, list)) or random.random() < 0.2:
            break
        place = place[key]
    deed = random.integers(8)
    if deed == 0:
        del place[key]
    elif deed == 1 and isinstance(place, list):
        place.append(copy.deepcopy(place[key]))
    elif deed == 2 and isinstance(place, list):
        place.reverse()
    elif deed == 3 and isinstance(place[key], (int, float)) and abs(place[key]) < 1e300:
        place[key] += [1, -1, 0.5, 1000][random.integers(4)]
    else:
        place[key] = copy.deepcopy(VALUES[random.integers(len(VALUES))])
    return f'header {path} {deed}'


def alter_array(random: np.random.Generator, arrays: dict[str, np.ndarray]) -> str:
    """Change one array."""
    name = sorted(arrays)[random.integers(len(arrays))]
    array = arrays[name].copy()
    deed = random.integers(10)
    with np.errstate(all='ignore'):
        if deed < 3 and array.size:
            flat = array.reshape(-1)
            flat[random.integers(array.size)] = np.array(
                NUMBERS[random.integers(len(NUMBERS))]).astype(array.dtype)
        elif deed == 3 and array.size:
            data = bytearray(array.tobytes())
            data[random.integers(len(data))] ^= 1 << random.integers(8)
            array = np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
        elif deed == 4 and array.dtype.kind != 'S':
            factor = (-1.0, 0.0, 1e-30, 1e10, 1e100)[random.integers(5)]
            array = (array * factor).astype(array.dtype)
        elif deed == 5:
            array = array.astype(TYPES[random.integers(len(TYPES))])
        elif deed == 6:
            flat = array.reshape(-1)
            array = [flat[:-1], array[..., :-1] if array.ndim else flat, array.T, flat,
                     np.concatenate([flat, flat]), array[np.newaxis], flat[:0],
                     np.zeros((0, 10**9), array.dtype)][random.integers(8)]
        elif deed == 7:
            del arrays[name]
            return f'{name} deleted'
        elif deed == 8:
            other = sorted(arrays)[random.integers(len(arrays))]
            arrays[name], arrays[other] = arrays[other], arrays[name]
            return f'{name} <-> {other}'
        else:
            array = random.permutation(array.reshape(-1)).reshape(array.shape)
    arrays[name] = array
    return f'{name} {deed}'


def verdict(data: bytes) -> str:
    """Return 'rejected', 'accepted', or what went wrong."""
    try:
        model = ProEMLC.from_bytes(data)
    except ModelFileError:
        return 'rejected'
    except BaseException as error:
        return f'stray {type(error).__name__}: {error}'
    if not is_finite(model):
        return 'accepted with NaN or infinity'
    try:
        with np.errstate(all='ignore'):
            return use(model) or 'accepted'
    except Exception as error:
        return f'accepted, then {type(error).__name__}: {error}'


def is_finite(model: ProEMLC) -> bool:
    """Tell whether all arrays of a model are finite; unknown scores may be -inf."""
    _, arrays = dump(model._state)
    return all(np.isfinite(array if name != 'thresholds.scores' else array[array > -np.inf]).all()
               for name, array in arrays.items())


def use(model: ProEMLC) -> str:
    """Do with a model what a node does; return what went wrong, or nothing.

    Errors of our own are answers: that a sample is too large for the model, for example.
    """
    ProEMLC.from_bytes(model.to_bytes())
    width = model.width or WIDTH
    if width > 1000:
        return ''  # Allowed as long as nothing is learnt: the features are the caller's.
    X = np.random.default_rng(1).normal(size=(6, width))
    for x in X:
        found = model.classify(x)
        if not np.isfinite(found.scores).all() or not 0.0 <= found.novelty <= 1.0:
            return f'accepted, but predicts {found.scores}, novelty {found.novelty}'
    model.predict(X), model.novelty(X)
    steps = (lambda: model.learn(X[0], [*model.labels[:1], 'added']),
             lambda: model.learn(X, [('added',)] * 6),
             lambda: model.test_then_train(X[:3], [('cup',)] * 3, complete=False),
             lambda: model.unlearn(X[2], ('cup',), complete=False),
             lambda: model.rename_label(model.labels[0], 'renamed'),
             lambda: model.remove_label(model.labels[-1]),
             lambda: model.calibrate(X, [('renamed',)] * 6),
             lambda: [model.learn(x, ['added']) for x in X])
    for step in steps:
        try:
            step()
        except ProEMLCError:
            pass
    model.classify(X[0])
    model.to_bytes()
    return ''


def run(rounds: int, first_seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Try that many files and return the counts of answers, and what went wrong."""
    files = seeds()
    counts: Counter[str] = Counter()
    wrong = []
    for seed in range(first_seed, first_seed + rounds):
        done, data = mutant(seed, files)
        answer = verdict(data)
        if answer not in ('rejected', 'accepted'):
            wrong.append(f'seed {seed} ({done}): {answer}')
            answer = 'wrong'
        counts[answer] += 1
    return counts, wrong


def main() -> int:
    """Run the trial and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=5000, metavar='N')
    parser.add_argument('--seed', type=int, default=0, metavar='N', help='of the first file')
    args = parser.parse_args()
    counts, wrong = run(args.rounds, args.seed)
    print('\n'.join(wrong[:40]))
    print(f'{args.rounds} hostile model files: {counts["rejected"]} rejected, '
          f'{counts["accepted"]} accepted and usable, {counts["wrong"]} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
