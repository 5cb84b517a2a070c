# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a renewal, started by the node.

    python -m proemlc_ros.classifier.renewal.renewal_process

It gets its task as one line on the standard input and answers with one line. When the input
ends, the node is gone, and so is this process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from proemlc_ros.classifier.renewal.task import RenewalTask, renew
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.journal.journal import Journal


def main() -> int:
    """Do the task and return the exit code."""
    # Ctrl-C in a terminal is for the node, which ends this process itself. A session of its own
    # would do as well, but Linux shares the processors out by sessions (autogroup): this process
    # would get as much as the node and all that was started with it, whatever its priority.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task = RenewalTask.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_the_node, daemon=True).start()
    try:
        # Reading takes short locks of the journal, for which the node may have to wait; so it is
        # done at the node's own priority.
        result = renew(task, lambda: Journal(Path(task.journal), read_only=True).entries(),
                       lambda: _step_back(task.niceness))
    except (ProEMLCError, OSError) as error:
        print(' '.join(str(error).split()), flush=True)
        return 1
    print(result.to_json(), flush=True)
    return 0


def _step_back(niceness: int) -> None:
    """Let everything else on the machine go first."""
    os.nice(niceness)
    # A niceness alone lets others wait for the end of a time slice; this is interrupted at once.
    if hasattr(os, 'SCHED_IDLE'):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_the_node() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
