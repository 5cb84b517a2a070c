# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc demo`: a camera, the nodes and an operator, all over ROS 2."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

from proemlc_ros.cli.arguments import at_least_one, port, positive, seed

# Share of the time that the network may take; the other nodes need the rest.
NETWORK_SHARE = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        'A simulated camera shows a table on which one object after another appears. A scripted '
        'operator annotates the pictures, and the feature node and the classifier node learn '
        'them, all over ROS 2. The operator errs once and undoes it. Writes a report and a model.')
    parser.add_argument('--output', type=Path, default=Path('proemlc_demo'), metavar='DIR',
                        help='folder for report, model and logs (default: %(default)s)')
    parser.add_argument('--seed', type=seed, default=0, metavar='N',
                        help='seed of the pictures (default: %(default)s)')
    parser.add_argument('--rate', type=positive, metavar='HZ', default=20.0,
                        help='pictures per second (default: %(default)g)')
    parser.add_argument('--lesson-pictures', type=at_least_one, default=60, metavar='N',
                        help='pictures in each of the eight phases (default: %(default)s)')
    parser.add_argument('--exam-pictures', type=at_least_one, default=200, metavar='N',
                        help='pictures in the exam at the end (default: %(default)s)')
    parser.add_argument('--hand-made', action='store_true',
                        help='hand-made features, even where a network for deep ones is installed')
    parser.add_argument('--dashboard', action='store_true',
                        help='also serve the web page, and keep running until Ctrl-C')
    parser.add_argument('--port', type=port, default=8642, metavar='N',
                        help='port of the web page (default: %(default)s)')


def run(args: argparse.Namespace) -> int:
    """Run the demo and return the exit code."""
    if importlib.util.find_spec('rclpy') is None:
        raise ModuleNotFoundError('rclpy is missing', name='rclpy')
    from proemlc_ros.demo.curriculum import Curriculum
    from proemlc_ros.demo.run import (
        MODEL_FILE,
        MODEL_FOLDER,
        REPORT_FILE,
        DemoOptions,
        ProgressDisplay,
        run_demo,
    )

    start = time.monotonic()
    curriculum = Curriculum(
        args.seed, phase_pictures=args.lesson_pictures, exam_pictures=args.exam_pictures)
    display = ProgressDisplay(curriculum)
    rate = args.rate if args.hand_made else with_deep_features(args.rate, display.line)
    options = DemoOptions(args.output.resolve(), curriculum, rate, args.dashboard, args.port,
                          args.hand_made)
    display.line('A camera, feature_node, classifier_node and an operator, each a process of its '
                 f'own, over ROS 2, in the namespace {options.namespace}.')
    comparison = run_demo(options, display)
    display.line(f'Exam: Hamming loss {comparison.node:.4f} learnt picture by picture, '
                 f'{comparison.batch:.4f} trained in one batch (ratio {comparison.ratio:.2f}).')
    display.line(f'Report: {options.folder / REPORT_FILE}')
    display.line(f'Model:  {options.folder / MODEL_FOLDER / MODEL_FILE}')
    display.line(f'Done in {time.monotonic() - start:.0f} s.')
    return 0


def with_deep_features(rate: float, say: Callable[[str], None]) -> float:
    """Install the default network unless there is one; return the rate that it can follow.

    Args:
        rate: pictures per second that were asked for.
        say: takes what the user should know.
    """
    from proemlc_ros.cli.deep_features import try_deep_features
    backbone = try_deep_features(say)
    return rate if backbone is None else min(rate, NETWORK_SHARE * 1e3 / backbone.image_ms)
