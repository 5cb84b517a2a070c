# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a journal while its classifier goes on writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from proemlc_ros.errors import JournalError
from proemlc_ros.journal.check import journal_files
from proemlc_ros.journal.entries import RECORD_TOPICS, JournalEntry, Pair, decode
from proemlc_ros.journal.entry_proof import digest_of
from proemlc_ros.journal.sqlite_file import SqliteFile

# Entries that are read under one lock of the file, for which the writer waits.
_AT_ONCE = 200


def read_entries(folder: Path) -> Iterator[JournalEntry]:
    """Yield the annotations and events of a journal that prove themselves, oldest first.

    Raises:
        JournalError: it cannot be read.
    """
    try:
        for path in journal_files(folder):
            if path.stat().st_size:
                with closing(SqliteFile(path, read_only=True)) as file:
                    yield from map(decode, _pairs(file))
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f'cannot read the journal {folder}: {error}') from error


def _pairs(file: SqliteFile) -> Iterator[Pair]:
    after = 0
    while True:
        with closing(file.rows(after, RECORD_TOPICS)) as rows:
            found = list(islice(rows, _AT_ONCE))
        if not found:
            return
        last = found[-1][0]
        with closing(file.records(after)) as records:
            proofs = {}
            for record in records:
                if record.number > last:
                    break
                proofs[record.number] = record
        for row in found:
            proof = proofs.get(row[0])
            if proof is None or digest_of(row) == proof.digest:
                yield row, proof
        after = last
