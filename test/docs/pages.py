# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What tests ask of a page: its blocks of code, its links, its headings."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
_FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(path, language):
    """Return the fenced blocks of a language, as text."""
    return [body for kind, body in _FENCE.findall(path.read_text(encoding='utf-8'))
            if kind == language]


def commands(path):
    """Return the lines of all shell blocks, without their comments."""
    lines = ''.join(blocks(path, 'bash')).replace('\\\n', ' ').splitlines()
    return [bare for line in lines if (bare := re.sub(r'\s+#.*$', '', line).strip())]


def links(path):
    """Return the targets of links and pictures."""
    text = _FENCE.sub('', path.read_text(encoding='utf-8'))
    return re.findall(r'\]\(([^)\s]+)\)', text)


def anchors(path):
    """Return the names by which GitHub lets one link to a page's headings."""
    text = _FENCE.sub('', path.read_text(encoding='utf-8'))
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')
            for heading in re.findall(r'^#+ (.+)$', text, re.MULTILINE)}


def launcher_commands():
    """Return the commands that ./proemlc has beside those of the command line."""
    usage = (ROOT / 'proemlc').read_text(encoding='utf-8').partition("<< 'TEXT'\n")[2]
    return set(re.findall(r'^  ([a-z]+) ', usage.partition('TEXT')[0], re.MULTILINE))
