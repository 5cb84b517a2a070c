# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Text of other programs is shown short, on one line and without hidden characters."""

from __future__ import annotations

import pytest

from proemlc_ros.foreign_text import escaped, printable_line, shown

HOSTILE = ['a\nb', '\x1b[2J', '\u202eabc', '\ud800', 'a' * 10**6, '\x00' * 1000]


@pytest.mark.parametrize('text', HOSTILE)
def test_shown_text_is_short_and_printable(text):
    result = shown(text)
    assert result.isprintable() and len(result) <= 410
    assert printable_line(f'about {text}').isprintable()


def test_plain_text_stays_as_it_is():
    assert shown('Tasse é 杯') == "'Tasse é 杯'"
    assert printable_line('Tasse é 杯') == 'Tasse é 杯'


def test_long_text_is_cut():
    assert shown('a' * 101) == repr('a' * 100 + '…')
    assert printable_line('a' * 600) == 'a' * 500 + '…'


def test_hidden_characters_are_replaced_and_spaces_of_all_kinds_kept():
    assert escaped('a\u2028b\x1b[2Jc\u3000d', lambda character: '?') == 'a?b?[2Jc\u3000d'
