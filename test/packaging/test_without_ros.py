# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The learner stands alone: it imports, learns and installs where there is no ROS."""

import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import scipy
from checkout import ROOT, copy_checkout, run

LEARN = """
import sys
sys.path[:0] = sys.argv[1:]
from proemlc_ros.core import ProEMLC
model = ProEMLC(hidden_size=8, seed=0)
model.learn([[0.0, 1.0], [1.0, 0.0]] * 20, [['left'], ['right']] * 20)
assert set(model.labels) == {'left', 'right'}
try:
    import rclpy
except ModuleNotFoundError:
    print('no ROS')
"""


@pytest.fixture
def numpy_and_scipy(tmp_path):
    """Return a folder from which NumPy and SciPy can be imported and nothing else."""
    for package in (numpy, scipy):
        folder = Path(package.__file__).parent
        for path in (folder, folder.with_name(f'{folder.name}.libs')):
            if path.exists():
                (tmp_path / path.name).symlink_to(path)
    return tmp_path


def test_core_learns_with_numpy_and_scipy_alone(numpy_and_scipy):
    # -I -S: no environment variables, no site-packages.
    printed = run(sys.executable, '-I', '-S', '-c', LEARN, ROOT, numpy_and_scipy)
    assert printed.endswith('no ROS\n')


def test_a_wheel_without_ros_is_pure_python(tmp_path):
    source = copy_checkout(tmp_path / 'source')
    run(sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '--no-index',
        '--wheel-dir', tmp_path, source, PROEMLC_WITHOUT_ROS='1')
    wheel, = tmp_path.glob('*.whl')
    assert wheel.name.endswith('-py3-none-any.whl')
    names = zipfile.ZipFile(wheel).namelist()
    assert 'proemlc_ros/core/__init__.py' in names
    assert not any(name.startswith('proemlc_ros/msg') for name in names)
