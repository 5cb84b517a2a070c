# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a process holds over time, and whether it goes on growing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np

# Lives until everything has its size: the journal has reached its limit, the heap its own.
RUN_IN = 2
# Growth from the first quarter behind these to the last that is still called flat.
TOLERANCE = 0.05


class Usage:
    """Samples of one process and its model directory.

    Attributes:
        rows: one per sample.
        dropped_files: of the journal, so far.
    """

    def __init__(self, process_id: int, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, float]] = []
        self.dropped_files = 0
        self._process = Path(f'/proc/{process_id}')

    def sample(self, life: int) -> None:
        """Take one sample in a life of the model."""
        status = dict(line.split(':', 1) for line in
                      (self._process / 'status').read_text().splitlines())
        numbers = [int(path.stem.rpartition('_')[2]) for path in
                   (self.folder / 'journal').glob('journal_*.db3')]
        self.dropped_files = max(self.dropped_files, min(numbers, default=0))
        self.rows.append({
            'life': life,
            'memory_mb': int(status['VmRSS'].split()[0]) / 1024,
            'descriptors': len(os.listdir(self._process / 'fd')),
            'threads': int(status['Threads']),
            'disk_mb': self._disk_bytes() / 2**20})

    def _disk_bytes(self) -> int:
        total = 0
        for path in self.folder.rglob('*'):
            with suppress(FileNotFoundError):  # The node deletes files meanwhile.
                total += path.stat().st_size if path.is_file() else 0
        return total

    def lives(self) -> dict[str, list[list[float]]]:
        """Return median and peak of each life, by what was sampled."""
        return self._summaries([[life] for life in sorted({row['life'] for row in self.rows})])

    def quarters(self) -> dict[str, list[list[float]]]:
        """Return median and peak of each quarter behind the run-in, by what was sampled."""
        lives = sorted({row['life'] for row in self.rows})[RUN_IN:]
        return self._summaries([part.tolist() for part in np.array_split(lives, 4)])

    def growing(self) -> list[str]:
        """Return what was more in the last quarter than in the first, by median or by peak."""
        return [name for name, quarters in self.quarters().items()
                if any(last > first * (1.0 + TOLERANCE)
                       for first, last in zip(quarters[0], quarters[-1], strict=True))]

    def _summaries(self, parts: list[list[float]]) -> dict[str, list[list[float]]]:
        return {name: [[round(how(row[name] for row in self.rows if row['life'] in part), 1)
                        for how in (median, max)] for part in parts]
                for name in self.rows[0] if name != 'life'}
