# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`./proemlc`: what it sets up, when, and what it says when something is missing."""

import os
import queue
import re
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from stand_in_machine import STAND_IN, Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_the_first_use_sets_up_and_the_second_does_nothing(machine):
    first = machine.proemlc('run', 'ls', '/')
    assert machine.steps() == ['venv', 'jazzy', '--editable']
    assert first.returncode == 0 and 'bin' in first.stdout
    assert len(first.stderr.splitlines()) == 3  # one line per step
    second = machine.proemlc('run', 'ls', '/')
    assert machine.steps() == []
    assert (second.stdout, second.stderr) == (first.stdout, '')


def test_launch_files_are_found_as_ros2_launch_looks_for_them(machine):
    machine.proemlc('setup')
    share = machine.checkout / '.venv' / 'share' / 'proemlc_ros'
    found = {name for _, _, names in os.walk(share) for name in names}  # through no linked folder
    assert {'proemlc.launch.py', 'teach.launch.py'} <= found


def test_tests_need_more_packages_once(machine):
    machine.proemlc('setup', 'test')
    assert machine.steps() == ['venv', 'jazzy', '--editable', 'test']
    machine.proemlc('setup', 'test')
    assert machine.steps() == []


def test_experiments_get_their_libraries_with_their_first_use(machine):
    machine.proemlc('paper')
    assert machine.steps() == ['venv', 'jazzy', '--editable', 'experiments']
    machine.proemlc('paper')
    assert machine.steps() == []


def test_the_packages_of_the_tests_include_those_of_the_experiments(machine):
    machine.proemlc('setup', 'test')
    machine.steps()
    machine.proemlc('paper')
    assert machine.steps() == []
    locked = {name: re.findall(r'^[\w-]+==[^ ]+', (
        machine.checkout / f'requirements/{name}.txt').read_text(encoding='utf-8'), re.MULTILINE)
        for name in ('test', 'experiments')}
    assert set(locked['experiments']) - set(locked['test']) == set()


def test_other_commands_need_no_extra_packages(machine):
    machine.proemlc('info')
    assert machine.steps() == ['venv', 'jazzy', '--editable']


def test_an_unknown_extra_is_named(machine):
    done = machine.proemlc('setup', 'tests')
    assert done.returncode == 1 and machine.steps() == []
    assert done.stderr == (
        "proemlc: setup for what? 'tests' is not known; test, experiments and backbone are.\n")


def test_an_unknown_linter_is_named(machine):
    done = machine.proemlc('lint', 'pylint')
    assert done.returncode == 1
    assert "there is no linter 'pylint'; there are: ruff mypy" in done.stderr


@pytest.mark.parametrize('changed, steps', [
    ('msg/Prediction.msg', ['--editable']), ('setup.py', ['--editable']),
    ('requirements/jazzy.txt', ['jazzy'])])
def test_a_change_redoes_only_what_depends_on_it(machine, changed, steps):
    machine.proemlc('setup')
    machine.steps()
    with open(machine.checkout / changed, 'a', encoding='utf-8') as file:
        file.write('\n# changed\n')
    machine.proemlc('setup')
    assert machine.steps() == steps


def test_after_interrupted_installing_nothing_half_done_is_trusted(machine):
    assert machine.proemlc('setup', FAIL='jazzy.txt', MESSAGE='ERROR: cut').returncode == 1
    assert machine.steps() == ['venv', 'jazzy']
    assert machine.proemlc('setup').returncode == 0
    assert machine.steps() == ['venv', 'jazzy', '--editable']


def test_an_interrupted_build_goes_on(machine):
    assert machine.proemlc('setup', FAIL='--editable', MESSAGE='error: cut').returncode == 1
    machine.steps()
    assert machine.proemlc('setup').returncode == 0
    assert machine.steps() == ['--editable']


def test_each_wheel_of_a_lock_is_installed_by_one_of_the_two_processes(machine):
    machine.proemlc('setup')
    parts = [(machine.checkout / f'.venv/parts/{part}/jazzy.txt').read_text(encoding='utf-8')
             for part in (0, 1)]
    whole = (machine.checkout / 'requirements/jazzy.txt').read_text(encoding='utf-8')
    assert sorted(''.join(parts).splitlines()) == sorted(whole.splitlines())
    entries = [re.findall(r'^[^ #]', part, re.MULTILINE) for part in parts]
    assert abs(len(entries[0]) - len(entries[1])) <= 1


