# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The results of single runs, kept line by line so that nothing finished is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

from proemlc_ros.experiments.our_runs import Record


class ResultsFile:
    """A file with one JSON object a line, each holding the records of one run.

    A last line that was cut off, as by a crash, is passed over and overwritten.
    """

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self.path = path
        self._records: dict[str, list[Record]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = 0
        if path.exists():
            for line in path.read_bytes().splitlines(keepends=True):
                if not self._take(line):
                    break
                whole += len(line)
            os.truncate(path, whole)

    def __contains__(self, key: str) -> bool:
        """Return whether a run is there."""
        return key in self._records

    def __getitem__(self, key: str) -> list[Record]:
        """Return the records of a run."""
        return self._records[key]

    def add(self, key: str, records: list[Record]) -> None:
        """Keep the records of a run, durably."""
        self._records[key] = records
        with self.path.open('a', encoding='utf-8') as file:
            file.write(json.dumps({'key': key, 'records': records}) + '\n')
            file.flush()
            os.fsync(file.fileno())

    def _take(self, line: bytes) -> bool:
        try:
            run = json.loads(line)
            self._records[run['key']] = run['records']
        except (ValueError, KeyError, TypeError):
            return False
        return line.endswith(b'\n')
