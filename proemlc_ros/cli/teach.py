# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc teach`: from a camera, folder, video or bag to the page on which it is taught."""

from __future__ import annotations

import argparse
import importlib.util
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from proemlc_ros.cli.arguments import port, positive
from proemlc_ros.cli.terminal import show
from proemlc_ros.errors import ParameterError

if TYPE_CHECKING:
    from proemlc_ros.demo.processes import Processes

SOURCES = ('camera', 'images', 'video', 'bag')
FEATURES_FILE = 'features.yaml'
CLASSIFIER_FILE = 'classifier.yaml'
MODEL_FOLDER = 'model'
# Longest side of the pictures in pixels.
SIZE = 640
# Where no network is installed: colours by place, which need no download.
COLOUR_FEATURES = """\
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
CLASSIFIER = """\
# Parameters of the classifier of `proemlc teach`, used again the next time; add your own here.
/**:
  ros__parameters:
    resume: true
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        'Starts the feature node, the classifier and the page to teach it from, all over ROS 2, '
        'with the pictures that you have. Without a source, a simulated camera. What is taught '
        'stays in the folder; the same command goes on with it. Ctrl-C ends everything.')
    source = parser.add_mutually_exclusive_group()
    source.add_argument('--camera', metavar='N', help='webcam: its number, or its device file')
    source.add_argument('--images', type=Path, metavar='FOLDER', help='folder of pictures')
    source.add_argument('--video', type=Path, metavar='FILE', help='video file')
    source.add_argument('--bag', type=Path, metavar='BAG', help='bag (rosbag2) with images')
    parser.add_argument('--topic', default='', metavar='TOPIC',
                        help='image topic of a running camera, such as /camera/image_raw, in the '
                             "user's own ROS domain; with --bag: the topic in the bag")
    parser.add_argument('--rate', type=positive, metavar='HZ',
                        help='pictures per second (default: as recorded; 2 for a folder)')
    parser.add_argument('--folder', type=Path, default=Path('proemlc_teach'), metavar='DIR',
                        help='folder for model, settings and logs (default: %(default)s)')
    parser.add_argument('--features', type=Path, metavar='FILE',
                        help='parameter file of the feature node (default: that of the folder, or '
                             'of the default backbone, or colours)')
    parser.add_argument('--hand-made', action='store_true',
                        help='hand-made features, even where a network for deep ones is installed')
    parser.add_argument('--port', type=port, default=8642, metavar='N',
                        help='port of the page (default: %(default)s)')


def run(args: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM, and return the exit code."""
    for library in ('rclpy', 'aiohttp', 'cv2'):
        if importlib.util.find_spec(library) is None:
            raise ModuleNotFoundError(f'{library} is missing', name=library)
    from proemlc_ros.demo.domain import own_domain
    from proemlc_ros.demo.processes import Processes

    kind, path = chosen_source(args)
    check_source(kind, path, args.topic)
    check_port(args.port)
    folder = args.folder.resolve()
    (folder / MODEL_FOLDER).mkdir(parents=True, exist_ok=True)
    show(f'Page:     http://127.0.0.1:{args.port}/   (Ctrl-C ends everything)')
    features = features_file(
        folder, args.features, args.topic if kind == 'topic' else '', args.hand_made)
    show(f'Source:   {kind} {path}'.rstrip())
    show(f'Features: {features}')
    show(f'Model:    {folder / MODEL_FOLDER}   (kept; the same command goes on with it)')
    with ExitStack() as stack:
        if kind != 'topic':
            stack.enter_context(own_domain())
        # The camera of a topic may be on the robot, and this on a laptop.
        processes = stack.enter_context(Processes(folder, local=kind != 'topic'))
        with suppress(KeyboardInterrupt):  # it may come before the page is there
            start(processes, args, kind, path, features)
            wait_for_page(processes, args.port)
            show('Ready:    open the page')
            processes.wait_for_interrupt()
        show('Ending …')
    return 0


def chosen_source(args: argparse.Namespace) -> tuple[str, str]:
    """Return the kind of source and its path."""
    for kind in SOURCES:
        given = getattr(args, kind)
        if given is not None:
            if args.topic and kind != 'bag':
                raise ParameterError(f'--topic goes with --bag or alone, not with --{kind}')
            return kind, str(given if kind == 'camera' else given.resolve())
    return ('topic', args.topic) if args.topic else ('table', '')


def check_source(kind: str, path: str, topic: str) -> None:
    """Check that a source can be opened, before anything is started.

    Raises:
        DataSetError, BagError: it cannot; the text says why.
    """
    if kind == 'bag':
        from proemlc_ros.bags.pictures.picture_sources import image_topic
        from proemlc_ros.bags.reader import BagReader
        with BagReader(Path(path)) as bag:
            image_topic(bag, topic)
    elif kind in SOURCES:
        from proemlc_ros.bags.pictures.picture_sources import open_source
        open_source(kind, path, SIZE)


def check_port(number: int) -> None:
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
    kept = folder / FEATURES_FILE
    if given is not None:
        text = given.read_text(encoding='utf-8')
        if kept.exists() and kept.read_text(encoding='utf-8') != text and _was_taught(folder):
            raise ParameterError(f'{folder} was taught with other features ({kept}); choose '
                                 'another --folder, or leave --features out')
    elif kept.exists():
        return kept
    else:
        text = default_features(hand_made)
        if topic:
            kind = 'CompressedImage' if topic.endswith('/compressed') else 'Image'
            text = text.replace('topic: /camera/image_raw',
                                f'topic: {topic}\n      type: sensor_msgs/msg/{kind}')
    kept.write_text(text, encoding='utf-8')
    (folder / CLASSIFIER_FILE).write_text(CLASSIFIER, encoding='utf-8')
    return kept


def _was_taught(folder: Path) -> bool:
    return any((folder / MODEL_FOLDER).iterdir())


def default_features(hand_made: bool) -> str:
    """Return the parameters of the default backbone, or of colours where none can be had."""
    from proemlc_ros.cli.deep_features import try_deep_features
    from proemlc_ros.features.backbone.store import parameter_text
    found = None if hand_made else try_deep_features(show)
    return COLOUR_FEATURES if found is None else parameter_text(found)


def start(processes: Processes, args: argparse.Namespace, kind: str, path: str,
          features: Path) -> None:
    """Start the nodes."""
    if kind != 'topic':
        processes.start('source_node', *parameters(
            source=kind, path=path, topic=args.topic, rate=args.rate or 0.0, size=SIZE))
    processes.start('feature_node', '--ros-args', '--params-file', features)
    folder = args.folder.resolve()
    processes.start('classifier_node', *parameters(model_directory=folder / MODEL_FOLDER,
                                                   resume=True),
                    '--params-file', folder / CLASSIFIER_FILE)
    processes.start('dashboard_node', *parameters(
        port=args.port, image_topic=path if kind == 'topic' else '/camera/image_raw',
        state_file=folder / 'page.json'))


def wait_for_page(processes: Processes, number: int) -> None:
    """Wait until the page answers at its port.

    Raises:
        DemoError: a process ended before.
    """
    while True:
        processes.check()
        with suppress(OSError), socket.create_connection(('127.0.0.1', number), 1.0):
            return
        time.sleep(0.1)


def parameters(**values: object) -> list[str]:
    """Return ROS arguments that set parameters.

    >>> parameters(rate=2.0, source='table')
    ['--ros-args', '-p', 'rate:=2.0', '-p', 'source:=table']
    """
    words = ['--ros-args']
    for name, value in values.items():
        if value != '':
            text = str(value).lower() if isinstance(value, bool) else str(value)
            # A path of digits, such as camera 0, must stay a text.
            words += ['-p', f"{name}:='{text}'" if name == 'path' else f'{name}:={text}']
    return words
