# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A wheel of the package holds everything and works from where pip puts it."""

import os
import sys
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT, copy_checkout, run

pytest.importorskip('rclpy')
pytestmark = pytest.mark.slow

IMPORT_ALL = """
import sys
import proemlc_ros.core, proemlc_ros.msg, proemlc_ros.srv
from proemlc_ros.msg import Prediction
from rclpy.serialization import deserialize_message, serialize_message
message = Prediction(labels=['cup'], scores=[1.0], label_set_version=1)
assert deserialize_message(serialize_message(message), Prediction) == message
for module in (proemlc_ros.core, proemlc_ros.msg, proemlc_ros.srv):
    assert module.__file__.startswith(sys.argv[1]), module.__file__
"""


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """Return the path of a wheel, built from a copy of the checkout."""
    folder = tmp_path_factory.mktemp('wheel')
    source = copy_checkout(folder / 'source')
    run(sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '--no-index',
        '--wheel-dir', folder, source, PROEMLC_INTERFACES_FOLDER=str(ROOT / 'build'))
    built, = folder.glob('*.whl')
    return built


def test_the_wheel_is_for_this_python_and_machine(wheel):
    assert f'-{sys.implementation.cache_tag.replace("cpython-", "cp")}-' in wheel.name
    assert '-none-any' not in wheel.name


def test_the_wheel_holds_all_parts(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    data = 'proemlc_ros-1.0.0.data/data'
    for path in (ROOT / 'proemlc_ros').rglob('*.py'):
        assert path.relative_to(ROOT).as_posix() in names
    for folder in ('launch', 'config', 'msg', 'srv', 'action'):
        for path in (path for path in (ROOT / folder).rglob('*') if path.suffix != '.pyc'):
            if path.is_file():
                assert f'{data}/share/proemlc_ros/{path.relative_to(ROOT).as_posix()}' in names
    assert f'{data}/share/ament_index/resource_index/packages/proemlc_ros' in names
    assert f'{data}/lib/proemlc_ros/classifier_node' in names
    assert f'{data}/lib/libproemlc_ros__rosidl_typesupport_c.so' in names


def test_the_installed_wheel_works(wheel, tmp_path):
    run(sys.executable, '-m', 'pip', 'install', '--no-deps', '--no-index', '--ignore-installed',
        '--prefix', tmp_path, wheel)
    packages, = tmp_path.glob('lib/python3*/site-packages')
    variables = {
        'PYTHONPATH': str(packages),
        'LD_LIBRARY_PATH': os.pathsep.join([f'{tmp_path}/lib', os.environ['LD_LIBRARY_PATH']])}
    run(sys.executable, '-c', IMPORT_ALL, tmp_path, folder=tmp_path, **variables)
    for executable in ('bin/proemlc', 'lib/proemlc_ros/proemlc'):
        assert 'proemlc_ros 1.0.0' in run(tmp_path / executable, '--version', **variables)
    assert os.access(Path(tmp_path, 'lib/proemlc_ros/classifier_node'), os.X_OK)
