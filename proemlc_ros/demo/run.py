# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the demo: starts the processes, shows the progress, and writes the report."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.processes import Processes
from proemlc_ros.demo.report import BatchComparison, compare_with_batch, write_report
from proemlc_ros.demo.run_log import read_run
from proemlc_ros.errors import DemoError

REPORT_FILE = 'report.html'
MODEL_FOLDER = 'model'
MODEL_FILE = 'table_top.npz'
PARAMETER_FILE = Path('config', 'demo.yaml')
# Characters of the progress bar.
BAR = 24
# Seconds between lines where the output is a file, in which no line can be redrawn.
QUIET_PERIOD = 5.0


@dataclass(frozen=True)
class DemoOptions:
    """What the user asked for.

    Args:
        folder: for everything that the demo writes.
        curriculum: what the camera shows.
        rate: pictures per second.
        dashboard: whether to serve the page and run until Ctrl-C.
        port: of the page.
        hand_made: whether to take hand-made features where there are deep ones.
        namespace: of all its nodes.
    """

    folder: Path
    curriculum: Curriculum
    rate: float
    dashboard: bool = False
    port: int = 8642
    hand_made: bool = False
    namespace: str = field(default_factory=lambda: f'/proemlc_demo_{secrets.token_hex(3)}')


def run_demo(options: DemoOptions, display: ProgressDisplay) -> BatchComparison:
    """Run the whole chain to the end of the curriculum, and write the report.

    Raises:
        DemoError: a process failed; the text names its log file.
    """
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / MODEL_FOLDER).mkdir(exist_ok=True)
    with Processes(options.folder) as processes:
        start_nodes(options, processes)
        if options.dashboard:
            # At once: somebody may watch the lessons, and teach, long before the exam.
            display.line(f'Dashboard: http://127.0.0.1:{options.port}/  (Ctrl-C ends it)')
        for line in processes.lines('demo_operator'):
            if line.startswith('{'):
                display.progress(json.loads(line))
        run = read_run(options.folder)
        model_file = options.folder / MODEL_FOLDER / MODEL_FILE
        comparison = compare_with_batch(options.curriculum, run, model_file)
        write_report(options.folder / REPORT_FILE, options.curriculum, run, comparison)
        if options.dashboard:
            display.line(f'The exam is over; go on at http://127.0.0.1:{options.port}/ until '
                         'Ctrl-C.')
            with suppress(KeyboardInterrupt):
                processes.wait_for_interrupt()
        codes = processes.stop()
    failed = [name for name, code in codes.items() if code != 0]
    if failed:
        raise DemoError(f'{", ".join(failed)} did not end cleanly; see the log files in '
                        f'{options.folder}')
    return comparison


def start_nodes(options: DemoOptions, processes: Processes) -> None:
    """Start camera, feature node, classifier node and operator."""
    # A namespace of its own, another one each time: a robot or a second demonstration in the same
    # domain is neither heard nor taught.
    own = ['--ros-args', '-r', f'__ns:={options.namespace}', '-r', '/diagnostics:=diagnostics']
    parameters = [*own, '--params-file', parameter_file()]
    stream = [
        *own, '-p', f'seed:={options.curriculum.seed}', '-p', f'rate:={options.rate}',
        '-p', f'lesson_pictures:={options.curriculum.phase_pictures}',
        '-p', f'exam_pictures:={options.curriculum.exam_pictures}',
        '-p', f'start:={time.time_ns()}']
    model_folder = options.folder / MODEL_FOLDER
    processes.start('demo_camera', *stream, '-p', f'endless:={str(options.dashboard).lower()}')
    hand_made = ['-p', 'camera.extractor:=colour_histogram', '-p', 'camera.colour_bins:=16'] if (
        options.hand_made) else []
    processes.start('feature_node', *parameters, *hand_made)
    processes.start('classifier_node', *parameters, '-p', f'model_directory:={model_folder}')
    processes.start('demo_operator', *stream, '-p', f'output:={options.folder}', piped=True)
    if options.dashboard:
        processes.start('dashboard_node', *own, '-p', f'port:={options.port}')


def parameter_file() -> Path:
    """Return the path of the nodes' parameters: of the checkout, or as installed."""
    checkout = Path(__file__).parents[2] / PARAMETER_FILE
    if checkout.is_file():
        return checkout
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory('proemlc_ros')) / PARAMETER_FILE


class ProgressDisplay:
    """Shows labels known, Hamming loss so far and messages per second while the demo runs."""

    def __init__(self, curriculum: Curriculum, stream: TextIO | None = None) -> None:
        """Begin with nothing shown."""
        self._curriculum = curriculum
        self._stream = stream or sys.stdout
        self._moving = self._stream.isatty()
        self._phase = -1
        self._mistake_shown = False
        self._last_line = 0.0

    def line(self, text: str) -> None:
        """Print a line that stays."""
        start = '\r\x1b[K' if self._moving else ''
        self._stream.write(f'{start}{text}\n')
        self._stream.flush()

    def progress(self, state: Mapping[str, Any]) -> None:
        """Show the state of the run (see RunLog.progress)."""
        if state['seen'] and state['phase'] != self._phase:
            self._phase = state['phase']
            self.line(self._phase_line(state))
        if state['mistake'] and not self._mistake_shown:
            self._mistake_shown = True
            self.line(mistake_line(state['mistake'], state['seconds']))
        status = status_line(state)
        if self._moving:
            self._stream.write(f'\r{status}\x1b[K')
            self._stream.flush()
        elif time.monotonic() - self._last_line > QUIET_PERIOD:
            self._last_line = time.monotonic()
            self.line(status)

    def _phase_line(self, state: Mapping[str, Any]) -> str:
        at = f'{state["seconds"]:5.1f} s'
        if self._phase == len(self._curriculum.labels):
            return f'{at}  exam: {self._curriculum.exam_pictures} pictures without annotations'
        name = self._curriculum.labels[self._phase]
        return f'{at}  phase {self._phase + 1}: the operator introduces a new label, {name}'


def mistake_line(mistake: Mapping[str, Any], seconds: float) -> str:
    """Return the line about the operator's mistake."""
    wrong = ', '.join(mistake['labels'])
    return (f'{seconds:5.1f} s  the operator mistyped "{wrong}": {mistake["labels_during"]} '
            f'labels; undone: {mistake["labels_after"]}, scores as before to '
            f'{mistake["difference"]:.0e}')


def status_line(state: Mapping[str, Any]) -> str:
    """Return the line that is redrawn."""
    share = state['seen'] / state['pictures']
    bar = '#' * round(share * BAR)
    loss = '-' if state['hamming'] is None else f'{state["hamming"]:.3f}'
    return (f'[{bar:<{BAR}}] {share:4.0%}  labels known {len(state["labels"])}  '
            f'Hamming loss so far {loss}  {state["rate"]:.0f} messages/s')
