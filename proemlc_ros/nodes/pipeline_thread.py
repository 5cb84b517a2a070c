# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The second half of a node's work, in a thread of its own.

While it works on one message, the thread that receives prepares the next one; libraries such as
onnxruntime and OpenCV do so at the same time. Nothing queues up in between: what comes too fast
stays in the subscription's own queue, where the newest messages replace the oldest.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable


class PipelineThread:
    """Does pieces of work one after the other, in the order in which they are handed over.

    Args:
        name: of the thread.
        on_error: called with errors of a piece of work, in words; the next one is not affected.
    """

    def __init__(self, name: str, on_error: Callable[[str], object]) -> None:
        self._on_error = on_error
        self._work: Callable[[], object] | None = None
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, work: Callable[[], object]) -> None:
        """Hand work over and wait until it is begun; called from one thread."""
        with self._changed:
            self._work = work
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._work is None or self._stopping)

    def close(self) -> None:
        """Finish what was handed over, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._work is not None or self._stopping)
                work, self._work = self._work, None
                self._changed.notify_all()
            if work is None:
                return
            self._do(work)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # A fault of ours must not end the stream unheard.
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._on_error(f'{error!r} in {place.name}, {place.filename}:{place.lineno}')
