# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The same gates everywhere: ./proemlc test, .ci/run, pre-commit and the hosted workflow."""

import os
import re
import subprocess

import pytest
import yaml
from checkout import ROOT

COMMON = (ROOT / 'environment/common.sh').read_text(encoding='utf-8')
WHEELS = (ROOT / 'environment/wheels.sh').read_text(encoding='utf-8')
LINTERS = re.search(r'^LINTERS=\((.*)\)$', COMMON, re.MULTILINE)[1].split()
# Programs of the ROS containers, which this machine need not have.
CONTAINER_TOOLS = {'pip', 'apt-get', 'rosdep', 'colcon', 'source'}


def workflow():
    return yaml.safe_load((ROOT / '.github/workflows/ci.yml').read_text(encoding='utf-8'))


def commands():
    """Return (job, words) of each command line of the workflow."""
    return [(name, line.split()) for name, job in workflow()['jobs'].items()
            for step in job['steps'] for line in step.get('run', '').splitlines()]


def test_every_linter_has_a_command():
    body = COMMON.partition('run_linters() {')[2].partition('\n}')[0]
    assert [*re.findall(r'^      (\w+)\) ', body, re.MULTILINE)] == LINTERS


def run_gates(folder, arguments='', monitoring=True, **codes):
    """Run the test command with tools that only return their exit codes; return the last run.

    Args:
        folder: gets the tools.
        arguments: of the test command.
        monitoring: whether Python can count lines at little cost.
        codes: exit codes by tool.
    """
    for tool in ('ruff', 'mypy', 'shellcheck', 'check-jsonschema', 'python3', 'coverage'):
        program = folder / tool
        program.write_text(
            f'#!/bin/sh\ncase "$*" in *monitoring*) exit {int(not monitoring)} ;; esac\n'
            f'echo {tool} ran "$*"\nexit {codes.get(tool, 0)}\n', encoding='utf-8')
        program.chmod(0o755)
    script = (f'set -euo pipefail; root={ROOT}; source environment/common.sh; '
              f'run_tests {arguments}')
    return subprocess.run(['bash', '-c', script], cwd=ROOT, capture_output=True, text=True,
                          env={'PATH': f'{folder}:/usr/bin:/bin'}, timeout=300, check=False)


def test_the_test_command_runs_all_linters_beside_the_tests(tmp_path):
    done = run_gates(tmp_path)
    assert done.returncode == 0, done
    for tool in ('ruff', 'mypy', 'shellcheck', 'check-jsonschema'):
        assert f'{tool} ran' in done.stderr


@pytest.mark.parametrize('monitoring, arguments, counted', [
    (True, '', True), (False, '', False), (False, '--cov', True)])
def test_lines_are_counted_where_it_costs_little_or_is_asked_for(
        tmp_path, monitoring, arguments, counted):
    done = run_gates(tmp_path, arguments, monitoring)
    assert done.returncode == 0, done
    assert ('coverage ran' in done.stdout) == counted
    assert ('--cov-report=term' in done.stdout) == counted


@pytest.mark.parametrize('tool', ['ruff', 'mypy', 'shellcheck', 'coverage'])
def test_a_gate_that_fails_fails_the_test_command(tool, tmp_path):
    assert run_gates(tmp_path, **{tool: 3}).returncode == 3


def test_continuous_integration_runs_the_test_command_once():
    last = (ROOT / '.ci/run').read_text(encoding='utf-8').splitlines()[-1]
    assert last.startswith('exec ./proemlc test ')
    assert 'reruns' not in last


def test_pre_commit_has_a_hook_for_each_linter():
    config = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text(encoding='utf-8'))
    repository, = config['repos']
    assert repository['repo'] == 'local'  # no tool of another version
    assert [hook['id'] for hook in repository['hooks']] == LINTERS
    for hook in repository['hooks']:
        assert hook['entry'] == f'./proemlc lint {hook["id"]}'
        assert hook['language'] == 'system' and hook['pass_filenames'] is False


def test_pre_commit_accepts_its_configuration():
    pytest.importorskip('pre_commit', reason='pre-commit is not installed')
    subprocess.run(['pre-commit', 'validate-config', ROOT / '.pre-commit-config.yaml'], check=True)


def test_every_command_of_the_workflow_exists():
    usage = (ROOT / 'proemlc').read_text(encoding='utf-8')
    for job, (program, *arguments) in commands():
        if job == 'supply-chain':  # its tools come from pip, for this job alone
            continue
        if program in CONTAINER_TOOLS:
            assert job == 'ros', program
            continue
        path = ROOT / program.removeprefix('src/proemlc_ros/')
        assert os.access(path, os.X_OK), program
        if path.name == 'proemlc':
            assert f'\n  {arguments[0]} ' in usage, arguments


def test_the_workflow_covers_all_that_is_supported():
    jobs = workflow()['jobs']
    distributions = set(re.findall(r'^  (\w+)\) venv=', WHEELS, re.MULTILINE))
    assert set(jobs['ros']['strategy']['matrix']['distribution']) == distributions
    wheels = jobs['wheels']['strategy']['matrix']
    assert {*wheels['distribution'], *(row['distribution'] for row in wheels['include'])} == (
        distributions)
    oldest, newest = map(int, re.search(r'\(3, (\d+)\) <= .* <= \(3, (\d+)\)', WHEELS).groups())
    assert wheels['python'] == [f'3.{minor}' for minor in range(oldest, newest + 1)]


def test_the_workflow_uses_the_commands_of_a_developer():
    lines = [' '.join(words) for _, words in commands()]
    for command in ('./proemlc demo', '.ci/run', './proemlc run mkdocs build --strict',
                    './proemlc run pre-commit run --all-files'):
        assert command in lines
    assert any(line.startswith('colcon build --packages-select proemlc_ros') for line in lines)
    assert any(line.startswith('colcon test --packages-select proemlc_ros') for line in lines)
    assert any(line.startswith('rosdep install --from-paths src') for line in lines)


def test_the_workflow_runs_without_the_compiled_functions_too():
    job = workflow()['jobs']['without-kernels']
    assert job['env'] == {'PROEMLC_KERNELS': '0'} and job['steps'][-1]['run'] == '.ci/run'


def test_every_job_has_a_time_limit_and_pinned_actions():
    for job in workflow()['jobs'].values():
        assert job['timeout-minutes'] <= 60
        for step in job['steps']:
            # By commit: a tag can be moved.
            assert 'uses' not in step or re.search(r'^[\w-]+/[\w-]+@[0-9a-f]{40}$', step['uses'])
