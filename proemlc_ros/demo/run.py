# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the demonstration: all processes, the display, and the report at the end."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from proemlc_ros.demo.batch_comparison import BatchComparison, judge
from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.display import Display
from proemlc_ros.demo.processes import Processes
from proemlc_ros.demo.report import write_report
from proemlc_ros.demo.run_log import read_session
from proemlc_ros.errors import DemoError

REPORT_FILE = 'report.html'
MODEL_FOLDER = 'model'
MODEL_FILE = 'table_top.npz'
PARAMETER_FILE = Path('config', 'demo.yaml')


@dataclass(frozen=True)
class DemoOptions:
    """What the user asked for."""

    folder: Path
    curriculum: Curriculum
    rate: float
    dashboard: bool = False
    port: int = 8642


def run_session(plan: DemoOptions, display: Display) -> BatchComparison:
    """Run the whole chain to the end of the curriculum, and write the report.

    Raises:
        DemoError: a process failed; the text names its log file.

    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    (plan.folder / MODEL_FOLDER).mkdir(exist_ok=True)
    with Processes(plan.folder) as processes:
        start_nodes(plan, processes)
        for line in processes.lines('demo_operator'):
            if line.startswith('{'):
                display.progress(json.loads(line))
        session = read_session(plan.folder)
        model_file = plan.folder / MODEL_FOLDER / MODEL_FILE
        judgement = judge(plan.curriculum, session, model_file)
        write_report(plan.folder / REPORT_FILE, plan.curriculum, session, judgement)
        if plan.dashboard:
            display.line(f'Dashboard: http://127.0.0.1:{plan.port}/  (Ctrl-C ends it)')
            processes.wait_for_interrupt()
        codes = processes.stop()
    failed = [name for name, code in codes.items() if code != 0]
    if failed:
        raise DemoError(f'{", ".join(failed)} did not end cleanly; see the log files in '
                        f'{plan.folder}')
    return judgement


def start_nodes(plan: DemoOptions, processes: Processes) -> None:
    """Start camera, feature node, classifier node and operator."""
    parameters = ['--ros-args', '--params-file', parameter_file()]
    stream = [
        '--ros-args', '-p', f'seed:={plan.curriculum.seed}', '-p', f'rate:={plan.rate}',
        '-p', f'lesson_pictures:={plan.curriculum.lesson_pictures}',
        '-p', f'exam_pictures:={plan.curriculum.exam_pictures}', '-p', f'start:={time.time_ns()}']
    model_folder = plan.folder / MODEL_FOLDER
    processes.start('demo_camera', *stream, '-p', f'endless:={str(plan.dashboard).lower()}')
    processes.start('feature_node', *parameters)
    processes.start('classifier_node', *parameters, '-p', f'model_directory:={model_folder}')
    processes.start('demo_operator', *stream, '-p', f'output:={plan.folder}', piped=True)
    if plan.dashboard:
        processes.start('dashboard_node', '--ros-args', '-p', f'port:={plan.port}')


def parameter_file() -> Path:
    """Return the path of the nodes' parameters: of the checkout, or as installed."""
    checkout = Path(__file__).parents[2] / PARAMETER_FILE
    if checkout.is_file():
        return checkout
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory('proemlc_ros')) / PARAMETER_FILE
