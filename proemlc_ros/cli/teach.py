# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc teach` and `demo`: a source of pictures, the nodes, and a page or a script to teach."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from proemlc_ros.cli.inputs import try_deep_features
from proemlc_ros.cli.options import real, whole
from proemlc_ros.cli.terminal import show
from proemlc_ros.errors import ParameterError

if TYPE_CHECKING:
    from proemlc_ros.demo.processes import Processes

_SOURCES = ('camera', 'images', 'video', 'bag')
_FEATURES_FILE = 'features.yaml'
_CLASSIFIER_FILE = 'classifier.yaml'
_MODEL_FOLDER = 'model'
# Longest side of the pictures in pixels.
_SIZE = 640
_IMAGE_TOPIC = '/camera/image_raw'
_TOPIC = re.compile(r'^ +topic: \S+\n(?: +type: sensor_msgs/msg/\w+\n)?', re.MULTILINE)
# Share of the time that the network may take in the demo; the other nodes need the rest.
_NETWORK_SHARE = 0.5
# Where no network is installed: colours by place, which need no download.
_COLOUR_FEATURES = """\
# Parameters of the feature node of `proemlc teach`, used again the next time: what was taught
# belongs to these features. A pretrained network sees more: `proemlc backbone install`.
/**:
  ros__parameters:
    sensors: [camera]
    camera:
      topic: /camera/image_raw
      extractor: colour_histogram
      colour_bins: 16
"""
_CLASSIFIER = """\
# Parameters of the classifier of `proemlc teach`, used again the next time; add your own here.
/**:
  ros__parameters:
    resume: true
"""


