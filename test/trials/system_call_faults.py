# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A fault at each system call in turn that changes files: every outcome is old or new.

    python test/trials/system_call_faults.py [--every 1]

Each of an annotation, a correction of several samples, a snapshot, a save and the beginning of a
new journal file meets: an I/O error at its nth call, a disk that is full from then on, and the end
of the process there; for every n. Then the model directory is opened again. What was acknowledged
must be there, what was not is there as a whole or not at all, once, and the model is that of the
samples in force. After an error the same process must go on as soon as the disk answers.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import corrections
import numpy as np
from kill_harness import open_durable

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.records import Annotation, Correction, Learnt, Picture

WIDTH, TAUGHT = 6, 12
INPUTS = np.random.default_rng(5).normal(size=(8, WIDTH))
LIBRARY = 'PROEMLC_FAULTS'
# Name, errno (0: the process ends), whether it stays so.
MODES = (('error', errno.EIO, False), ('full', errno.ENOSPC, True), ('end', 0, False))
ENDED, FAILED = 77, 3


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=10, seed=2, activation='relu', scaling='none')


def annotation(number: int) -> Annotation:
    return Annotation(number, (f'label {number % 3}',), features=np.random.default_rng(
        number).normal(size=WIDTH).astype(np.float32))


def annotate(durable: DurableModel, number: int = TAUGHT) -> None:
    answer, = durable.learn([annotation(number)])
    if not isinstance(answer, Learnt):
        raise answer


def correct(durable: DurableModel) -> None:
    corrections.correct(
        durable, [Correction(number, ('new',)) for number in [*durable.table.samples][:4]])


OPERATIONS: dict[str, Callable[[DurableModel], Any]] = {
    'annotate': annotate, 'correct': correct, 'snapshot': DurableModel.snapshot,
    'save': lambda durable: durable.save('kitchen'), 'new file': annotate}


def opened(folder: Path, operation: str = '') -> DurableModel:
    durable = open_durable(folder, new_learner,
                           max_file_bytes=1 if operation == 'new file' else 200_000)
    durable.pictures.active = True
    durable.pictures.find = lambda said: Picture(said.stamp, 'jpeg', b'picture' * 300)
    return durable


def template(folder: Path) -> None:
    """Make a model directory with samples, two snapshots and a saved model."""
    durable = opened(folder)
    for number in range(TAUGHT):
        annotate(durable, number)
        if number % 4 == 1:
            durable.snapshot()
    durable.save('kitchen')
    annotate(durable, 100)
    close(durable)


def close(durable: DurableModel) -> None:
    """Let go without any farewell, as the end of a process does."""
    durable.directory.close()


def state_of(folder: Path) -> dict[str, object]:
    """Return what a start finds; check that the model is that of its samples."""
    durable = opened(folder)
    try:
        samples = durable.table.samples
        expected = new_learner()
        for number, values in durable.features(samples):
            expected.learn(values, samples[number].labels)
        learner = durable.model.learner
        assert learner.samples == expected.samples == len(samples)
        order = [learner.labels.index(name) for name in expected.labels]
        error = np.abs(learner.scores(INPUTS)[:, order] - expected.scores(INPUTS)).max()
        assert error < 1e-9, f'scores differ by {error}'
        assert not list(folder.glob('.*.tmp')), 'a temporary file is left'
        return {'samples': [(sample.stamp, sample.labels) for sample in samples.values()],
                'saved': ProEMLC.load(folder / 'kitchen.npz').samples,
                'missing': durable.journal.missing(), 'snapshot': durable.snapshots.position}
    finally:
        close(durable)


