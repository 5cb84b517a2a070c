# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps by which setup.py builds the interfaces; test_colcon.py shows them together."""

import subprocess
import sys
import sysconfig

import numpy
import pytest
from checkout import ROOT, run

sys.path.insert(0, str(ROOT))

from building import interfaces, parse_once, wheel_exports


def test_staging_holds_the_interfaces_of_the_folder(tmp_path):
    project = interfaces.stage(tmp_path)
    staged = sorted(path.relative_to(project).as_posix() for path in project.glob('*/*'))
    assert staged == interfaces.interface_files()
    for name in staged:
        assert f'"{name}"' in (project / 'CMakeLists.txt').read_text()


def test_an_interface_follows_those_that_it_holds():
    names = interfaces.interface_files()
    ordered = interfaces.nested_first(names)
    assert sorted(ordered) == names
    assert ordered.index('msg/Region.msg') < ordered.index('msg/Prediction.msg')
    assert ordered.index('msg/Prediction.msg') < ordered.index('srv/Predict.srv')


def test_a_deleted_interface_leaves_nothing_generated(tmp_path):
    project = interfaces.stage(tmp_path)
    (project / 'msg/Old.msg').write_text('int8 a\n')
    generated = tmp_path / 'cmake/old.hpp'
    generated.parent.mkdir()
    generated.write_text('generated from Old.msg')
    interfaces.stage(tmp_path)
    assert not generated.exists() and not (project / 'msg/Old.msg').exists()
    assert (project / 'msg/Prediction.msg').exists()