@pytest.mark.parametrize('part', [0, 1])
def test_one_process_that_fails_is_enough(machine, part):
    done = machine.proemlc('setup', FAIL=f'/{part}/jazzy.txt', MESSAGE='ERROR: cut')
    assert done.returncode == 1 and 'installing failed: ERROR: cut' in done.stderr


def test_another_python_makes_another_environment(machine):
    machine.proemlc('setup')
    machine.steps()
    machine.provide('python3.13', STAND_IN)
    machine.proemlc('setup', PROEMLC_PYTHON='python3.13')
    assert machine.steps() == ['venv', 'jazzy', '--editable']
    machine.proemlc('setup')  # no wish: what is there will do
    assert machine.steps() == []


def test_a_moved_checkout_is_set_up_again(machine):
    machine.proemlc('setup')
    machine.steps()
    machine.checkout = machine.checkout.rename(machine.checkout.with_name('elsewhere'))
    assert machine.proemlc('setup').returncode == 0
    assert machine.steps() == ['venv', 'jazzy', '--editable']


def test_two_at_once_set_up_once(machine):
    hold = machine.calls.with_name('hold')
    os.mkfifo(hold)
    first, second = [subprocess.Popen(
        [str(machine.checkout / 'proemlc'), 'setup'], env=machine.environment(HOLD=str(hold)),
        stderr=subprocess.PIPE, text=True) for _ in range(2)]
    # Whoever came first waits for the pipe, the other one for the lock, and says so.
    lines = queue.SimpleQueue()
    for process in (first, second):
        Thread(target=lambda stream: list(map(lines.put, stream)), args=[process.stderr],
               daemon=True).start()
    while 'waiting for another set-up to end' not in lines.get(timeout=240):
        pass
    hold.write_text('go on')
    assert [process.wait(240) for process in (first, second)] == [0, 0]
    assert machine.steps() == ['venv', 'jazzy', '--editable']


def test_distributions_have_environments_of_their_own(machine):
    machine.proemlc('setup')
    machine.proemlc('setup', PROEMLC_DISTRO='kilted')
    assert machine.steps() == ['venv', 'jazzy', '--editable', 'venv', 'kilted', '--editable']
    printed = machine.proemlc('run', 'env', PROEMLC_DISTRO='kilted').stdout
    assert 'ROS_DISTRO=kilted\n' in printed
    assert f'AMENT_PREFIX_PATH={machine.checkout}/.venv-kilted\n' in printed


def test_without_cmake_the_wheel_is_installed(machine):
    (machine.tools / 'cmake').unlink()
    assert machine.proemlc('setup').returncode == 0
    assert machine.steps() == ['venv', 'jazzy', 'cmake', '--editable']


@pytest.mark.parametrize('missing, advice', [
    ('c++', 'no C++ compiler found; install one: sudo apt install build-essential'),
    ('make', 'no make found; install it: sudo apt install build-essential'),
    ('python3', 'no Python 3.10 to 3.14 found; install one')])
def test_what_is_missing_is_named_in_one_line(machine, missing, advice):
    (machine.tools / missing).unlink()
    done = machine.proemlc('demo')
    assert done.returncode == 1
    assert done.stderr.startswith(f'proemlc: {advice}') and done.stderr.count('\n') == 1


def test_an_old_python_is_rejected(machine):
    machine.provide('python3', '#!/bin/bash\nexit 1\n')
    done = machine.proemlc('demo')
    assert done.returncode == 1
    assert 'no Python 3.10 to 3.14 found' in done.stderr and done.stderr.count('\n') == 1


def test_without_network_the_advice_is_to_check_it(machine):
    done = machine.proemlc('setup', FAIL='jazzy.txt', MESSAGE='NewConnectionError: no route')
    assert done.returncode == 1
    assert 'the package index cannot be reached; check the network' in done.stderr


@pytest.mark.slow
def test_real_pip_without_network_gives_that_advice(machine):
    """The words looked for are those that pip really prints."""
    shutil.rmtree(machine.tools)
    nowhere = {'PIP_INDEX_URL': 'http://127.0.0.1:9/simple', 'PIP_CONFIG_FILE': os.devnull,
               'PIP_RETRIES': '0'}
    environment = {'PATH': f'{Path(sys.executable).parent}:/usr/bin:/bin',
                   'HOME': str(machine.calls.parent), **nowhere}
    done = subprocess.run([str(machine.checkout / 'proemlc'), 'setup'], env=environment,
                          text=True, capture_output=True)
    assert done.returncode == 1
    assert 'the package index cannot be reached; check the network' in done.stderr


