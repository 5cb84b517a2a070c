# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the package import each other as docs/architecture.md says, and one way only."""

import ast
import re
import sys
from functools import cache

import pytest
from checkout import ROOT

PACKAGE = ROOT / 'proemlc_ros'
# Part of ROS, or generated for it: what a machine without ROS does not have.
ROS = re.compile(r'(rclpy|rcl_interfaces|\w+_msgs|std_srvs|launch|launch_ros'
                 r'|proemlc_ros\.(msg|srv|action))\b')


def part_of(module):
    """Return the part of the package that a module is in: 'proemlc_ros.core.labels' -> core/."""
    name = module.split('.')[1]
    return f'{name}.py' if (PACKAGE / f'{name}.py').exists() else f'{name}/'


@cache
def imports_of(path):
    """Return the full names of the modules that a file imports, wherever in it."""
    package = ['proemlc_ros', *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[:len(package) - node.level + 1] if node.level else []
            module = '.'.join([*above, *filter(None, [node.module])])
            # `from proemlc_ros import core` names the part behind the import.
            found |= ({f'{module}.{alias.name}' for alias in node.names}
                      if module == 'proemlc_ros' else {module})
    return found


def files():
    return [path for path in PACKAGE.rglob('*.py') if path != PACKAGE / '__init__.py']


@cache
def code_graph():
    """Return for each part the parts that its files import."""
    graph = {}
    for path in files():
        part = part_of('.'.join(['proemlc_ros', *path.relative_to(PACKAGE).with_suffix('').parts]))
        graph.setdefault(part, set()).update(
            part_of(module) for module in imports_of(path)
            if module.startswith('proemlc_ros.') and not ROS.match(module))
        graph[part].discard(part)
    return graph


def documented_graph():
    """Return the same from the table of the architecture page, in its order."""
    text = (ROOT / 'docs/architecture.md').read_text(encoding='utf-8')
    section = text.partition('## Parts')[2].partition('\n## ')[0]
    rows = re.findall(r'^\| (`[^|]+`) \|[^|]*\|([^|]*)\|$', section, re.MULTILINE)
    return {name.strip('`'): set(re.findall(r'`([^`]+)`', imports)) for name, imports in rows}


def test_the_architecture_page_shows_the_import_graph():
    documented, found = documented_graph(), code_graph()
    order = list(documented)
    for part in sorted({*documented, *found}):
        imported = sorted(found.get(part, ()), key=[*order, *found].index)
        assert documented.get(part) == found.get(part), (
            f'the last column of {part} should be: {", ".join(f"`{name}`" for name in imported)}')


def test_imports_point_down_the_page():
    graph = documented_graph()
    order = list(graph)
    for part, imported in graph.items():
        for other in imported:
            assert order.index(other) > order.index(part), f'{part} imports {other}'


@pytest.mark.parametrize('part', ['nodes/', 'experiments/'])
def test_nothing_but_the_command_line_imports(part):
    importers = {other for other, imported in code_graph().items() if part in imported}
    assert importers <= {'cli/'}


def test_the_experiments_are_imported_by_their_command_and_for_arff_files_alone():
    importers = {path.relative_to(PACKAGE).as_posix() for path in files()
                 if 'experiments/' in {part_of(module) for module in imports_of(path)
                                       if module.startswith('proemlc_ros.')}}
    assert {path for path in importers if not path.startswith('experiments/')} == {
        'cli/inputs.py', 'cli/paper.py'}


def test_ros_is_imported_by_nodes_alone():
    for path in files():
        if not path.is_relative_to(PACKAGE / 'nodes'):
            assert not {module for module in imports_of(path) if ROS.match(module)}, path


def test_the_learner_imports_numpy_and_scipy_alone():
    allowed = {'numpy', 'scipy', 'proemlc_ros'}
    for path in (PACKAGE / 'core').rglob('*.py'):
        if path.name == 'sklearn.py':  # the adapter for those who have scikit-learn
            continue
        outside = {module.partition('.')[0] for module in imports_of(path)}
        assert outside - allowed - sys.stdlib_module_names == set(), path
