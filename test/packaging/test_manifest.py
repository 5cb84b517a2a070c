# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""package.xml: valid, and true about what the code imports and setup.py installs."""

import ast
import re
import sys
from email import message_from_string

import pytest
from checkout import ROOT, run

catkin_package = pytest.importorskip('catkin_pkg.package')

# Import names of what package.xml calls otherwise.
KEYS = {'numpy': 'python3-numpy', 'scipy': 'python3-scipy', 'cv2': 'python3-opencv',
        'aiohttp': 'python3-aiohttp', 'yaml': 'python3-yaml',
        'PIL': 'python3-pil', 'ruamel': 'python3-ruamel.yaml'}
# From pip, because rosdep has no key for it, or optional: asked for where it is missing.
NOT_IN_MANIFEST = {'rosbags', 'onnxruntime', 'onnx', 'dask', 'distributed', 'sklearn', 'river',
                   'pyoselm', 'skelm', 'vision_msgs', 'joblib'}


@pytest.fixture(scope='module')
def manifest():
    text = (ROOT / 'package.xml').read_text(encoding='utf-8')
    warnings = []
    package = catkin_package.parse_package_string(text, 'package.xml', warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    return package


@pytest.fixture(scope='module')
def metadata(tmp_path_factory):
    """Return what setup.py says of the package, as its installed metadata."""
    folder = tmp_path_factory.mktemp('metadata')
    run(sys.executable, 'setup.py', '--quiet', 'egg_info', '--egg-base', folder, folder=ROOT)
    return message_from_string(
        (folder / 'proemlc_ros.egg-info/PKG-INFO').read_text(encoding='utf-8'))


def imported_modules():
    """Return the top-level modules that the package imports, anywhere in it."""
    modules = set()
    for path in (ROOT / 'proemlc_ros').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module.partition('.')[0])
    return modules - sys.stdlib_module_names - {'proemlc_ros'}


def test_the_manifest_is_format_3_and_an_interface_package(manifest):
    assert manifest.package_format == 3
    assert manifest.get_build_type() == 'ament_python'
    assert [group.name for group in manifest.member_of_groups] == ['rosidl_interface_packages']


def test_version_and_licence_agree_with_setup_py_and_changelog(manifest, metadata):
    assert metadata['Version'] == manifest.version
    assert metadata['License'] == manifest.licenses[0] == 'Apache-2.0'
    assert (ROOT / manifest.licenses[0].file).exists()
    changelog = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    newest = re.search(r'^(Forthcoming|\d+\.\d+\.\d+)', changelog, re.MULTILINE)[1]
    assert newest in ('Forthcoming', manifest.version)


def test_everything_imported_is_a_dependency(manifest):
    declared = {dependency.name for dependency in manifest.exec_depends}
    needed = {KEYS.get(module, module) for module in imported_modules() - NOT_IN_MANIFEST}
    assert needed - declared == set()


def test_required_libraries_are_in_setup_py(metadata):
    required = {re.match(r'[\w-]+', line)[0] for line in metadata.get_all('Requires-Dist')
                if 'extra ==' not in line}
    assert required == {'setuptools', 'numpy', 'scipy', 'rosbags'}


def test_no_lock_file_names_a_host():
    for path in (ROOT / 'requirements').iterdir():
        assert '://' not in path.read_text(encoding='utf-8'), path
