# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""package.xml: valid, and true about what the code imports and setup.py installs."""

import ast
import re
import sys
from email import message_from_string
from functools import cache

import pytest
import yaml
from checkout import ROOT, run

catkin_package = pytest.importorskip('catkin_pkg.package')

# Import names of what package.xml calls otherwise.
KEYS = {'numpy': 'python3-numpy', 'scipy': 'python3-scipy', 'cv2': 'python3-opencv',
        'aiohttp': 'python3-aiohttp', 'yaml': 'python3-yaml',
        'argcomplete': 'python3-argcomplete'}
# Optional: a missing one is named in an error, or something plain stands in for it.
OPTIONAL = {'onnxruntime', 'onnx', 'dask', 'distributed', 'sklearn', 'river',
            'pyoselm', 'skelm', 'vowpalwabbit', 'vision_msgs', 'joblib', 'wcwidth',
            'argcomplete'}
# What the tools for bags need; the nodes do not.
OF_BAGS = {'rosbags'}


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


def modules_of(nodes):
    """Return the top-level modules that statements import by full names."""
    modules = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add(node.module.partition('.')[0])
    return modules


def parsed_files():
    return {path.relative_to(ROOT / 'proemlc_ros').as_posix(): ast.parse(
        path.read_text(encoding='utf-8')) for path in (ROOT / 'proemlc_ros').rglob('*.py')}


def imported_modules():
    """Return the modules that the package imports, anywhere in it, and Python does not bring."""
    found = set().union(*(modules_of(ast.walk(tree)) for tree in parsed_files().values()))
    return found - sys.stdlib_module_names - {'proemlc_ros'}


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
    needed = {KEYS.get(module, module) for module in imported_modules() - OPTIONAL - OF_BAGS}
    assert needed - declared == set()


def test_modules_can_be_imported_without_optional_libraries():
    # Those modules are imported by name only, by who has their library.
    of_a_library = ('core/sklearn.py', 'experiments/baselines/')
    for name, tree in parsed_files().items():
        if not name.startswith(of_a_library):
            assert not modules_of(tree.body) & OPTIONAL, (
                f'{name}: import it where it is used, or in a `try` with something plain instead')
        if not name.startswith(('bags/', 'nodes/bag_player.py')):
            assert not modules_of(tree.body) & OF_BAGS, f'{name}: leave this to bags/'


def test_required_libraries_are_in_setup_py(metadata):
    required = {re.match(r'[\w-]+', line)[0] for line in metadata.get_all('Requires-Dist')
                if 'extra ==' not in line}
    assert required == {'setuptools', 'numpy', 'scipy', 'rosbags', 'PyYAML'}


def test_the_former_name_of_an_extra_still_installs_it(metadata):
    def needed(extra):
        return {line.partition(';')[0].strip() for line in metadata.get_all('Requires-Dist')
                if f'extra == "{extra}"' in line}

    assert needed('evaluation') == needed('experiments') == {'scikit-learn>=1.6'}


def test_generators_are_tools_of_the_build(manifest):
    assert {dependency.name for dependency in manifest.buildtool_depends} == {
        'ament_cmake', 'rosidl_default_generators'}


def test_the_manifest_says_where_the_package_lives(manifest, metadata):
    urls = {url.type: url.url for url in manifest.urls}
    assert set(urls) == {'website', 'repository', 'bugtracker'}
    assert dict(line.split(', ') for line in metadata.get_all('Project-URL')) == urls
    assert [author.name for author in manifest.authors] == [metadata['Author']]


def test_the_citation_names_this_version(manifest):
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))
    assert citation['version'] == manifest.version
    assert citation['license'] == manifest.licenses[0]
    urls = {url.type: url.url for url in manifest.urls}
    assert (citation['url'], citation['repository-code']) == (
        urls['website'], urls['repository'])
    assert [paper['year'] for paper in citation['references']] == [2016]


def test_no_lock_file_names_a_host():
    for path in (ROOT / 'requirements').iterdir():
        assert '://' not in path.read_text(encoding='utf-8'), path


# The systems of ROS 2 Jazzy, Kilted and Lyrical, by the names of rosdep's rules.
SYSTEMS = (('ubuntu', 'noble'), ('ubuntu', 'resolute'), ('debian', 'bookworm'),
           ('debian', 'trixie'), ('rhel', '9'))


@pytest.fixture
def rules(shared):
    """Return what each key installs, where a copy of rosdistro's rules is at hand."""
    files = sorted((shared / 'rosdep').glob('*.yaml'))
    if not files:
        pytest.skip('no rosdep/*.yaml of ros/rosdistro in PROEMLC_DATA')
    return rules_in(*files)


@cache
def rules_in(*files):
    known = {}
    for path in files:
        known.update(yaml.load(path.read_bytes(), getattr(yaml, 'CSafeLoader', yaml.SafeLoader)))
    return known


@pytest.mark.parametrize('system, release', SYSTEMS)
def test_rosdep_installs_every_library_without_options(manifest, rules, system, release):
    names = {entry.name for entry in (*manifest.exec_depends, *manifest.test_depends)
             if entry.name.startswith('python3-')}
    assert len(names) > 5
    for name in names:
        rule = rules[name].get(system)
        # A rule for all releases, or by release; null means that there is none.
        given = rule.get(release, rule.get('*')) if isinstance(rule, dict) else rule
        assert given, name
        assert 'pip' not in (rule if isinstance(rule, dict) else ()) and 'pip' not in given, name