def _add_teach(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.set_defaults(run=_run_teach)
    parser.description = (
        'Starts the feature node, the classifier and the page to teach it from, all over ROS 2, '
        'with the pictures that you have. Without a source, a simulated camera. What is taught '
        'stays in the folder; the same command continues with it. Ctrl-C ends everything.')
    source = parser.add_mutually_exclusive_group()
    source.add_argument('--camera', metavar='N', help='webcam: its number, or its device file')
    source.add_argument('--images', type=Path, metavar='FOLDER', help='folder of pictures')
    source.add_argument('--video', type=Path, metavar='FILE', help='video file')
    source.add_argument('--bag', type=Path, metavar='BAG', help='bag (rosbag2) with images')
    parser.add_argument('--topic', default='', metavar='TOPIC',
                        help='image topic of a running camera, such as /camera/image_raw, in the '
                             "user's own ROS domain; with --bag: the topic in the bag")
    parser.add_argument('--rate', type=real(above=0), metavar='HZ',
                        help='pictures per second (default: as recorded; 2 for a folder)')
    parser.add_argument('--folder', type=Path, metavar='DIR',
                        help='folder for model, settings and logs (default: proemlc_teach, with '
                             'the name of the source: one folder per source)')
    parser.add_argument('--features', type=Path, metavar='FILE',
                        help='parameter file of the feature node (default: that of the folder, or '
                             'of the default backbone, or colours)')
    parser.add_argument('--hand-made', action='store_true',
                        help='hand-made features, even where a network for deep ones is installed')
    parser.add_argument('--port', type=whole(1, 65535), default=8642, metavar='N',
                        help='port of the page (default: %(default)s)')
    parser.add_argument('--no-browser', action='store_true',
                        help='do not open the page in a browser')


def _run_teach(args: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM, and return the exit code."""
    for library in ('rclpy', 'aiohttp', 'cv2'):
        if importlib.util.find_spec(library) is None:
            raise ModuleNotFoundError(f'{library} is missing', name=library)
    from proemlc_ros.demo.processes import Processes, own_domain

    kind, path = _chosen_source(args)
    _check_source(kind, path, args.topic)
    _check_port(args.port)
    folder = (args.folder or _default_folder(kind, path)).resolve()
    (folder / _MODEL_FOLDER).mkdir(parents=True, exist_ok=True)
    page = f'http://127.0.0.1:{args.port}/'
    show(f'Page:     {page}   (Ctrl-C ends everything)')
    features = features_file(
        folder, args.features, args.topic if kind == 'topic' else '', args.hand_made)
    show(f'Source:   {kind} {path}'.rstrip())
    show(f'Features: {features}')
    show(f'Model:    {folder / _MODEL_FOLDER}   (kept; the same command continues with it)')
    with ExitStack() as stack:
        if kind != 'topic':
            stack.enter_context(own_domain())
        # The camera of a topic may be on the robot, and this on a laptop.
        processes = stack.enter_context(Processes(
            folder, local=kind != 'topic',
            restarted=lambda name: show(f'{name} ended unexpectedly; it is started again')))
        show(f'ROS:      {_exports(processes.environment)}   (for ros2 and teleop in another '
             'terminal)')
        with suppress(KeyboardInterrupt):  # it may come before the page is there
            _start(processes, args, kind, path, folder, features)
            _wait_for_page(processes, args.port)
            show('Ready:    open the page')
            if not args.no_browser and sys.stdout.isatty() and _has_display():
                webbrowser.open(page)
            processes.wait_for_interrupt()
        show('Ending …')
    return 0


def _chosen_source(args: argparse.Namespace) -> tuple[str, str]:
    """Return the kind of source and its path."""
    for kind in _SOURCES:
        given = getattr(args, kind)
        if given is not None:
            if args.topic and kind != 'bag':
                raise ParameterError(f'--topic goes with --bag or alone, not with --{kind}')
            return kind, str(given if kind == 'camera' else given.resolve())
    return ('topic', args.topic) if args.topic else ('table', '')


def _default_folder(kind: str, path: str) -> Path:
    """Return the folder of a source: what is taught of one does not get into the model of another.

    >>> str(_default_folder('camera', '0')), str(_default_folder('table', ''))
    ('proemlc_teach_camera_0', 'proemlc_teach')
    """
    name = path if kind in ('camera', 'topic') else Path(path).stem
    words = [kind, *re.findall(r'[A-Za-z0-9]+', name)] if kind != 'table' else []
    return Path('_'.join(['proemlc_teach', *words]))


def _exports(environment: Mapping[str, str]) -> str:
    """Return the line with which another terminal finds these nodes."""
    names = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'RMW_IMPLEMENTATION')
    return 'export ' + ' '.join(
        [f'{name}={environment[name]}' for name in names if environment.get(name)]
        or ['ROS_DOMAIN_ID=0'])


def _has_display() -> bool:
    # Without one, a browser of the terminal would take it over.
    return sys.platform == 'darwin' or any(
        os.environ.get(name) for name in ('DISPLAY', 'WAYLAND_DISPLAY'))


def _check_source(kind: str, path: str, topic: str) -> None:
    """Check that a source can be opened, before anything is started.

    Raises:
        DataSetError, BagError: it cannot; the text says why.
    """
    if kind == 'bag':
        from proemlc_ros.bags.pictures import image_topic
        from proemlc_ros.bags.reader import BagReader
        with BagReader(Path(path)) as bag:
            image_topic(bag, topic)
    elif kind in _SOURCES:
        from proemlc_ros.bags.pictures import open_source
        open_source(kind, path, _SIZE)


def _check_port(number: int) -> None:
    """Check that the page can listen.

    Raises:
        ParameterError: the port is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', number))
        except OSError as error:
            raise ParameterError(f'port {number} is taken ({error.strerror}): does another '
                                 'proemlc run? Choose another with --port') from error


def features_file(folder: Path, given: Path | None, topic: str,
                  hand_made: bool = False) -> Path:
    """Return the parameter file of the features: given, of the last time, or a new one.

    Raises:
        ParameterError: the folder has one already, and another is given.
    """
    kept = folder / _FEATURES_FILE
    if given is not None:
        text = given.read_text(encoding='utf-8')
        if kept.exists() and kept.read_text(encoding='utf-8') != text and _was_taught(folder):
            raise ParameterError(f'{folder} was taught with other features ({kept}); choose '
                                 'another --folder, or leave --features out')
    elif kept.exists():
        text = kept.read_text(encoding='utf-8')
        if hand_made and _with_topic(text, '') != _COLOUR_FEATURES:
            if _was_taught(folder):
                raise ParameterError(f'{folder} was taught with other features ({kept}); choose '
                                     'another --folder, or leave --hand-made out')
            text = _COLOUR_FEATURES
        text = _with_topic(text, topic)
    else:
        text = _with_topic(_default_features(hand_made), topic)
    if kept.exists() and kept.read_text(encoding='utf-8') == text:
        return kept
    kept.write_text(text, encoding='utf-8')
    if not (folder / _CLASSIFIER_FILE).exists():
        (folder / _CLASSIFIER_FILE).write_text(_CLASSIFIER, encoding='utf-8')
    return kept


def _with_topic(text: str, topic: str) -> str:
    """Return a parameter file of one camera with another topic; empty: that of a source node.

    A file of several sensors stays as it is: whoever wrote it has chosen its topics.
    """
    lines = f'      topic: {topic or _IMAGE_TOPIC}\n'
    if topic:
        kind = 'CompressedImage' if topic.endswith('/compressed') else 'Image'
        lines += f'      type: sensor_msgs/msg/{kind}\n'
    if len(_TOPIC.findall(text)) != 1:
        return text
    return _TOPIC.sub(lambda _: lines, text)


def _was_taught(folder: Path) -> bool:
    return any((folder / _MODEL_FOLDER).iterdir())


def _default_features(hand_made: bool) -> str:
    """Return the parameters of the default backbone, or of colours where none can be had."""
    from proemlc_ros.features.backbone.store import parameter_text
    found = None if hand_made else try_deep_features(show)
    return _COLOUR_FEATURES if found is None else parameter_text(found)


def _start(processes: Processes, args: argparse.Namespace, kind: str, path: str,
           folder: Path, features: Path) -> None:
    from proemlc_ros.demo.run import start_nodes
    start_nodes(
        processes, features, folder / _CLASSIFIER_FILE, folder / _MODEL_FOLDER,
        source=None if kind == 'topic' else {
            'source': kind, 'path': path, 'topic': args.topic, 'rate': args.rate or 0.0,
            # A person looks at the first picture of a folder before the next.
            'size': _SIZE, 'playing': kind != 'images'},
        features={},
        page={'port': args.port, 'state_file': folder / 'page.json',
              'image_topic': path if kind == 'topic' else _IMAGE_TOPIC})


def _wait_for_page(processes: Processes, number: int) -> None:
    """Wait until the page answers at its port.

    Raises:
        DemoError: a process ended before.
    """
    while True:
        processes.check()
        with suppress(OSError), socket.create_connection(('127.0.0.1', number), 1.0):
            return
        time.sleep(0.1)


def _add_demo(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.set_defaults(run=_run_demo)
    parser.description = (
        'A simulated camera shows a table on which one object after another appears. A scripted '
        'operator annotates the pictures, and the feature node and the classifier node learn '
        'them, all over ROS 2. The operator errs once and undoes it. Writes a report and a model.')
    parser.add_argument('--output', type=Path, default=Path('proemlc_demo'), metavar='DIR',
                        help='folder for report, model and logs (default: %(default)s)')
    parser.add_argument('--seed', type=whole(0), default=0, metavar='N',
                        help='seed of the pictures (default: %(default)s)')
    parser.add_argument('--rate', type=real(above=0), metavar='HZ', default=20.0,
                        help='pictures per second (default: %(default)g)')
    parser.add_argument('--lesson-pictures', type=whole(1), default=60, metavar='N',
                        help='pictures in each of the eight phases (default: %(default)s)')
    parser.add_argument('--exam-pictures', type=whole(1), default=200, metavar='N',
                        help='pictures in the exam at the end (default: %(default)s)')
    parser.add_argument('--hand-made', action='store_true',
                        help='hand-made features, even where a network for deep ones is installed')
    parser.add_argument('--dashboard', action='store_true',
                        help='also serve the web page, and keep running until Ctrl-C')
    parser.add_argument('--port', type=whole(1, 65535), default=8642, metavar='N',
                        help='port of the web page (default: %(default)s)')


def _run_demo(args: argparse.Namespace) -> int:
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
    rate = args.rate if args.hand_made else _with_deep_features(args.rate, display.line)
    options = DemoOptions(args.output.resolve(), curriculum, rate, args.dashboard, args.port,
                          args.hand_made)
    display.line('A camera, feature_node, classifier_node and an operator, each a process of its '
                 f'own, over ROS 2, in the namespace {options.namespace}.')
    comparison = run_demo(options, display)
    display.line(f'Exam: Hamming loss {comparison.node:.4f} learnt picture by picture, '
                 f'{comparison.batch:.4f} trained in one batch (ratio {comparison.ratio:.2f}); '
                 f'their scores differ by at most {comparison.difference:.0e}.')
    display.line(f'Report: {options.folder / REPORT_FILE}')
    display.line(f'Model:  {options.folder / MODEL_FOLDER / MODEL_FILE}')
    display.line(f'Done in {time.monotonic() - start:.0f} s.')
    return 0


def _with_deep_features(rate: float, say: Callable[[str], None]) -> float:
    """Install the default network unless there is one; return the rate that it can follow.

    Args:
        rate: pictures per second that were asked for.
        say: takes what the user should know.
    """
    backbone = try_deep_features(say)
    return rate if backbone is None else min(rate, _NETWORK_SHARE * 1e3 / backbone.image_ms)


COMMANDS = {'teach': _add_teach, 'demo': _add_demo}
