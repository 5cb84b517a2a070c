# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The setuptools commands that put the interfaces and the executables where ROS looks for them.

`install_data` runs in colcon build, pip install and pip wheel; `develop` in colcon build
--symlink-install; `editable_wheel` in pip install --editable. With PROEMLC_WITHOUT_ROS=1 the
interfaces are left out: the learner then installs without any ROS.
"""

import os
import sys
from distutils.command.install_data import install_data  # setuptools' own: setup.py imports it
from pathlib import Path

from setuptools import Command, Distribution
from setuptools.command.develop import develop
from setuptools.command.editable_wheel import editable_wheel

from .interfaces import PACKAGE, generate, merge

RELAY = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/{target}" "$@"\n'


def with_ros() -> bool:
    """Return whether the interfaces are wanted."""
    return os.environ.get('PROEMLC_WITHOUT_ROS') != '1'


class BuildInterfaces(Command):
    """Generate the interfaces into the build folder."""

    description = 'generate the interfaces of msg/, srv/ and action/ into the build folder'
    user_options = [('build-base=', 'b', 'base folder of the build')]

    def initialize_options(self) -> None:
        """Declare the option and the result, the path of the install tree."""
        self.build_base = None
        self.tree = None

    def finalize_options(self) -> None:
        """Share the build folder of the other commands."""
        self.set_undefined_options('build', ('build_base', 'build_base'))

    def run(self) -> None:
        """Generate."""
        self.tree = generate(Path(self.build_base).absolute())


def install_interfaces(command: Command, prefix: str, python_folder: str) -> list[Path]:
    """Generate the interfaces, merge them into an installation, return what was written."""
    if not with_ros():
        return []
    command.run_command('build_interfaces')
    tree = command.get_finalized_command('build_interfaces').tree
    return merge(tree, Path(prefix).absolute(), Path(python_folder).absolute())


def write_relay(path: Path, target: str) -> Path:
    """Write a small script that starts another one, given relative to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RELAY.format(target=target), encoding='utf-8')
    path.chmod(0o755)
    return path


class InstallData(install_data):
    """Installs the interfaces and relays along with the data files."""

    def run(self) -> None:
        """Install the data files, then the rest."""
        super().run()
        install = self.get_finalized_command('install')
        added = install_interfaces(self, self.install_dir, install.install_lib)
        added += self.relays(Path(self.install_dir), install.install_scripts)
        self.outfiles += map(str, added)

    def relays(self, prefix: Path, scripts: str) -> list[Path]:
        """Write relays to the executables: `ros2 run` looks in lib/, a shell in bin/."""
        if scripts.endswith(f'lib/{PACKAGE}'):
            return [write_relay(prefix / 'bin/proemlc', f'../lib/{PACKAGE}/proemlc')]
        names = [line.partition('=')[0].strip()
                 for line in self.distribution.entry_points['console_scripts']]
        return [write_relay(prefix / f'lib/{PACKAGE}/{name}', f'../../bin/{name}')
                for name in names]


class Develop(develop):
    """Installs the interfaces beside the link to the source folder."""

    # setup.cfg has it, as every package of ament_python; setuptools 80 and later do not.
    user_options = [*(one for one in develop.user_options if one[0] != 'script-dir='),
                    ('script-dir=', 's', 'folder of the executables')]

    def initialize_options(self) -> None:
        """Declare the option."""
        super().initialize_options()
        self.script_dir = None

    def run(self) -> None:
        """Link, then install; from setuptools 80 on, pip does both by `editable_wheel`."""
        super().run()
        if not getattr(self, 'uninstall', True):
            install_interfaces(self, sys.prefix, self.install_dir)
            write_relay(Path(sys.prefix, 'bin/proemlc'), f'../lib/{PACKAGE}/proemlc')


class EditableWheel(editable_wheel):
    """Makes an editable install add the source folder to the path."""

    def initialize_options(self) -> None:
        """Choose the mode in which the generated modules beside the source are found."""
        super().initialize_options()
        self.mode = 'compat'


class BinaryDistribution(Distribution):
    """A distribution with compiled parts, so that a wheel is not tagged as pure Python."""

    def has_ext_modules(self) -> bool:
        """Return whether the interfaces, which are compiled, are a part of it."""
        return with_ros()

    def has_data(self) -> bool:
        """Return true; an editable install asks by this name and else leaves out all data."""
        return True


COMMANDS = {
    'build_interfaces': BuildInterfaces,
    'install_data': InstallData,
    'develop': Develop,
    'editable_wheel': EditableWheel,
}
