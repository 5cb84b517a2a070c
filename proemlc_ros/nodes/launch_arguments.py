# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of the launch files, checked before any node starts; no ROS is needed for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from proemlc_ros.errors import ParameterError

# The nodes that teach.launch.py starts, by their default names.
CLASSIFIER, FEATURES, DASHBOARD = 'proemlc', 'features', 'dashboard'
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*')
_NAMESPACE = re.compile(r'/?([A-Za-z][A-Za-z0-9_]*/?)*')
Rule = tuple[str, str]


def check_arguments(given: Mapping[str, str]) -> None:
    """Check the arguments of a launch file, as text.

    Raises:
        ParameterError: one cannot be used; names it.
    """
    if not _NAMESPACE.fullmatch(given.get('namespace', '')):
        raise ParameterError(f'namespace:={given["namespace"]} is not a namespace; letters, '
                             'digits, _ and / are allowed')
    if not _NAME.fullmatch(given.get('name', CLASSIFIER)):
        raise ParameterError(f'name:={given["name"]} is not the name of a node; letters, digits '
                             'and _ are allowed')
    port = given.get('port', '')
    if port and not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise ParameterError(f'port:={port} is not a port; it must be from 0 to 65535')
    for name in ('params_file', 'features_file', 'token_file'):
        # ROS would warn of a missing parameter file, and start with other settings.
        if given.get(name) and not Path(given[name]).is_file():
            raise ParameterError(f'{name}:={given[name]}: there is no such file')
    for name in ('params_file', 'features_file'):
        if given.get(name):
            _sections_of(Path(given[name]))
    parse_remappings(given.get('remappings', ''))


def parse_remappings(text: str) -> list[Rule]:
    """Return remapping rules such as "~/features:=/camera/features ~/labels:=/labels".

    Raises:
        ParameterError: a rule is not of the form from:=to.
    """
    rules = []
    for word in text.split():
        left, sign, right = word.partition(':=')
        if not (left and sign and right):
            raise ParameterError(f'remappings: {word!r} is not of the form from:=to')
        rules.append((left, right))
    return rules


def rules_for(node: str, name: str, rules: list[Rule]) -> list[Rule]:
    """Return the remapping rules of one of the nodes.

    Rules of private names are about the classifier. For the other nodes these names are not
    private, and they have to follow, or they would talk to nobody.

    Args:
        node: the default name of the node.
        name: of the classifier.
        rules: as given to the launch file.
    """
    if node == CLASSIFIER:
        return rules
    # The feature node publishes to the classifier of the default name.
    inside = CLASSIFIER if node == FEATURES else name
    moved = [(left.replace('~/', f'{inside}/', 1) if left.startswith('~/') else left,
              right.replace('~/', f'{name}/', 1) if right.startswith('~/') else right)
             for left, right in rules]
    features = f'{CLASSIFIER}/features'
    if node == FEATURES and name != CLASSIFIER and features not in dict(moved):
        moved.append((features, f'{name}/features'))
    return moved


def _sections_of(path: Path) -> set[str]:
    """Return the node names that a parameter file has sections for, without namespaces.

    `/**`, which is for all nodes, is '**'.

    Raises:
        ParameterError: it is not a parameter file.
    """
    try:
        content: Any = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterError(f'{path} is not a parameter file: {error}') from error
    if not isinstance(content, dict):
        raise ParameterError(f'{path} is not a parameter file: it has no sections such as '
                             '"/**/proemlc:"')
    return set(_node_names(content))


def _node_names(content: dict[Any, Any]) -> list[str]:
    """Return the names of the nodes; a namespace may be written as a section around them."""
    names = []
    for key, value in content.items():
        inner = value if isinstance(value, dict) else {}
        if 'ros__parameters' in inner:
            names.append(str(key).strip('/').rpartition('/')[2])
        names += _node_names({name: entry for name, entry in inner.items()
                              if name != 'ros__parameters'})
    return names


def files_for(node: str, name: str, params_file: str, features_file: str,
              default_features: str) -> list[str]:
    """Return the parameter files of one of the nodes, in the order to be read in.

    One file for all nodes has a section for each. A file with nothing but `/**` is the
    classifier's, as config/proemlc.yaml is.

    Args:
        node: the default name of the node.
        name: its name now.
        params_file: the file for all nodes, or the classifier's.
        features_file: the feature node's own; empty: none.
        default_features: its file where neither of the others is about it.

    Raises:
        ParameterError: a file cannot be read.
    """
    sections = _sections_of(Path(params_file))
    for_all = bool(sections - {'**'})
    files = [params_file] if for_all or node == CLASSIFIER else []
    if node == FEATURES and features_file:
        files.append(features_file)
    elif node == FEATURES and name not in sections:
        files.insert(0, default_features)
    return files