class Faults:
    """The library that lets calls fail; see system_call_faults.c."""

    def __init__(self) -> None:
        library = ctypes.CDLL(os.environ[LIBRARY])
        self.arm, self.disarm = library.faults_arm, library.faults_disarm
        self.arm.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self.disarm.restype = ctypes.c_long

    def run(self, action: Callable[[], Any], nth: int, number: int, stays: bool
            ) -> tuple[bool, int]:
        """Let the nth call fail; return whether the action succeeded, and the number of calls."""
        self.arm(nth, number, stays)
        try:
            action()
        except (ProEMLCError, OSError):
            return False, self.disarm()
        return True, self.disarm()


class Trial:
    """All faults of one operation in one mode."""

    def __init__(self, scratch: Path, source: Path, faults: Faults) -> None:
        self._scratch, self._source, self._faults = scratch, source, faults
        self.counts: Counter[str] = Counter()

    def run(self, operation: str, mode: tuple[str, int, bool], every: int) -> int:
        """Return the number of calls that the operation makes."""
        old, new, calls = state_of(self._copy('old')), self._done(operation), 0
        nth = 1
        while True:
            folder = self._copy('model')
            succeeded, calls = self._meet(folder, operation, mode, nth)
            if calls < nth and succeeded:
                return calls
            after = state_of(folder)
            assert after in (old, new), f'{operation}, {mode[0]} at call {nth}: {after}'
            assert after == new or not succeeded, f'{operation}: call {nth} lost it'
            self.counts['acknowledged' if succeeded else 'new' if after == new else 'old'] += 1
            nth += every

    def _done(self, operation: str) -> dict[str, object]:
        folder = self._copy('new')
        durable = opened(folder, operation)
        OPERATIONS[operation](durable)
        close(durable)
        return state_of(folder)

    def _meet(self, folder: Path, operation: str, mode: tuple[str, int, bool],
              nth: int) -> tuple[bool, int]:
        _, number, stays = mode
        if number:
            return self._fail(folder, operation, number, stays, nth)
        child = os.fork()
        if not child:
            code = FAILED
            try:
                durable = opened(folder, operation)
                succeeded, calls = self._faults.run(
                    lambda: OPERATIONS[operation](durable), nth, 0, False)
                code = 0 if succeeded and calls < nth else FAILED
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, ENDED), f'exit code {code}'
        return code == 0, nth if code else nth - 1

    def _fail(self, folder: Path, operation: str, number: int, stays: bool,
              nth: int) -> tuple[bool, int]:
        durable = opened(folder, operation)
        result = self._faults.run(lambda: OPERATIONS[operation](durable), nth, number, stays)
        twin = self._copy('twin', folder)
        # The disk answers again: the same process goes on, and nothing is there twice.
        annotate(durable, 200)
        close(durable)
        stamps = [stamp for stamp, _ in state_of(folder)['samples']]
        assert stamps.count(200) == 1 and len(stamps) == len({*stamps}), stamps
        shutil.rmtree(folder)
        twin.rename(folder)
        return result

    def _copy(self, name: str, source: Path | None = None) -> Path:
        folder = self._scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source or self._source, folder)
        return folder


def build(folder: Path) -> Path:
    """Compile the library."""
    library = folder / 'system_call_faults.so'
    subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-O1', '-o', library,
                    Path(__file__).with_suffix('.c'), '-ldl'], check=True)
    return library


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--every', type=int, default=1, help='only each of so many calls')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if LIBRARY not in os.environ:
            library = str(build(Path(scratch)))
            return subprocess.run([sys.executable, *sys.argv], env={
                **os.environ, LIBRARY: library, 'LD_PRELOAD': library}).returncode
        source = Path(scratch, 'source')
        template(source)
        total = 0
        for operation in OPERATIONS:
            for mode in MODES:
                trial = Trial(Path(scratch), source, Faults())
                calls = trial.run(operation, mode, arguments.every)
                total += sum(trial.counts.values())
                found = ', '.join(f'{count} {what}' for what, count in sorted(
                    trial.counts.items()))
                print(f'{operation}, {mode[0]}: {calls} calls; {found}', flush=True)
        print(f'{total} faults; every outcome old or new', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
