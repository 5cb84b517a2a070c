# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The README and the tutorial on data do what they say, line by line."""

import re
import shutil
import subprocess
import sys

import pytest
from pages import ROOT, blocks, commands

README = ROOT / 'README.md'
# Lines that are tried elsewhere, and where.
TRIED_ELSEWHERE = {
    './proemlc test': 'runs this very test',
    './proemlc teach': 'test/nodes/test_teach_command.py',
    'cd ~/ros2_ws/src': 'test/packaging/test_colcon.py',
    'rosdep install': 'test/packaging/test_manifest.py',
    'colcon build': 'test/packaging/test_colcon.py',
    'ros2 launch': 'test/nodes/test_launch_teach.py',
    'ros2 service call': 'test_service_calls_fit_the_interfaces, test/nodes',
}


def own_commands(page):
    """Return the lines that only need this package, for a shell in any folder."""
    return [line.replace('./proemlc', 'proemlc').replace('proemlc', str(ROOT / 'proemlc'), 1)
            for line in commands(page) if line.startswith(('./proemlc', 'proemlc'))
            and line not in TRIED_ELSEWHERE]


def run_all(lines, folder):
    for line in lines:
        done = subprocess.run(['bash', '-c', line], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f'{line}\n{done.stdout}\n{done.stderr}'


def fill(message, values):
    """Set the fields of a message; it rejects unknown names and wrong types itself."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, value)


def test_every_line_is_tried_here_or_elsewhere():
    mine = own_commands(README)
    others = [line for line in commands(README) if line.startswith(tuple(TRIED_ELSEWHERE))]
    assert len(mine) + len(others) == len(commands(README))


def test_the_example_in_python_does_what_its_comments_say():
    example, = blocks(README, 'python')
    *lines, (last, answer) = [(line + '#').split('#')[:2] for line in example.splitlines()]
    names = {}
    exec('\n'.join(line for line, _ in lines), names)
    assert repr(eval(last, names)) == answer.strip()


def test_service_calls_fit_the_interfaces():
    pytest.importorskip('proemlc_ros.srv')
    from importlib import import_module

    import yaml
    for page in [README, *(ROOT / 'docs/tutorials').glob('*.md')]:
        for line in commands(page):
            if call := re.match(r'ros2 service call (\S+) (\w+)/srv/(\w+)(?: "(.*)")?$', line):
                request = getattr(import_module(f'{call[2]}.srv'), call[3]).Request()
                fill(request, yaml.safe_load(call[4] or '{}'))
                service = call[1].rpartition('/')[2]
                assert f'`~/{service}`' in (ROOT / 'docs/node.md').read_text(encoding='utf-8')


@pytest.mark.slow
def test_the_readme_from_top_to_bottom(tmp_path, ros_domain_id, monkeypatch):
    # A network that is installed is used: one look at each picture takes a third of the time.
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    subprocess.run([ROOT / 'proemlc', 'backbone', 'install', '--looks', '1'], check=False)
    run_all(own_commands(README), tmp_path)
    assert (tmp_path / 'proemlc_demo/report.html').exists()
    assert (tmp_path / 'report.html').exists()


@pytest.mark.slow
def test_the_tutorial_on_data_from_top_to_bottom(tmp_path):
    page = ROOT / 'docs/tutorials/own_data.md'
    script, = blocks(page, 'python')
    subprocess.run([sys.executable, '-c', script], cwd=tmp_path, check=True)
    run_all(own_commands(page), tmp_path)
    for name in ('curve.svg', 'settings.json', 'report.html', 'mine.npz', 'paper/results.md'):
        assert (tmp_path / name).exists(), name


def test_the_launcher_is_where_the_readme_has_it():
    assert shutil.which(str(ROOT / 'proemlc'))
