# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Label names: one rule for all, and what older files hold is taken as it is."""

import numpy as np
import pytest
from core_reference import plain, samples

from proemlc_ros.core import PartialSums, ProEMLC
from proemlc_ros.core.labels import check_label
from proemlc_ros.errors import LabelError, LabelExistsError, UnknownLabelError

X, _ = samples(6)
COMPOSED, DECOMPOSED = 'caf\u00e9', 'cafe\u0301'

GOOD = [
    'cup', 'red cup', 'a-b_c/d', 'ñandú', 'чашка', '茶碗', 'كوب', '컵', 'q\u0323', '½ l',
    'می\u200cخواهم',  # a word spelt with a joiner
    '👩\u200d🚀', '❤\ufe0f\u200d🔥', '☕\ufe0f',  # emoji of several characters
]
BAD = {
    'empty': '', 'blank': '  ', 'leading space': ' cup', 'trailing space': 'cup ',
    'leading no-break space': '\u00a0cup', 'trailing ideographic space': 'cup\u3000',
    'line end': 'a\nb', 'tab': 'a\tb', 'null': 'a\0b', 'delete': 'a\x7fb', 'next line': 'a\x85b',
    'surrogate': '\ud800', 'private use': 'a\ue000b', 'unassigned': 'a\u0378b',
    'no character': 'a\uffffb', 'line separator': 'a\u2028b', 'paragraph separator': 'a\u2029b',
    'zero width space': 'a\u200bb', 'soft hyphen': 'a\u00adb', 'byte order mark': '\ufeffcup',
    'right to left override': 'a\u202eb', 'tag': 'a\U000e0061b',
    'leading joiner': '\u200dcup', 'trailing joiner': 'cup\u200d', 'only a joiner': '\u200c',
    'two joiners': 'a\u200d\u200db', 'joiner beside a space': 'a\u200d b',
    'joiner behind a space': 'a \u200db',
    'hangul filler': '\u3164', 'hangul filler inside': 'a\u3164b',
    'hangul choseong filler': '\u115f', 'hangul jungseong filler': '\u1160',
    'halfwidth filler': '\uffa0', 'braille blank': 'cup\u2800', 'mongolian separator': 'a\u180eb',
    'grapheme joiner': 'a\u034fb', 'khmer inherent vowel': 'a\u17b4b',
    'null notehead': '\U0001d159',
    'only a variation selector': '\ufe0f', 'variation of a space': 'a \ufe0f',
    'two variation selectors': 'a\ufe0f\ufe0f',
}


@pytest.mark.parametrize('name', GOOD)
def test_a_name_that_can_be_read_is_taken_as_it_is(name):
    assert check_label(name) == name


@pytest.mark.parametrize('case', BAD)
def test_a_name_that_hides_something_is_rejected_by_function_and_model(case):
    name = BAD[case]
    with pytest.raises(LabelError, match='label'):
        check_label(name)
    with pytest.raises(LabelError):
        ProEMLC(labels=[name])
    model = plain()
    model.learn(X[0], ['cup'])
    before = model.to_bytes()
    for call in (model.learn, model.unlearn, model.test_then_train):
        with pytest.raises(LabelError):
            call(X[:2], [['cup'], [name]])
        with pytest.raises(LabelError):
            call(X[0], [], absent=[name], complete=False)
    with pytest.raises(LabelError):
        model.rename_label('cup', name)
    with pytest.raises(LabelError):
        model.partial_sums().add(X[:1], [[name]])
    assert model.to_bytes() == before


@pytest.mark.parametrize('value', [None, 3, b'cup', ['cup']])
def test_what_is_not_text_is_no_name(value):
    with pytest.raises(LabelError, match='not text'):
        check_label(value)


def test_the_error_says_which_character_it_is_and_stays_short():
    with pytest.raises(LabelError, match=r"'a\\u200bb' has the .*invisible character U\+200B"):
        check_label('a\u200bb')
    with pytest.raises(LabelError) as caught:
        check_label('a' * 100_000 + '\n')
    assert len(str(caught.value)) < 200


def test_a_name_may_be_as_long_as_allowed_and_no_longer():
    assert check_label('é' * 10, max_length=10) == 'é' * 10
    assert check_label('e\u0301' * 10, max_length=10) == 'é' * 10
    with pytest.raises(LabelError, match='11 characters; .* at most 10'):
        check_label('é' * 11, max_length=10)
    with pytest.raises(LabelError, match='at most 10'):
        check_label('e' + '\u0301' * 1_000_000, max_length=10)


def test_both_normal_forms_of_a_name_are_one_label():
    assert check_label(DECOMPOSED) == COMPOSED
    model = plain(labels=[DECOMPOSED])
    assert model.labels == [COMPOSED]
    assert model.learn(X[:3], [(COMPOSED,), (DECOMPOSED,), (COMPOSED, DECOMPOSED)]) == ()
    assert model.learn(X[3], [DECOMPOSED, 'cup']) == ('cup',)
    assert model.counts == [4, 1]
    with pytest.raises(LabelError, match='present and absent'):
        model.learn(X[4], [COMPOSED], absent=[DECOMPOSED])
    with pytest.raises(LabelExistsError):
        model.rename_label('cup', DECOMPOSED)
    model.unlearn(X[3], [DECOMPOSED, 'cup'])
    model.rename_label(DECOMPOSED, 'bar')
    assert model.labels == ['bar', 'cup']


def test_a_label_is_removed_by_either_normal_form():
    model = plain(labels=[COMPOSED, 'cup'])
    model.remove_label(DECOMPOSED)
    assert model.labels == ['cup']
    with pytest.raises(UnknownLabelError):
        model.remove_label(COMPOSED)


def test_names_of_numpy_become_plain_text():
    model = plain()
    model.learn(X[0], np.array(['cup', 'red']))
    assert [type(name) for name in model.labels] == [str, str]


def test_partial_sums_take_both_normal_forms_as_one_label():
    sums = plain(width=7).partial_sums()
    assert isinstance(sums, PartialSums)
    sums.add(X[:2], [[COMPOSED], [DECOMPOSED]])
    assert ProEMLC.from_sums(sums).labels == [COMPOSED]


def test_declared_labels_keep_their_order_while_the_layer_is_drawn_again():
    model = ProEMLC(hidden_size=8)
    rows = np.random.default_rng(0).normal(size=(5, 3))
    model.learn(rows[:2], [['cup'], ['plate']])
    model.add_labels(['fork', 'owl'])
    model.learn(rows[2:], [['owl'], ['fork'], ['robot']])
    assert model.labels == ['cup', 'plate', 'fork', 'owl', 'robot']