def test_staging_again_leaves_unchanged_files_alone(tmp_path):
    interfaces.stage(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*.*')}
    interfaces.stage(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*.*')}


@pytest.fixture
def tree(tmp_path):
    """Return a small install tree such as CMake makes."""
    for name in ('lib/libproemlc_ros.so', 'include/proemlc_ros/x.hpp',
                 'share/proemlc_ros/msg/X.msg', 'share/proemlc_ros/package.xml',
                 'share/proemlc_ros/environment/path.sh',
                 'lib/python3.12/site-packages/proemlc_ros/__init__.py',
                 'lib/python3.12/site-packages/proemlc_ros/msg/__init__.py',
                 'lib/python3.12/site-packages/proemlc_ros-1.0.0-py3.12.egg-info/PKG-INFO'):
        (tmp_path / 'tree' / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / 'tree' / name).write_text(name)
    return tmp_path / 'tree'


def test_merging_keeps_what_setuptools_installed(tree, tmp_path):
    prefix, packages = tmp_path / 'prefix', tmp_path / 'prefix/lib/packages'
    (packages / 'proemlc_ros').mkdir(parents=True)
    (packages / 'proemlc_ros/__init__.py').write_text('ours')
    written = interfaces.merge(tree, prefix, packages)
    assert {path.relative_to(prefix).as_posix() for path in written} == {
        'lib/libproemlc_ros.so', 'include/proemlc_ros/x.hpp', 'share/proemlc_ros/msg/X.msg',
        'lib/packages/proemlc_ros/msg/__init__.py', 'share/proemlc_ros/interfaces.files'}
    assert (packages / 'proemlc_ros/__init__.py').read_text() == 'ours'


def test_merging_again_removes_what_is_gone(tree, tmp_path):
    prefix, packages = tmp_path / 'prefix', tmp_path / 'prefix/lib/packages'
    interfaces.merge(tree, prefix, packages)
    (tree / 'share/proemlc_ros/msg/X.msg').unlink()
    (prefix / 'share/proemlc_ros/msg/mine.txt').write_text('not of the build')
    interfaces.merge(tree, prefix, packages)
    assert [path.name for path in (prefix / 'share/proemlc_ros/msg').iterdir()] == ['mine.txt']
    assert (prefix / 'lib/libproemlc_ros.so').exists()


def test_exports_of_wheels_are_pointed_at_headers_that_exist(tmp_path):
    exports = tmp_path / 'share/std_msgs/cmake/export.cmake'
    exports.parent.mkdir(parents=True)
    exports.write_text('INCLUDE "${_PREFIX}/include;/opt/python/cp311/include/python3.11;'
                       '/opt/x/numpy/_core/include;/usr"\n')
    wheel_exports.mend_exports(tmp_path)
    assert exports.read_text() == (
        f'INCLUDE "${{_PREFIX}}/include;{sysconfig.get_path("include")};'
        f'{numpy.get_include()};/usr"\n')


def test_exports_that_are_right_are_not_touched(tmp_path):
    exports = tmp_path / 'share/std_msgs/cmake/export.cmake'
    exports.parent.mkdir(parents=True)
    exports.write_text(f'INCLUDE "{sysconfig.get_path("include")};{numpy.get_include()}"\n')
    exports.chmod(0o444)
    before = exports.stat().st_mtime_ns
    wheel_exports.mend_exports(tmp_path)
    assert exports.stat().st_mtime_ns == before


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return the trees that CMake is asked for, with a stand-in for it and a small ROS."""
    manifest = tmp_path / 'ros/share/rosidl_default_generators/package.xml'
    manifest.parent.mkdir(parents=True)
    manifest.write_text('<package/>')
    trees = []

    def compile_tree(project, build, tree, prefixes, for_python):
        trees.append(tree)
        tree.mkdir()
    monkeypatch.setattr(interfaces, 'ros_prefixes', lambda: [tmp_path / 'ros'])
    monkeypatch.setattr(interfaces, '_compile', compile_tree)
    return trees


def test_what_is_generated_already_is_used_again(compiled, tmp_path):
    assert interfaces.generate(tmp_path) == interfaces.generate(tmp_path)
    assert len(compiled) == 1


def test_another_ros_generates_again(compiled, tmp_path):
    interfaces.generate(tmp_path)
    manifest = tmp_path / 'ros/share/rosidl_default_generators/package.xml'
    manifest.write_text('<package format="3"/>')
    interfaces.generate(tmp_path)
    assert len(compiled) == 2


def test_an_interrupted_build_is_done_again(compiled, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(interfaces, '_compile', lambda *_: sys.exit('cut'))
        with pytest.raises(SystemExit):
            interfaces.generate(tmp_path)
    assert interfaces.generate(tmp_path).is_dir() and len(compiled) == 1


def test_python_alone_has_a_tree_of_its_own_in_the_same_folder(compiled, tmp_path, monkeypatch):
    whole = interfaces.generate(tmp_path)
    monkeypatch.setenv('PROEMLC_INTERFACES', 'python')
    monkeypatch.setenv('PROEMLC_INTERFACES_FOLDER', str(tmp_path))
    small = interfaces.generate(tmp_path / 'elsewhere')
    assert compiled == [whole, small] and whole.parent == small.parent


def test_without_ros_the_build_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(interfaces, 'ros_prefixes', list)
    with pytest.raises(SystemExit, match='Source a ROS 2 installation'):
        interfaces.generate(tmp_path)


def test_a_failing_step_shows_its_own_words():
    with pytest.raises(interfaces.BuildError, match='wrong'):
        interfaces._run([sys.executable, '-c', 'import sys; sys.exit("wrong")'], {})


IDL = """
module shop { module msg {
  @verbatim(language="comment", text="Things to buy.")
  struct Order {
    @verbatim(language="comment", text="Their number, \\\"n\\\".")
    uint32 number;
    sequence<string, 3> names;
  };
}; };
"""


def test_interfaces_are_parsed_once_and_give_the_same_tree(tmp_path):
    parser = pytest.importorskip('rosidl_parser.parser')
    parsed = []

    def parse(text):
        parsed.append(text)
        return parser.get_ast_from_idl_string(text)

    shared = [parse_once.shared(parse, parser.grammar, tmp_path / 'parsed') for _ in range(2)]
    assert shared[0](IDL) == shared[1](IDL) == parser.get_ast_from_idl_string(IDL)
    assert parsed == [IDL]
    shared[1](IDL.replace('3', '4'))
    assert len(parsed) == 2


def test_another_command_of_the_build_runs_as_it_is(tmp_path):
    done = subprocess.run(
        [sys.executable, parse_once.__file__, tmp_path, 'sh', '-c', 'echo "$@"; exit 3',
         'sh', 'a b'],
        capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, 'a b\n')


def test_a_generator_runs_with_its_arguments_and_shares_what_it_parses(tmp_path):
    pytest.importorskip('rosidl_parser')
    generator = tmp_path / 'rosidl_generator_words'
    generator.write_text(
        'import sys\nfrom rosidl_parser.parser import parse_idl_string\n'
        'parse_idl_string(open(sys.argv[1]).read())\nsys.exit(4)\n')
    (tmp_path / 'Order.idl').write_text(IDL)
    done = subprocess.run([sys.executable, parse_once.__file__, tmp_path / 'parsed',
                           sys.executable, generator, tmp_path / 'Order.idl'])
    assert done.returncode == 4
    assert len(list((tmp_path / 'parsed').iterdir())) == 1


def test_another_build_type_generates_again(compiled, tmp_path, monkeypatch):
    interfaces.generate(tmp_path)
    monkeypatch.setenv('CMAKE_BUILD_TYPE', 'Debug')
    interfaces.generate(tmp_path)
    assert len(compiled) == 2


def test_setup_py_lists_its_commands():
    printed = run(sys.executable, 'setup.py', '--help-commands', folder=ROOT)
    assert 'build_interfaces' in printed


def test_develop_takes_the_options_of_setup_cfg_with_any_setuptools(monkeypatch):
    """Setuptools 80 and later know neither script_dir nor uninstall; there pip installs."""
    from setuptools import Distribution

    from building import commands
    done = []
    monkeypatch.setattr(commands.develop, 'run', lambda self: done.append('link'))
    monkeypatch.setattr(commands, 'install_interfaces', lambda *given: done.append('interfaces'))
    monkeypatch.setattr(commands, 'write_relay', lambda *given: None)
    command = commands.Develop(Distribution())
    assert command.script_dir is None
    assert 'script-dir=' in [option[0] for option in command.user_options]
    command.install_dir, command.uninstall = 'somewhere', False
    command.run()
    assert done == ['link', 'interfaces']
    del command.uninstall
    command.run()
    assert done == ['link', 'interfaces', 'link']
