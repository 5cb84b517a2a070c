# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a renewal: `python -m proemlc_ros.bags.renewal_process`, started by the node.

It gets its task as one line on the standard input and answers with one line. When the input
ends, the node is gone, and so is this process.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from proemlc_ros.bags.journal_reading import read_entries
from proemlc_ros.classifier.renewal.task import RenewalTask, renew
from proemlc_ros.errors import ProEMLCError


def main() -> int:
    """Do the task and return the exit code."""
    task = RenewalTask.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_the_node, daemon=True).start()
    try:
        # Reading takes short locks of the journal, for which the node may have to wait; so it is
        # done at the node's own priority.
        result = renew(task, lambda: read_entries(Path(task.journal)),
                       lambda: _step_back(task.niceness))
    except (ProEMLCError, OSError) as error:
        print(' '.join(str(error).split()), flush=True)
        return 1
    print(result.to_json(), flush=True)
    return 0


def _step_back(niceness: int) -> None:
    """Let everything else on the machine go first."""
    os.nice(niceness)


def _end_with_the_node() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
