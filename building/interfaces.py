# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Generates the package's own interfaces, which an ament_python package cannot normally hold.

1. `stage` copies msg/, srv/ and action/ into a throw-away CMake project of the package's name;
2. `generate` lets CMake run `rosidl_generate_interfaces` on it and install the result into a
   staging tree inside the build folder, so that the source folder stays clean; what is unchanged
   since it was generated is not generated again;
3. `merge` copies the tree to where setuptools has just put the rest of the package, and takes
   away what an earlier build put there and this one no longer has.

With PROEMLC_INTERFACES=python only what Python needs is generated, in half of the time: the set-up
of ./proemlc asks for it. PROEMLC_INTERFACES_FOLDER names another build folder, so
that several installations of one checkout can share it. CMAKE_BUILD_TYPE is Release if not set.
"""

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .wheel_exports import mend_exports

PACKAGE = 'proemlc_ros'
# Resolved: colcon --symlink-install runs setup.py by a link in its build folder.
SOURCE = Path(__file__).resolve().parent.parent
FOLDERS = ('msg', 'srv', 'action')

# Joining the generated sources of a library (CMake calls it a unity build) halves the time.
CMAKE_PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project({package})
string(CONCAT launcher
  "\\"${{Python3_EXECUTABLE}}\\" \\"${{CMAKE_SOURCE_DIR}}/parse_once.py\\""
  " \\"${{CMAKE_BINARY_DIR}}/parsed\\"")
set_property(GLOBAL PROPERTY RULE_LAUNCH_CUSTOM "${{launcher}}")
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
find_package(std_msgs REQUIRED)
if(FOR_PYTHON)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
endif()
rosidl_generate_interfaces(${{PROJECT_NAME}} {interfaces} DEPENDENCIES std_msgs)
foreach(part typesupport_c typesupport_cpp typesupport_introspection_c
    typesupport_introspection_cpp typesupport_fastrtps_c typesupport_fastrtps_cpp generator_py)
  if(TARGET ${{PROJECT_NAME}}__rosidl_${{part}})
    set_target_properties(${{PROJECT_NAME}}__rosidl_${{part}} PROPERTIES
      UNITY_BUILD ${{JOINED}} UNITY_BUILD_BATCH_SIZE 0)
  endif()
endforeach()
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""

# Installed by CMake, but setuptools and colcon have their own: the package's __init__.py and
# metadata, its mark in the ament index, and the shell hooks by which a workspace sources it.
NOT_MERGED = re.compile(
    rf'/{PACKAGE}/__init__\.py$|\.egg-info/|/__pycache__/'
    rf'|^share/{PACKAGE}/(package\.xml|(local_setup|package)\.\w+|environment/.*)$'
    r'|^share/ament_index/resource_index/packages/')


def interface_files() -> list[str]:
    """Return msg/X.msg, srv/Y.srv and action/Z.action of the source folder, sorted."""
    return sorted(
        path.relative_to(SOURCE).as_posix()
        for folder in FOLDERS for path in (SOURCE / folder).glob(f'*.{folder}'))


def nested_first(names: list[str]) -> list[str]:
    """Return interfaces so that each follows those that it holds, as joined C++ sources must."""
    types = {name: set(re.findall(r'^\s*(\w+)', (SOURCE / name).read_text(encoding='utf-8'), re.M))
             for name in names}
    ordered: dict[str, None] = {}

    def add(name: str) -> None:
        for held in names:
            if held != name and held not in ordered and Path(held).stem in types[name]:
                add(held)
        ordered[name] = None

    for name in names:
        add(name)
    return list(ordered)


def ros_prefixes() -> list[Path]:
    """Return the prefixes of the ROS 2 in use: a sourced one's, and the interpreter's own."""
    named = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    own = Path(sys.executable).parent.parent  # sys.prefix is faked by colcon and pip
    return [prefix for prefix in dict.fromkeys((*map(Path, filter(None, named)), own))
            if (prefix / 'share' / 'ament_index').is_dir()]


def stage(folder: Path) -> Path:
    """Write the CMake project of the source folder's interfaces; return its path in `folder`."""
    project = folder / 'project'
    wanted = interface_files()
    staged = [path.relative_to(project).as_posix()
              for kind in FOLDERS for path in (project / kind).glob('*')]
    if not set(staged) <= set(wanted):
        # CMake would go on to install what it once generated of an interface that is now gone.
        shutil.rmtree(folder)
    for name in (*wanted, 'package.xml', 'building/parse_once.py'):
        staged_file = project / name.removeprefix('building/')
        if not _same_file(SOURCE / name, staged_file):  # keeps times: make skips what is made
            staged_file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SOURCE / name, staged_file)
    text = CMAKE_PROJECT.format(package=PACKAGE, interfaces=' '.join(
        f'"{name}"' for name in nested_first(wanted)))
    lists = project / 'CMakeLists.txt'
    if not lists.exists() or lists.read_text(encoding='utf-8') != text:
        lists.write_text(text, encoding='utf-8')
    return project


