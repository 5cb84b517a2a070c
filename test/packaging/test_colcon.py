# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""colcon builds the checkout in a workspace, in every way a robot's owner would.

The tests share one workspace and go through its life in order: a first build, a C++ package that
depends on it, links instead of copies, interfaces that come and go, and copies again. It has only
some of the interfaces, since each build generates and compiles them; test_wheel.py builds all.
"""

import os
import shutil
from pathlib import Path

import pytest
from checkout import copy_checkout, run

pytest.importorskip('rclpy')
pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not shutil.which('colcon'), reason='colcon is not installed')]

# Enough for what differs: a message in use by C++, one to delete, and a service.
INTERFACES = {'msg/Region.msg', 'msg/Prediction.msg', 'msg/LabelQuery.msg', 'srv/RemoveLabel.srv'}

LIST_INTERFACES = """
import proemlc_ros.core, proemlc_ros.msg, proemlc_ros.srv
from proemlc_ros.msg import Prediction
from rclpy.serialization import deserialize_message, serialize_message
message = Prediction(labels=['cup'], scores=[1.0])
assert deserialize_message(serialize_message(message), Prediction) == message
names = [*vars(proemlc_ros.msg), *vars(proemlc_ros.srv)]
print(*sorted(name for name in names if name[0].isupper() and '_' not in name))
print(proemlc_ros.core.__file__)
"""


class Workspace:
    """A colcon workspace with a copy of the checkout in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = copy_checkout(folder / 'src/proemlc_ros')
        for path in [*self.source.glob('msg/*'), *self.source.glob('srv/*'),
                     *self.source.glob('action/*')]:
            if path.relative_to(self.source).as_posix() not in INTERFACES:
                path.unlink()
        self.prefix = folder / 'install/proemlc_ros'

    def build(self, *options: str) -> str:
        """Run colcon build; return what it prints."""
        return run('colcon', 'build', *options, folder=self.folder)

    def run(self, *command: object) -> str:
        """Run a command as after `source install/local_setup.bash`; return what it prints."""
        source = 'source install/local_setup.bash && exec "$@"'
        return run('bash', '-c', source, 'bash', *command, folder=self.folder)

    def interfaces(self) -> set[str]:
        """Return the names that can be imported from the built package."""
        names, core = self.run('python3', '-c', LIST_INTERFACES).splitlines()
        assert core.startswith(str(self.folder)), 'another proemlc_ros was imported'
        return set(names.split())

    def interface_files(self) -> set[str]:
        """Return the names of the .msg and .srv files in the source folder."""
        return {path.stem for folder in ('msg', 'srv')
                for path in (self.source / folder).iterdir()}

    def installed_files(self) -> set[str]:
        """Return the names of the .msg and .srv files of the installation."""
        return {path.stem for folder in ('msg', 'srv')
                for path in (self.prefix / 'share/proemlc_ros' / folder).glob(f'*.{folder}')}


@pytest.fixture(scope='module')
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp('a workspace'))


def check_installation(workspace):
    """Assert that everything ROS looks for is where ROS looks for it."""
    assert workspace.interfaces() == workspace.interface_files() == workspace.installed_files()
    for name in ('classifier_node', 'feature_node', 'proemlc'):
        assert os.access(workspace.prefix / 'lib/proemlc_ros' / name, os.X_OK)
    assert 'proemlc_ros 1.0.0' in workspace.run('proemlc', '--version')
    index = workspace.prefix / 'share/ament_index/resource_index'
    assert (index / 'packages/proemlc_ros').exists()
    assert 'msg/Prediction.msg' in (index / 'rosidl_interfaces/proemlc_ros').read_text()
    assert (workspace.prefix / 'share/proemlc_ros/package.xml').exists()
    for folder in ('launch', 'config'):
        for path in (workspace.source / folder).iterdir():
            assert (workspace.prefix / 'share/proemlc_ros' / folder / path.name).exists()


def test_a_first_build(workspace):
    said = workspace.build()
    # Setuptools misses a folder whose files this workspace leaves out.
    warnings = {line for line in said.splitlines() if line.startswith('warning: ')}
    assert warnings <= {"warning: no files found matching '*.action' under directory 'action'"}
    check_installation(workspace)
    assert not (workspace.prefix / 'share/proemlc_ros/package.xml').is_symlink()
    leftovers = {path.name for path in workspace.source.iterdir()} & {'build', 'install'}
    assert not leftovers, 'the build left something in the source folder'
    cache, = (workspace.folder / 'build').rglob('CMakeCache.txt')
    assert 'JOINED:UNINITIALIZED=ON' in cache.read_text(), 'each source was compiled on its own'


def test_a_cpp_package_uses_the_interfaces(workspace):
    shutil.copytree(Path(__file__).with_name('cpp_consumer'), workspace.folder / 'src/consumer')
    workspace.build('--packages-select', 'proemlc_consumer')
    program = workspace.folder / 'install/proemlc_consumer/lib/proemlc_consumer/show'
    assert workspace.run(program) == 'proemlc_ros/msg/Prediction cup 0.5\n'


def test_switching_to_links_makes_edits_effective(workspace):
    workspace.build('--symlink-install', '--packages-select', 'proemlc_ros')
    check_installation(workspace)
    assert (workspace.prefix / 'share/proemlc_ros/package.xml').is_symlink()
    errors = workspace.source / 'proemlc_ros/errors.py'
    errors.write_text(errors.read_text() + "\nEDITED = 'yes'\n")
    assert workspace.run(
        'python3', '-c', 'import proemlc_ros.errors as e; print(e.EDITED)') == 'yes\n'


def test_interfaces_come_and_go_with_their_files(workspace):
    (workspace.source / 'msg/Extra.msg').write_text('# A number.\nint32 number\n')
    (workspace.source / 'msg/LabelQuery.msg').unlink()
    workspace.build('--symlink-install', '--packages-select', 'proemlc_ros')
    assert 'Extra' in workspace.interfaces()
    check_installation(workspace)
    assert not list(workspace.prefix.rglob('*label_query*'))


def test_switching_back_to_copies(workspace):
    workspace.build('--packages-select', 'proemlc_ros')
    check_installation(workspace)
    assert not (workspace.prefix / 'share/proemlc_ros/package.xml').is_symlink()
    assert not list(workspace.prefix.rglob('*label_query*'))
