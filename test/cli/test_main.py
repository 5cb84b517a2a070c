# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The `proemlc` command itself; its subcommands have tests of their own."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from proemlc_ros.cli import main as cli
from proemlc_ros.errors import ProEMLCError


@pytest.fixture
def run_command(monkeypatch):
    """Return a function that runs `proemlc info` with another body."""
    def run_with(body):
        stand_in = SimpleNamespace(COMMANDS={'info': lambda parser: parser.set_defaults(run=body)})
        monkeypatch.setattr(cli.importlib, 'import_module', lambda name: stand_in)
        return cli.main(['info'])

    return run_with


def raising(error):
    def body(args):
        raise error
    return body


def test_help_lists_every_command_with_a_line_of_help(capsys):
    with pytest.raises(SystemExit, match='0'):
        cli.main(['--help'])
    text = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f'\n    {name} ' in text


def test_help_imports_no_command():
    done = subprocess.run(
        [sys.executable, '-X', 'importtime', '-m', 'proemlc_ros.cli.main', '--help'],
        capture_output=True, text=True)
    assert done.returncode == 0
    assert 'numpy' not in done.stderr and 'rclpy' not in done.stderr


@pytest.mark.parametrize(('command', 'given', 'threads'), [
    ('evaluate', None, '1'), ('evaluate', '4', '4'), ('info', None, None)])
def test_small_matrices_get_one_thread(monkeypatch, command, given, threads):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', given or '')
    if given is None:
        monkeypatch.delenv('OPENBLAS_NUM_THREADS')
    seen = []

    def import_module(name):
        seen.append(os.environ.get('OPENBLAS_NUM_THREADS'))
        return SimpleNamespace(
            COMMANDS={command: lambda parser: parser.set_defaults(run=lambda args: 0)})

    monkeypatch.setattr(cli.importlib, 'import_module', import_module)
    cli.main([command])
    assert seen == [threads]


def test_exit_code_is_the_commands(run_command):
    assert run_command(lambda args: 3) == 3


def test_an_error_of_the_package_is_one_line(run_command, capsys):
    assert run_command(raising(ProEMLCError('no such thing'))) == 1
    assert capsys.readouterr().err == 'proemlc: no such thing\n'


def test_a_missing_file_is_one_line(run_command, capsys):
    assert run_command(lambda args: open('/no/such/file')) == 1
    assert capsys.readouterr().err == 'proemlc: /no/such/file: No such file or directory\n'


@pytest.mark.parametrize('error, line', [
    (ProEMLCError('bad file:\n  in line 1\n    ^'), 'bad file: in line 1 ^'),
    (OSError(28, 'No space left on device'), 'No space left on device'),
    (OSError(21, 'Is a directory', '.x.tmp', None, 'x'), 'x: Is a directory'),
    (MemoryError('Unable to allocate 8 TiB'), 'not enough memory: Unable to allocate 8 TiB'),
    (MemoryError(), 'not enough memory: try smaller settings')])
def test_errors_of_the_system_are_one_line(run_command, capsys, error, line):
    assert run_command(raising(error)) == 1
    assert capsys.readouterr().err == f'proemlc: {line}\n'


def test_a_missing_library_is_named_with_its_installation(run_command, capsys):
    assert run_command(raising(ModuleNotFoundError('x', name='sklearn.svm'))) == 1
    assert "pip install 'proemlc_ros[experiments]'" in capsys.readouterr().err


WITHOUT_ROSBAGS = """
import importlib, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('rosbags', 'lz4'):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from proemlc_ros.cli.main import main
for name in sys.argv[1:]:
    importlib.import_module(f'proemlc_ros.{name}')
sys.exit(main(['info', 'bag']))
"""


def test_the_nodes_do_without_rosbags_and_the_tools_say_how_to_get_it():
    pytest.importorskip('rclpy')
    nodes = [f'nodes.{name}_node' for name in (
        'classifier', 'feature', 'dashboard', 'teleop', 'source')]
    done = subprocess.run(
        [sys.executable, '-c', WITHOUT_ROSBAGS, *nodes, 'cli.teach', 'cli.journal', 'cli.export'],
        capture_output=True, text=True)
    assert done.returncode == 1 and 'Traceback' not in done.stderr, done.stderr
    assert done.stderr.startswith('proemlc: this needs rosbags: pip install rosbags, or apt')


def test_a_defect_of_the_program_is_not_hidden(run_command):
    with pytest.raises(ModuleNotFoundError):
        run_command(raising(ModuleNotFoundError('x', name='proemlc_ros.nonsense')))
    with pytest.raises(ZeroDivisionError):
        run_command(lambda args: 1 / 0)


def test_ctrl_c_ends_quietly(run_command, capsys):
    assert run_command(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == ''


def test_a_reader_that_goes_away_is_no_error():
    program = ('import sys; from proemlc_ros.cli import main as cli\n'
               'from types import SimpleNamespace\n'
               'def run(args):\n    for _ in range(100000): print("line")\n'
               'stand_in = SimpleNamespace(\n'
               '    COMMANDS=dict(info=lambda p: p.set_defaults(run=run)))\n'
               'cli.importlib.import_module = lambda name: stand_in\n'
               'sys.exit(cli.main(["info"]))')
    command = f"'{sys.executable}' -c '{program}' | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(['bash', '-c', command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, '')


@pytest.mark.parametrize('words, meant', [
    (['tech'], '; did you mean teach?'), (['bags', 'info'], '; did you mean bag?'),
    (['teach', '--fodler=x'], '; did you mean --folder?'),
    (['evaluate', 'bag', '--frosen'], '; did you mean --frozen?'), (['xyzzy'], '')])
def test_a_mistyped_word_is_named_with_what_was_meant(capsys, words, meant):
    with pytest.raises(SystemExit, match='2'):
        cli.main(words)
    error = capsys.readouterr().err.strip()
    assert error.endswith(meant) and ('did you mean' in error) == bool(meant)


def test_the_shell_completes_the_options_of_the_command(monkeypatch):
    seen = []
    stand_in = SimpleNamespace(autocomplete=lambda parser: seen.append(parser) or sys.exit(0))
    monkeypatch.setitem(sys.modules, 'argcomplete', stand_in)
    monkeypatch.setenv('_ARGCOMPLETE', '1')
    monkeypatch.setenv('COMP_LINE', 'proemlc teach --no-b')
    with pytest.raises(SystemExit, match='0'):
        cli.main([])
    assert seen[0].parse_args(['teach', '--no-browser']).no_browser


def test_an_unknown_command_is_an_error(capsys):
    with pytest.raises(SystemExit, match='2'):
        cli.main(['fly'])
    assert 'invalid choice' in capsys.readouterr().err
