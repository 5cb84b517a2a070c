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
from proemlc_ros.demo.run_log import RunLog
from proemlc_ros.errors import DemoError

REPORT_FILE = 'report.html'
MODEL_FOLDER = 'model'
MODEL_FILE = 'table_top.npz'
_PARAMETER_FILE = Path('config', 'demo.yaml')
# Characters of the progress bar.
_BAR = 24
# Seconds between lines where the output is a file, in which no line can be redrawn.
_QUIET_PERIOD = 5.0


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

    @property
    def remappings(self) -> tuple[str, ...]:
        """Into a namespace of its own, so that no robot in the domain is heard or taught."""
        return f'__ns:={self.namespace}', '/diagnostics:=diagnostics'


def run_demo(options: DemoOptions, display: ProgressDisplay) -> BatchComparison:
    """Run the whole chain to the end of the curriculum, and write the report.

    Raises:
        DemoError: a process failed; the text names its log file.
    """
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / MODEL_FOLDER).mkdir(exist_ok=True)
    with Processes(options.folder, remappings=options.remappings) as processes:
        _start_demo(options, processes)
        if options.dashboard:
            # At once: somebody may watch the lessons, and teach, long before the exam.
            display.line(f'Dashboard: http://127.0.0.1:{options.port}/  (Ctrl-C ends it)')
        for line in processes.lines('demo_operator'):
            if line.startswith('{'):
                display.progress(json.loads(line))
        run = RunLog.read(options.folder, options.curriculum)
        comparison = compare_with_batch(run, options.folder / MODEL_FOLDER / MODEL_FILE)
        write_report(options.folder / REPORT_FILE, run, comparison)
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


def _start_demo(options: DemoOptions, processes: Processes) -> None:
    """Start the nodes of `proemlc teach` with the simulated camera, and the scripted operator."""
    curriculum = options.curriculum
    start_nodes(
        processes, _parameter_file(), _parameter_file(), options.folder / MODEL_FOLDER,
        source={'source': 'table', 'seed': curriculum.seed, 'rate': min(options.rate, 100.0)},
        features={'camera.extractor': 'colour_histogram', 'camera.colour_bins': 16}
        if options.hand_made else {},
        page={'port': options.port} if options.dashboard else None)
    processes.start(
        'demo_operator', piped=True, seed=curriculum.seed, output=options.folder,
        model_file=MODEL_FILE, lesson_pictures=curriculum.phase_pictures,
        exam_pictures=curriculum.exam_pictures)


def start_nodes(
    processes: Processes, feature_file: Path, classifier_file: Path, model: Path, *,
    source: Mapping[str, Any] | None, features: Mapping[str, Any],
    page: Mapping[str, Any] | None,
) -> None:
    """Start what a person teaches with: source of pictures, features, classifier and page.

    Args:
        processes: to start them in.
        feature_file: parameter file of the feature node.
        classifier_file: parameter file of the classifier.
        model: model directory.
        source: parameters of the source node; None: the pictures come from elsewhere.
        features: further parameters of the feature node.
        page: parameters of the page; None: no page.
    """
    if source is not None:
        processes.start('source_node', **source)
    processes.start('feature_node', '--ros-args', '--params-file', feature_file, **features)
    processes.start('classifier_node', '--ros-args', '--params-file', classifier_file,
                    model_directory=model)
    if page is not None:
        processes.start('dashboard_node', model_directory=model, **page)


def _parameter_file() -> Path:
    """Return the path of the nodes' parameters: of the checkout, or as installed."""
    checkout = Path(__file__).parents[2] / _PARAMETER_FILE
    if checkout.is_file():
        return checkout
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory('proemlc_ros')) / _PARAMETER_FILE


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
            self.line(_mistake_line(state['mistake'], state['seconds']))
        status = _status_line(state)
        if self._moving:
            self._stream.write(f'\r{status}\x1b[K')
            self._stream.flush()
        elif time.monotonic() - self._last_line > _QUIET_PERIOD:
            self._last_line = time.monotonic()
            self.line(status)

    def _phase_line(self, state: Mapping[str, Any]) -> str:
        at = f'{state["seconds"]:5.1f} s'
        if self._phase == len(self._curriculum.labels):
            return f'{at}  exam: {self._curriculum.exam_pictures} pictures without annotations'
        name = self._curriculum.labels[self._phase]
        return f'{at}  phase {self._phase + 1}: the operator introduces a new label, {name}'


def _mistake_line(mistake: Mapping[str, Any], seconds: float) -> str:
    """Return the line about the operator's mistake."""
    wrong = ', '.join(mistake['labels'])
    return (f'{seconds:5.1f} s  the operator mistyped "{wrong}": {mistake["labels_during"]} '
            f'labels; undone: {mistake["labels_after"]}, scores as before to '
            f'{mistake["difference"]:.0e}')


def _status_line(state: Mapping[str, Any]) -> str:
    """Return the line that is redrawn."""
    share = state['seen'] / state['pictures']
    bar = '#' * round(share * _BAR)
    loss = '-' if state['hamming'] is None else f'{state["hamming"]:.3f}'
    return (f'[{bar:<{_BAR}}] {share:4.0%}  labels known {len(state["labels"])}  '
            f'Hamming loss so far {loss}  {state["rate"]:.0f} messages/s')
