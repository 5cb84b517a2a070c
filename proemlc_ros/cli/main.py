# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The `proemlc` command: finds the module of a subcommand, runs it, reports its errors."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from proemlc_ros.cli.terminal import show
from proemlc_ros.errors import ProEMLCError

# Name to one line of help. COMMANDS of its module has a function that adds the arguments to a
# parser, and the default `run`, which returns the exit code. The module is imported only when its
# command is given.
COMMANDS = {
    'teach': 'teach a camera, a folder of pictures, a video or a bag, in a web page',
    'demo': 'watch the classifier learn new labels, over real ROS 2',
    'info': 'show the contents of a model, a bag or a journal',
    'evaluate': 'evaluate a model, or settings, on bags: predict, compare, learn',
    'predict': 'name what pictures show, of a folder, a video, a bag or a camera',
    'train': 'train a model on bags and journals',
    'merge': 'merge the models of several robots into one',
    'export': 'write a taught model as ONNX, for programs without this package',
    'sign': 'sign model files with the key of a fleet',
    'backbone': 'install networks for deep features, and show those installed',
    'journal': 'check, repair, back up and compact what a classifier has learnt',
    'bag': 'make, annotate, show and play bags',
    'select': 'select the settings of a model for a data set',
    'paper': "run the experiments of the method's paper and print its tables",
}

# Modules of the commands that share one; the others have the name of their command.
_MODULES = {'demo': 'teach', 'info': 'bag', 'select': 'train', 'merge': 'train', 'sign': 'export'}

# Commands whose matrices are too small for several threads: threads that wait for each other take
# the processor from the process that reads the bag, and from all others.
_ONE_THREAD = {'evaluate', 'train', 'journal'}

# Libraries that not every installation has, and how to get them.
_OPTIONAL = {
    'rclpy': 'a sourced ROS 2, or ./proemlc from the checkout',
    'rosbags': 'pip install rosbags, or apt install python3-rosbags from Ubuntu 26.04 and '
               'Debian 13 on',
    'aiohttp': "pip install 'proemlc_ros[dashboard]'",
    'cv2': "pip install 'proemlc_ros[vision]'",
    'dask': "pip install 'proemlc_ros[dask]'",
    'distributed': "pip install 'proemlc_ros[dask]'",
    'onnxruntime': "pip install 'proemlc_ros[backbone]'",
    'sklearn': "pip install 'proemlc_ros[experiments]'",
}

_INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended
_BROKEN_PIPE = 141  # likewise for one whose reader went away


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code.

    Args:
        argv: The words after the program's name; None: those of the process.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if '_ARGCOMPLETE' in os.environ:
        _complete()
    try:
        args = _make_parser(words).parse_args(words)
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (ProEMLCError, ModuleNotFoundError, OSError, MemoryError) as error:
        text = _explain(error)
        if text is None or '--traceback' in words:
            raise
        show(f'proemlc: {text}', stream=sys.stderr)
        return 1


def _make_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of the one command that `words` name."""
    parser = _Parser(
        prog='proemlc', description='A multi-label classifier that learns new labels as it runs.',
        epilog="'proemlc COMMAND --help' shows the options of one command.")
    parser.add_argument('--version', action='version', version=f'proemlc_ros {_version()}')
    parser.add_argument('--traceback', action='store_true',
                        help='on an error, show where in the program it was raised')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    chosen = next((word for word in words if not word.startswith('-')), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name == chosen:
            if name in _ONE_THREAD:
                os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # NumPy reads it when imported
            module = importlib.import_module(f'proemlc_ros.cli.{_MODULES.get(name, name)}')
            module.COMMANDS[name](command)
    return parser


class _Parser(argparse.ArgumentParser):
    """Names what a mistyped command or option was probably meant to be."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; an unknown option is an error here, where the known ones are at hand."""
        found, rest = super().parse_known_args(args, namespace)
        wrong = next((word for word in rest if word.startswith('--')), None)
        if wrong is not None:
            self.error(f'unrecognized arguments: {" ".join(rest)}'
                       f'{_meant(wrong.partition("=")[0], self._option_string_actions)}')
        return found, rest

    def error(self, message: str) -> NoReturn:
        """End with usage and message."""
        wrong = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        super().error(message + _meant(wrong[1], COMMANDS) if wrong else message)


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f'; did you mean {close[0]}?' if close else ''


def _complete() -> None:
    """Tell the shell how the line goes on; does not return where argcomplete is installed."""
    try:
        import argcomplete
    except ModuleNotFoundError:
        return
    argcomplete.autocomplete(_make_parser(os.environ.get('COMP_LINE', '').split()[1:]))


def _explain(error: Exception) -> str | None:
    """Return an error in one line for the user; None where it is a defect of the program."""
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or '').partition('.')[0]
        if error.name in ('proemlc_ros.msg', 'proemlc_ros.srv'):
            library = 'rclpy'
        return f'this needs {library}: {_OPTIONAL[library]}' if library in _OPTIONAL else None
    if isinstance(error, MemoryError):
        return f'not enough memory: {_one_line(error) or "try smaller settings"}'
    if isinstance(error, OSError) and error.strerror:
        # A temporary file that could not be renamed is named by its target.
        path = error.filename2 or error.filename
        return f'{path}: {error.strerror}' if path else error.strerror
    return _one_line(error)


def _one_line(error: Exception) -> str:
    # Some parsers, of YAML for one, quote the faulty text in lines of its own.
    return ' '.join(str(error).split())


def _version() -> str:
    try:
        return version('proemlc_ros')
    except PackageNotFoundError:  # run from a source folder that is not installed
        return '(not installed)'


if __name__ == '__main__':
    sys.exit(main())
