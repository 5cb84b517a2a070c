# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the generators of a build of interfaces so that they share what they parse.

Each of ROS 2's generators, up to eleven, parses every interface again, which takes about half of
its time. CMake starts its custom commands with this program: a generator runs here, with a parser
that first looks for the syntax tree in a folder of the build and else leaves it there for the
others. Any other command runs as it is.

usage: parse_once.py FOLDER COMMAND ...
"""

import hashlib
import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

GENERATOR = 'rosidl_'  # what the names of ROS 2's generators begin with


def main(arguments: list[str]) -> None:
    """Run a command of the build; does not return where it is no generator."""
    folder, *command = arguments
    if len(command) > 1 and Path(command[1]).name.startswith(GENERATOR):
        share_trees(Path(folder))
        sys.argv = command[1:]
        sys.path[0] = str(Path(command[1]).parent)
        runpy.run_path(command[1], run_name='__main__')
    else:
        os.execvp(command[0], command)


def share_trees(folder: Path) -> None:
    """Make ROS 2's parser look into a folder first; leave a parser that is not known as it is."""
    from rosidl_parser import parser
    if hasattr(parser, 'get_ast_from_idl_string') and hasattr(parser, 'grammar'):
        parser.get_ast_from_idl_string = shared(
            parser.get_ast_from_idl_string, parser.grammar, folder)


def shared(parse: Callable[[str], Any], grammar: str, folder: Path) -> Callable[[str], Any]:
    """Return a function that parses a text unless the folder has its tree, and puts it there."""
    def parse_once(text: str) -> Any:
        digest = hashlib.sha256(json.dumps([grammar, text]).encode()).hexdigest()
        path = folder / f'{digest}.json'
        if not path.exists():
            tree = parse(text)
            folder.mkdir(parents=True, exist_ok=True)
            own = folder / f'{digest}.{os.getpid()}'  # generators beside it read whole files only
            own.write_text(json.dumps(_as_lists(tree)), encoding='utf-8')
            own.replace(path)
            return tree
        return _as_tree(json.loads(path.read_text(encoding='utf-8')))
    return parse_once


def _as_lists(node: Any) -> list[Any]:
    """Return a tree as nested lists: tokens as type and text, branches as name and children."""
    from lark import Tree
    if isinstance(node, Tree):
        return [str(node.data), list(map(_as_lists, node.children))]
    return [node.type, str(node)]


def _as_tree(node: list[Any]) -> Any:
    """Return the tree of nested lists."""
    from lark import Token, Tree
    name, content = node
    if isinstance(content, str):
        return Token(name, content)
    return Tree(name, list(map(_as_tree, content)))


if __name__ == '__main__':
    main(sys.argv[1:])