def generate(folder: Path) -> Path:
    """Generate, compile and install the interfaces below `folder`; return the install tree."""
    prefixes = ros_prefixes()
    if not any((prefix / 'share/rosidl_default_generators').is_dir() for prefix in prefixes):
        raise BuildError(
            'error: no ROS 2 message generators found. Source a ROS 2 installation, or install '
            'requirements/jazzy.txt with pip, or set PROEMLC_WITHOUT_ROS=1 to install the learner '
            'alone.')
    for prefix in prefixes:
        mend_exports(prefix)
    folder = Path(os.environ.get('PROEMLC_INTERFACES_FOLDER', folder))
    # CMake rejects a folder that was moved, and must not mix two Pythons or two ROS versions.
    key = hashlib.sha256(repr((folder, _python(), prefixes)).encode()).hexdigest()[:12]
    folder /= f'interfaces-{key}'
    project = stage(folder)
    for_python = os.environ.get('PROEMLC_INTERFACES') == 'python'
    tree = folder / ('tree-python' if for_python else 'tree')
    stamp = tree.with_suffix('.made')
    digest = _digest(project, prefixes)
    if not (stamp.is_file() and stamp.read_text(encoding='utf-8') == digest):
        stamp.unlink(missing_ok=True)
        shutil.rmtree(tree, ignore_errors=True)
        _compile(project, folder / 'cmake', tree, prefixes, for_python)
        stamp.write_text(digest, encoding='utf-8')
    return tree


def _python() -> str:
    """Return the path of the interpreter, whether it was called python or python3."""
    usual = Path(sys.executable).with_name('python3')
    same = usual.exists() and usual.resolve() == Path(sys.executable).resolve()
    return str(usual) if same else sys.executable


def _build_type() -> str:
    """Return CMake's name of the settings of the compiler; CMake itself reads this variable."""
    return os.environ.get('CMAKE_BUILD_TYPE', 'Release')


def _digest(project: Path, prefixes: list[Path]) -> str:
    """Return a digest of what the generated files depend on: the project and the ROS in use."""
    parts: list[object] = [path.read_bytes() for path in sorted(project.rglob('*'))
                           if path.is_file()]
    parts.append(_build_type())
    for prefix in prefixes:
        for manifest in sorted(prefix.glob('share/*/package.xml')):
            if manifest.parent.name != PACKAGE:
                found = manifest.stat()
                parts.append((str(manifest), found.st_size, found.st_mtime_ns))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _compile(project: Path, build: Path, tree: Path, prefixes: list[Path],
             for_python: bool) -> None:
    """Configure, build and install a CMake project."""
    environment = _cmake_environment(prefixes)
    configure = [
        'cmake', '-S', project, '-B', build, '-Wno-dev', f'-DCMAKE_BUILD_TYPE={_build_type()}',
        f'-DCMAKE_INSTALL_PREFIX={tree}', '-DBUILD_TESTING=OFF',
        f'-DFOR_PYTHON={"ON" if for_python else "OFF"}',
        f'-DPython3_EXECUTABLE={_python()}',
        f'-DCMAKE_PREFIX_PATH={";".join(map(str, prefixes))}']
    compile_all = ['cmake', '--build', build, '--parallel', str(os.cpu_count() or 1)]
    _run([*configure, '-DJOINED=ON'], environment)
    try:
        _run(compile_all, environment)
    except BuildError:  # a generator whose sources do not stand joining
        _run([*configure, '-DJOINED=OFF'], environment)
        _run(compile_all, environment)
    _run(['cmake', '--install', build], environment)


def merge(tree: Path, prefix: Path, python_folder: Path) -> list[Path]:
    """Copy generated files into an installation and remove those of an earlier build.

    Args:
        tree: What `generate` returned.
        prefix: Where lib/, share/ and include/ belong.
        python_folder: Where Python packages belong.

    Returns:
        Every path written, the list of them included.
    """
    listing = prefix / 'share' / PACKAGE / 'interfaces.files'
    targets = dict(_targets(tree, prefix, python_folder))
    if listing.exists():
        for name in listing.read_text(encoding='utf-8').splitlines():
            if (former := Path(os.path.normpath(prefix / name))) not in targets:
                former.unlink(missing_ok=True)
                for compiled in former.parent.glob(f'__pycache__/{former.stem}.*.pyc'):
                    compiled.unlink(missing_ok=True)
    for target, source in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _same_file(source, target):
            target.unlink(missing_ok=True)  # never write into a library that a node has mapped
            shutil.copy2(source, target)
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(''.join(f'{os.path.relpath(target, prefix)}\n' for target in targets),
                       encoding='utf-8')
    return [*targets, listing]


def _targets(tree: Path, prefix: Path, python_folder: Path) -> Iterator[tuple[Path, Path]]:
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


def _same_file(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _cmake_environment(prefixes: list[Path]) -> dict[str, str]:
    """Return the environment in which CMake's Python helpers find the ROS modules."""
    # colcon and pip put a sitecustomize.py on the path that makes Python lie about its prefix.
    kept = [folder for folder in os.environ.get('PYTHONPATH', '').split(os.pathsep)
            if folder and not Path(folder, 'sitecustomize.py').exists()]
    for prefix in prefixes:
        kept += map(str, prefix.glob('l*/python3*/*-packages'))
    return {**os.environ, 'PYTHONPATH': os.pathsep.join(dict.fromkeys(kept)),
            'AMENT_PREFIX_PATH': os.pathsep.join(map(str, prefixes))}


class BuildError(SystemExit):
    """Generating the interfaces failed; setuptools ends with its text, without a traceback."""


def _run(command: list[object], environment: dict[str, str]) -> None:
    """Run a build command; show its output only when it fails."""
    words = list(map(str, command))
    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise BuildError(f'{done.stdout}\nerror: generating the interfaces failed in: '
                         f'{" ".join(words)}')
