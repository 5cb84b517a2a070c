# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Power cuts: a disk image is copied while a process learns, and the copy has to go on.

    python test/trials/power_cuts.py --rounds 100

The copy has what reached the disk by then; the rest is lost, as when the power fails.
Everything acknowledged before the cut must be in the model once. Needs permission to mount images.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judge import close, make_annotation, new_learner, open_model, same

from proemlc_ros.records import Learnt

IMAGE_MB = 64


@contextmanager
def mounted(image: Path, folder: Path) -> Iterator[Path]:
    """Mount an image while the block lasts."""
    folder.mkdir(exist_ok=True)
    subprocess.run(['mount', '-o', 'loop', image, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', folder], check=True)


def learn_until_killed(folder: Path, start: int, pipe: int) -> None:
    """Learn without end; write the number of each acknowledged annotation to a pipe."""
    durable, _ = open_model(folder)
    number = start
    while True:
        batch = [make_annotation(number + offset) for offset in range(1 + number % 3)]
        for annotation, answer in zip(batch, durable.learn(batch), strict=True):
            assert isinstance(answer, Learnt), answer
            os.write(pipe, struct.pack('<q', annotation.stamp))
        number += len(batch)
        if number % 5 == 0:
            durable.snapshot()


def cut(image: Path, folder: Path, copy: Path, start: int, patience: float) -> list[int]:
    """Let a process learn on an image, and copy the image meanwhile.

    Returns:
        The numbers acknowledged before the copy began.
    """
    with mounted(image, folder):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                learn_until_killed(folder / 'model', start, writer)
            finally:
                os._exit(1)
        os.close(writer)
        select.select([reader], [], [], 60)
        time.sleep(patience)
        os.kill(child, signal.SIGSTOP)
        os.set_blocking(reader, False)
        said = os.read(reader, 2**20)
        shutil.copyfile(image, copy)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), 'the process ended by itself'
        os.close(reader)
    return [number for number, in struct.iter_unpack('<q', said[:len(said) // 8 * 8])]


def check(folder: Path, acknowledged: list[int]) -> int:
    """Resume on the copy and compare.

    Returns:
        Number of annotations learnt.
    """
    durable, report = open_model(folder)
    learnt = [entry.record.stamp for entry in durable.journal.entries()]
    close(durable)
    assert not report.missing and not report.rejections, report.notes
    assert len(set(learnt)) == len(learnt), 'learnt twice'
    assert set(acknowledged) <= set(learnt), 'acknowledged and lost'
    assert durable.model.learner.samples == len(learnt), 'the model has others'
    never = new_learner()
    for number in learnt:
        annotation = make_annotation(number)
        never.learn(annotation.features, annotation.labels, complete=annotation.complete)
    assert same(durable.model.learner, never), 'another model'
    return len(learnt)


def run(rounds: int, scratch: Path, seed: int = 1) -> str:
    """Cut the power that often; each round goes on with the copy of the one before.

    Returns:
        One line for people.
    """
    dice = random.Random(seed)
    image, copy, folder = scratch / 'disk.img', scratch / 'copy.img', scratch / 'disk'
    with image.open('wb') as stream:
        stream.truncate(IMAGE_MB * 2**20)
    subprocess.run(['mkfs.ext4', '-q', image], check=True)
    acknowledged: list[int] = []
    start, learnt = 1, 0
    for _ in range(rounds):
        acknowledged += cut(image, folder, copy, start, dice.random() * 0.15)
        with mounted(copy, folder):
            learnt = check(folder / 'model', acknowledged)
        # Behind everything that was written without a word.
        start = max(acknowledged) + 10
        copy.replace(image)
    return (f'{rounds} power cuts: {len(acknowledged)} acknowledged, {learnt} learnt, none lost, '
            'none twice')


def main() -> None:
    """Run the trial from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    folder = '/dev/shm' if Path('/dev/shm').is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        print(run(args.rounds, Path(scratch), args.seed))


if __name__ == '__main__':
    main()
