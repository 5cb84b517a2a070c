# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain of one's own, so that a try-out does not meet the robots of others."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proemlc_ros.errors import DemoError

# Above 101 the UDP ports of a domain reach into the range that Linux hands out to anyone; people
# choose low numbers.
DOMAINS = range(41, 102)
VARIABLE = 'ROS_DOMAIN_ID'


@contextmanager
def own_domain() -> Iterator[int]:
    """Use a domain that no other run on this machine uses, unless the user has chosen one.

    Raises:
        DemoError: all are in use.
    """
    if os.environ.get(VARIABLE, '').isdigit():
        yield int(os.environ[VARIABLE])
        return
    folder = Path(tempfile.gettempdir(), 'proemlc_ros_domains')
    folder.mkdir(exist_ok=True)
    for domain in DOMAINS:
        with _lock_file(folder / str(domain)) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            os.environ[VARIABLE] = str(domain)
            try:
                yield domain
            finally:
                del os.environ[VARIABLE]
            return
    raise DemoError(f'all ROS domains of {folder} are in use; set {VARIABLE} to one of your own')


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    # Other users of the machine lock the same files.
    before = os.umask(0)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    finally:
        os.umask(before)
    try:
        yield lock
    finally:
        os.close(lock)
