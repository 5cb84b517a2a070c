# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The teleop node: annotations from a terminal, also over ssh."""

from __future__ import annotations

import asyncio
import curses
import getpass
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from proemlc_ros.nodes.operator.operator_node import CLASSIFIER, OperatorNode
from proemlc_ros.nodes.parameters import Declared, help_text, help_wanted
from proemlc_ros.nodes.process import Signals, run_program, spinning
from proemlc_ros.operator.draft import AnnotationDraft
from proemlc_ros.operator.terminal.console import Console
from proemlc_ros.operator.terminal.layout import Layout
from proemlc_ros.operator.terminal.screen import Screen, glyphs_of_terminal, set_locale

# Seconds between two drawings; a key waits no longer than this.
FRAME = 0.05
PARAMETERS = (
    Declared('annotator', '', 'name in the journal; empty: the name of the user'),
    Declared('image_topic', '', 'topic of the camera, for the pictures of questions; empty: the '
             'first one found'),
)
# Pictures per second and their longest side in pixels: enough for characters.
PICTURE_RATE, PICTURE_SIZE = 4.0, 160


class TeleopNode(OperatorNode):
    """The terminal's node. Made inside a running asyncio loop."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__('teleop', PARAMETERS, **node_options)
        annotator = self.settings.annotator or _user_name()
        self.console = Console(
            self.view, AnnotationDraft(self.view.vectors, annotator), self.actions)
        self.watch_camera(PICTURE_RATE, PICTURE_SIZE, self.console.pictures.add)


async def _operate(window: curses.window, signals: Signals) -> None:
    """Draw and take keys until the operator quits or a signal comes."""
    node = TeleopNode()
    try:
        with spinning(node, signals):
            await _draw_and_take_keys(node, Screen(window), signals)
    finally:
        node.destroy_node()


async def _draw_and_take_keys(node: TeleopNode, screen: Screen, signals: Signals) -> None:
    console = node.console
    layout = Layout(console, node.classifier, glyphs_of_terminal())
    layout.colours = screen.has_palette
    worker = asyncio.create_task(console.commands.work())
    stopped = asyncio.create_task(signals.wait_async())
    while console.running and not stopped.done():
        for key in screen.keys():
            console.key(key)
        screen.draw(layout.lines(*screen.size, time.monotonic()))
        await asyncio.sleep(FRAME)
    worker.cancel()
    stopped.cancel()


def _user_name() -> str:
    """Return the name of the user, for the journal."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return 'teleop'


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Keep log lines off the screen that curses draws; ROS writes them to its log files too."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def main(args: list[str] | None = None) -> int:
    """Run the node until the operator quits."""
    if help_wanted(args):
        print(help_text('Teaches a classifier from a terminal, also over ssh.',
                        (CLASSIFIER, *PARAMETERS)))
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print('teleop_node: needs a terminal; start it with ros2 run in one, not from a launch '
              'file', file=sys.stderr)
        return 1
    set_locale()
    try:
        return run_program(_use_terminal, args)
    except curses.error as error:
        print(f'teleop_node: this terminal (TERM={os.environ.get("TERM", "")}) cannot be used: '
              f'{error}', file=sys.stderr)
        return 1


def _use_terminal(signals: Signals) -> bool:
    """Take the terminal over, and give it back whatever happens."""
    with _quiet_stderr():
        curses.wrapper(lambda window: asyncio.run(_operate(window, signals)))
    return True


if __name__ == '__main__':
    sys.exit(main())