def test_the_demonstration_goes_on_without_the_libraries_of_deep_features(machine):
    offline = {'FAIL': 'backbone.txt', 'MESSAGE': 'NewConnectionError: no route'}
    machine.provide('proemlc', '#!/bin/bash\necho "ran $*"\n')
    for _ in range(2):
        done = machine.proemlc('demo', **offline)
        assert done.returncode == 0 and done.stdout == 'ran demo\n'
        assert 'going on without the libraries of requirements/backbone.txt' in done.stderr
    # Nothing was changed, so that nothing has to be made again.
    assert machine.steps() == ['venv', 'jazzy', '--editable', 'backbone', 'backbone']
    assert machine.proemlc('demo').returncode == 0
    assert machine.proemlc('demo').returncode == 0
    assert machine.steps() == ['backbone']


def test_a_failing_build_shows_its_error(machine):
    done = machine.proemlc('setup', FAIL='--editable', MESSAGE='error: Extra.msg is wrong')
    assert done.returncode == 1
    assert 'building failed: error: Extra.msg is wrong' in done.stderr


def test_an_unknown_distribution_is_rejected(machine):
    done = machine.proemlc('demo', PROEMLC_DISTRO='humble')
    assert done.returncode == 1
    assert done.stderr == "proemlc: PROEMLC_DISTRO is 'humble'; jazzy and kilted are supported.\n"


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_read_only_checkout_is_named(machine):
    machine.checkout.chmod(0o555)
    done = machine.proemlc('demo')
    assert done.returncode == 1 and 'cannot write to' in done.stderr


def test_help_needs_no_set_up(machine):
    done = machine.proemlc('--help')
    assert done.returncode == 0 and './proemlc COMMAND' in done.stdout
    assert machine.steps() == []


def test_bytecode_is_kept_away_from_sources_where_it_must_not_be_beside_them(machine):
    printed = machine.proemlc('run', 'env', PYTHONDONTWRITEBYTECODE='1').stdout
    assert f'PYTHONPYCACHEPREFIX={machine.checkout}/.venv/bytecode\n' in printed
    assert 'PYTHONDONTWRITEBYTECODE' not in printed
    assert 'PYTHONPYCACHEPREFIX' not in machine.proemlc('run', 'env').stdout


def test_a_sourced_ros_is_used_with_colcon(machine):
    machine.provide('colcon', (
        '#!/bin/bash\necho "$PWD $*" >> "$CALLS"\n'
        'while [ $# -gt 0 ]; do [ "$1" = --install-base ] && install=$2; shift; done\n'
        'mkdir -p "$install"; echo "export SOURCED=yes" > "$install/local_setup.bash"\n'))
    sourced = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    first = machine.proemlc('run', 'env', **sourced)
    assert 'SOURCED=yes\n' in first.stdout
    call = machine.calls.read_text()
    assert '--symlink-install' in call and '--packages-select proemlc_ros' in call
    assert not (machine.checkout / '.venv').exists()
    machine.calls.unlink()
    assert machine.proemlc('run', 'env', **sourced).returncode == 0
    assert not machine.calls.exists()  # built once


def test_a_sourced_ros_without_colcon_is_named(machine):
    done = machine.proemlc('demo', ROS_DISTRO='jazzy', AMENT_PREFIX_PATH='/opt/ros/jazzy')
    assert done.returncode == 1
    assert 'there is no colcon; install it' in done.stderr and done.stderr.count('\n') == 1


def test_wheels_can_be_asked_for_where_ros_is_sourced(machine):
    sourced = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'}
    assert machine.proemlc('setup', PROEMLC_DISTRO='kilted', **sourced).returncode == 0
    assert machine.steps() == ['venv', 'kilted', '--editable']


def test_inside_its_own_shell_it_finds_its_environment(machine):
    first = machine.proemlc('run', 'env')
    inner = dict(line.split('=', 1) for line in first.stdout.splitlines() if '=' in line)
    machine.steps()
    again = machine.proemlc('run', 'env', **{k: v for k, v in inner.items() if k != 'PATH'})
    assert again.returncode == 0 and machine.steps() == []
