# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures that all tests share: a ROS 2 domain of one's own, and processes that end."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from ros_process import RosProcess

from proemlc_ros.demo.processes import reserved_domain

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the tests that need it skip themselves
    pass
else:
    # Its limits are on the clock: beside other work a sound test would fail by them.
    settings.register_profile('any load', deadline=None,
                              suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile('any load')

# Above 101 the UDP ports of a domain reach into the range that Linux hands out to anyone.
DOMAINS = range(1, 102)


@pytest.hookimpl(hookwrapper=True)
def pytest_collect_file() -> Iterator[None]:
    """Look for no doctests in tests: every process would spend seconds on it."""
    outcome = yield
    outcome.force_result([found for found in outcome.get_result()
                          if not isinstance(found, DoctestModule)])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests, so that short ones are left to fill the end."""
    slow = {item.path for item in items if item.get_closest_marker('slow')}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True, scope='session')
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the networks that the user has installed out of the tests, and theirs out of home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_DATA_HOME', str(tmp_path_factory.mktemp('data')))
        yield


@pytest.fixture
def ros_domain_id(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give the test a ROS domain that no other test on this machine uses, on loopback only.

    The environment variables are set as well: the test's own rclpy and every process it starts
    use the domain.
    """
    with reserved_domain(DOMAINS) as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        yield domain


@pytest.fixture
def port(ros_domain_id: int) -> int:
    """Return a TCP port that no other test on this machine uses.

    Linux hands out those from 32768 on to anyone: one that is free now may be taken later.
    """
    return 18000 + ros_domain_id


@pytest.fixture
def start_process(ros_domain_id: int, tmp_path: Path) -> Iterator[Callable[..., RosProcess]]:
    """Return a function that starts a program in the test's ROS domain.

    `node = start_process('classifier_node', '--ros-args', '-p', 'seed:=1')`; the process is
    ended with the test, whatever happens. See ros_process.RosProcess.
    """
    with ExitStack() as running:
        def start(*command: object, **options: object) -> RosProcess:
            return running.enter_context(RosProcess(command, tmp_path, **options))

        yield start


@pytest.fixture
def ros(ros_domain_id: int) -> Iterator[object]:
    """Return an rclpy context in the test's own domain, shut down after it."""
    rclpy = pytest.importorskip('rclpy')
    context = rclpy.Context()
    context.init(domain_id=ros_domain_id)
    yield context
    context.try_shutdown()


@pytest.fixture(scope='module')
def browser() -> Iterator[object]:
    """Return a headless Chromium, or skip.

    One per file: while it is open, a loop of asyncio runs in this thread, and no other one can.
    """
    from browser import chromium
    with chromium() as running:
        yield running


@pytest.fixture
def shared() -> Path:
    """Return the folder with the data sets and bags of other people, or skip."""
    folder = Path(os.environ.get('PROEMLC_DATA', Path(__file__).parents[2] / 'shared'))
    if not (folder / 'datasets').is_dir():
        pytest.skip(f'no data sets in {folder}; set PROEMLC_DATA')
    return folder


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that takes a line on what was measured, printed at the end of the run."""
    return lambda line: request.node.user_properties.append(('measured', line))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests measured, whether they passed or not."""
    lines = [value for outcome in ('passed', 'failed')
             for report in terminalreporter.getreports(outcome) if report.when == 'call'
             for name, value in report.user_properties if name == 'measured']
    if lines:
        terminalreporter.section('measured (never asserted)')
        for line in lines:
            terminalreporter.write_line(line)
