# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The pages: every link leads somewhere, every page is found, every example can be read."""

import ast
import re

import pytest
from pages import PAGES, ROOT, anchors, blocks, commands, launcher_commands, links

from proemlc_ros.cli.main import COMMANDS, _make_parser

IDS = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize('page', PAGES, ids=IDS)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        if re.match(r'\w+:', link):  # on the web
            continue
        name, _, anchor = link.partition('#')
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f'{link} leads nowhere'
        assert target.is_relative_to(ROOT), f'{link} leads out of the package'
        if anchor:
            assert anchor in anchors(target), f'there is no heading for {link}'


def test_the_index_names_every_page_of_the_documentation():
    index, decisions = ROOT / 'docs/index.md', ROOT / 'docs/decisions/index.md'
    named = {(page.parent / link.partition('#')[0]).resolve()
             for page in (index, decisions) for link in links(page)}
    assert {page for page in PAGES if page.is_relative_to(ROOT / 'docs')} - named <= {index}


@pytest.mark.parametrize('page', PAGES, ids=IDS)
def test_python_examples_are_python(page):
    for body in blocks(page, 'python'):
        ast.parse(body)


@pytest.mark.parametrize('page', PAGES, ids=IDS)
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding='utf-8')
    folders = 'test|benchmarks|config|docs|examples|launch|building|requirements|proemlc_ros'
    for name in re.findall(rf'`(?:python )?((?:{folders})/[\w/.-]+\.\w+)\b', text):
        assert (ROOT / name).exists(), name
    if page.name == 'benchmarks.md':
        for name in re.findall(r'^`(\w+\.py)', text, re.MULTILINE):
            assert (ROOT / 'benchmarks' / name).exists(), name


def proemlc_commands():
    found = []
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        found += [(page.name, line) for line in re.findall(
            r'^(?: {4})?(?:\./)?(proemlc [a-z].*)$', text, re.MULTILINE)]
    return found


@pytest.mark.parametrize('page, line', proemlc_commands())
def test_command_lines_are_understood(page, line):
    words = re.sub(r'\s+#.*$', '', line).replace('…', '').split()[1:]
    if words[0] not in COMMANDS:
        assert words[0] in launcher_commands(), line
        return
    _make_parser(words).parse_args(words)


def test_executables_and_launch_files_of_the_pages_exist():
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    for page in PAGES:
        for line in commands(page):
            if named := re.search(r'ros2 run proemlc_ros (\w+)', line):
                assert f"'{named[1]}':" in setup, line
            if named := re.search(r'ros2 launch proemlc_ros (\S+)', line):
                launch = ROOT / 'launch' / named[1]
                known = launch.read_text(encoding='utf-8') + (
                    ROOT / 'launch/proemlc.launch.py').read_text(encoding='utf-8')
                for argument in re.findall(r' (\w+):=', line):
                    assert re.search(rf"DeclareLaunchArgument\(\s*'{argument}'", known), line


def test_launch_arguments_are_described():
    for path in (ROOT / 'launch').glob('*.launch.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == (
                    'DeclareLaunchArgument'):
                assert {'description', 'default_value'} <= {word.arg for word in node.keywords}
