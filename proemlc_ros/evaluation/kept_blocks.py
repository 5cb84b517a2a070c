# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations of bags that a second pass needs again, kept in memory as far as they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from proemlc_ros.evaluation.annotation_stream import AnnotationBlock

# 200,000 samples of 300 features.
_LIMIT = 256_000_000


class KeptBlocks:
    """The blocks of bags between two passes of one run.

    Args:
        limit: Bytes of features kept; the bags beyond it are read again.

    """

    def __init__(self, limit: int = _LIMIT) -> None:
        """Start with nothing."""
        self.limit = limit
        self._run = ''
        self._blocks: dict[Path, list[AnnotationBlock]] = {}
        self._bytes = 0

    def keep(self, run: str, path: Path,
             blocks: Iterable[AnnotationBlock]) -> Iterator[AnnotationBlock]:
        """Yield the blocks of a bag and keep them, unless they become too large.

        Args:
            run: Name of the run; empty: nothing is kept.
            path: The bag.
            blocks: Its blocks.

        """
        if run != self._run:
            self._run, self._blocks, self._bytes = run, {}, 0
        kept: list[AnnotationBlock] | None = [] if run else None
        size = 0
        for block in blocks:
            if kept is not None:
                kept.append(block)
                size += block.rows.nbytes
                if self._bytes + size > self.limit:
                    kept = None
            yield block
        if kept is not None:
            self._blocks[path] = kept
            self._bytes += size

    def take(self, run: str, path: Path) -> list[AnnotationBlock] | None:
        """Return the blocks of a bag and keep them no longer; None: they have to be read."""
        blocks = self._blocks.pop(path, None) if run and run == self._run else None
        self._bytes -= sum(block.rows.nbytes for block in blocks or ())
        return blocks


KEPT = KeptBlocks()
"""Those of this process."""
