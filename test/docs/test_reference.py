# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference pages have every parameter; that of the classifier is tested in test/nodes."""

import ast
import re
import sys

import pytest
from pages import ROOT

from proemlc_ros.cli.main import COMMANDS
from proemlc_ros.features.registry import EXTRACTORS, extractor_parameters
from proemlc_ros.features.settings import JOIN_SETTINGS, SENSOR_SETTINGS


def page(name):
    return (ROOT / 'docs' / name).read_text(encoding='utf-8')


def row_of(text, name):
    """Return the line of a table that has a name in its first column."""
    row = re.search(rf'^\|[^|]*`{name}`[^|]*\|.*$', text, re.MULTILINE)
    assert row, f'`{name}` has no line in the tables'
    return row[0]


@pytest.mark.parametrize('kind', EXTRACTORS)
def test_every_extractor_and_its_parameters_are_documented(kind):
    # "as above": the line before has the same parameters.
    text = page('features.md')
    row = row_of(text, kind)
    if 'as above' in row:
        row += text[:text.index(row)].splitlines()[-1]
    for entry in extractor_parameters(kind):
        assert f'`{entry.name}`' in row, entry.name


def test_every_setting_of_the_feature_node_is_documented():
    text = page('features.md')
    for name in SENSOR_SETTINGS:
        row_of(text, name)
    for name in ('sensors', 'warning_period', *JOIN_SETTINGS):
        assert re.search(rf'`{name}`|^ +{name}: ', text, re.MULTILINE), name


def test_every_parameter_of_the_operators_nodes_is_documented():
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from proemlc_ros.nodes import dashboard_node, teleop_node
    from proemlc_ros.nodes.operator import operator_node
    text = page('teaching.md')
    declared = (operator_node.CLASSIFIER, *dashboard_node.PARAMETERS)
    for entry in declared:
        row = row_of(text, entry.name)
        assert entry.default == '' or str(entry.default) in row, row
    for entry in teleop_node.PARAMETERS:
        assert f'`{entry.name}`' in text.rpartition('`teleop_node` has')[2]


def test_every_command_is_shown_somewhere():
    pages = ''.join(path.read_text(encoding='utf-8') for path in (ROOT / 'docs').glob('*.md'))
    for name in COMMANDS:
        assert f'proemlc {name}' in pages, name


def test_every_dependency_has_its_reason():
    names = {'numpy': 'NumPy', 'scipy': 'SciPy', 'cv2': 'OpenCV', 'sklearn': 'scikit-learn',
             'dask': 'Dask', 'distributed': 'Dask', 'yaml': 'PyYAML'}
    reasons = page('architecture.md').partition('## Dependencies')[2]
    for module in outside_modules():
        shown = '`*_msgs`' if module.endswith('_msgs') else names.get(module, module)
        assert shown in reasons, f'docs/architecture.md does not say why {shown} is needed'


def outside_modules():
    """Return the modules that the package imports and Python does not bring."""
    found = set()
    for path in (ROOT / 'proemlc_ros').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition('.')[0])
    return found - sys.stdlib_module_names - {'proemlc_ros', 'builtin_interfaces'}
