# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input: a named error that says what is wrong, and a model that is as before."""

import numpy as np
import pytest
from core_reference import plain, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros import errors
from proemlc_ros.core import ProEMLC

X, ANNOTATIONS = samples(40)
GOOD = ['cup']
ROW = X[0]


def fitted(**settings):
    model = plain(labels=['cup', 'red', 'robot', 'door'], **settings)
    model.learn(X, ANNOTATIONS)
    return model


BAD_SAMPLES = {
    'narrow': (np.ones(6), GOOD, errors.WidthError, 'has 6 values, but this model learns from 7'),
    'wide': (np.ones((2, 8)), [GOOD, GOOD], errors.WidthError, 'has 8 values'),
    'nan': (np.r_[ROW[:6], np.nan], GOOD, errors.NotFiniteError, 'nan as feature 6'),
    'nan in chunk': (np.vstack([ROW, ROW * np.inf]), [GOOD, GOOD], errors.NotFiniteError,
                     'sample 1 has'),
    'infinity': (np.r_[-np.inf, ROW[1:]], GOOD, errors.NotFiniteError, '-inf as feature 0'),
    'huge': (np.full(7, 1e150), GOOD, errors.TooLargeError, 'scale the features'),
    'no rows': (np.ones((0, 7)), [], errors.EmptyInputError, 'at least one row'),
    'no values': (np.ones(0), GOOD, errors.EmptyInputError, 'at least one value'),
    'three dimensions': (np.ones((1, 7, 1)), [GOOD], errors.InputError, r'\(1, 7, 1\)'),
    'a number': (3.0, GOOD, errors.InputError, 'single number: 3.0'),
    'text': (['a'] * 7, GOOD, errors.InputError, 'cannot be read as numbers'),
    'ragged': ([[1.0] * 7, [1.0] * 6], [GOOD, GOOD], errors.InputError, 'one length'),
    'complex': (ROW * 1j, GOOD, errors.InputError, 'complex'),
    'nothing': (None, GOOD, errors.InputError, 'None|nan'),
    'labels as one text': (ROW, 'cup', errors.LabelError, r"such as \['cup'\]"),
    'labels as bytes': (ROW, b'cup', errors.LabelError, 'collection of names'),
    'labels as number': (ROW, 3, errors.LabelError, 'collection of names'),
    'label is a number': (ROW, [3], errors.LabelError, '3, which is not text'),
    'label is bytes': (ROW, [b'cup'], errors.LabelError, 'not text'),
    'empty label': (ROW, [''], errors.LabelError, 'visible character'),
    'blank label': (ROW, ['  '], errors.LabelError, 'visible character'),
    'control character': (ROW, ['a\nb'], errors.LabelError, r'invisible character U\+000A'),
    'half a character': (ROW, ['\ud800'], errors.LabelError, r'invisible character U\+D800'),
    'too few annotations': (X[:3], [GOOD] * 2, errors.LengthMismatchError,
                            '2 entries for 3 samples'),
    'too many annotations': (X[:3], [GOOD] * 4, errors.LengthMismatchError, '4 entries'),
    'one text for all rows': (X[:3], 'cup', errors.LabelError, 'one entry per sample'),
    'one text a row': (X[:2], ['cup', 'red'], errors.LabelError, r"such as \['cup'\]"),
    'no list': (X[:2], 5, errors.LabelError, 'one entry per sample'),
}


@pytest.mark.parametrize('case', BAD_SAMPLES, ids=str)
@pytest.mark.parametrize('call', ['learn', 'unlearn', 'test_then_train'])
def test_a_bad_sample_changes_nothing(case, call):
    x, labels, error, text = BAD_SAMPLES[case]
    model = fitted()
    before = model.to_bytes()
    with pytest.raises(error, match=text) as caught:
        getattr(model, call)(x, labels)
    assert isinstance(caught.value, (errors.ProEMLCError, ValueError))
    assert model.to_bytes() == before


@pytest.mark.parametrize('case', [
    'narrow', 'nan', 'no values', 'text', 'three dimensions', 'huge'])
@pytest.mark.parametrize('call', ['scores', 'predict', 'novelty', 'hidden', 'classify'])
def test_a_bad_vector_is_rejected(case, call):
    x, _, error, _ = BAD_SAMPLES[case]
    model = fitted()
    before = model.to_bytes()
    with pytest.raises(errors.InputError if call == 'classify' else error):
        getattr(model, call)(x)
    assert model.to_bytes() == before


@pytest.mark.parametrize(('arguments', 'error', 'text'), [
    ({'absent': 'cup'}, errors.LabelError, r'absent is the single text'),
    ({'absent': [1]}, errors.LabelError, 'absent holds 1'),
    ({'absent': ['red', 'cup']}, errors.LabelError, 'present and absent'),
    ({'complete': 'yes'}, errors.LabelError, "complete is 'yes'"),
])
def test_bad_annotations_change_nothing(arguments, error, text):
    model = fitted()
    before = model.to_bytes()
    for call in (model.learn, model.unlearn):
        with pytest.raises(error, match=text):
            call(ROW, ['cup'], **arguments)
    assert model.to_bytes() == before


@pytest.mark.parametrize(('labels', 'complete', 'text'), [
    (('cup',), 1, 'complete is 1'),
    ((['cup'],), True, 'which is not text'),
])
def test_what_was_said_before_excuses_nothing(labels, complete, text):
    model = fitted()
    model.learn([ROW, ROW], [('cup',), ('cup',)])
    with pytest.raises(errors.LabelError, match=text):
        model.learn([ROW, ROW], [('cup',), labels], complete=[True, complete])


def test_a_chunk_is_learnt_whole_or_not_at_all():
    model = plain(activation='relu')
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    # Valid, but beyond the precision once squared; early, late, and very late.
    for place, count in ((0, 300), (299, 300), (699, 700)):
        rows = np.resize(X, (count, 7))
        rows[place] = 1e40
        with pytest.raises(errors.TooLargeError):
            model.learn(rows, [('new',)] * count)
        assert model.to_bytes() == before
        with pytest.raises(errors.TooLargeError):
            model.learn(rows, [('new',)] * count, complete=False)
        assert model.to_bytes() == before
    with pytest.raises(errors.TooLargeError):
        model.learn(np.full(7, 1e40), ['new'])
    assert model.to_bytes() == before


@pytest.mark.parametrize(('x', 'labels', 'text'), [
    (np.ones(7), ['cup'], 'was never learnt'),
    (X[0] + 1e-12, ANNOTATIONS[0], 'was never learnt'),
    (X[0], ['unheard'], "mentioned 'unheard'"),
    (X[0], ['never shown'], "left that shows 'never shown'"),
])
@pytest.mark.parametrize('warmup', [None, 50])
def test_what_was_never_learnt_cannot_be_unlearnt(x, labels, text, warmup):
    model = plain(labels=['never shown'], activation='rbf' if warmup else 'tanh', warmup=warmup)
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    with pytest.raises(errors.NeverLearntError, match=None if warmup else text):
        model.unlearn(x, labels)
    with pytest.raises(errors.NeverLearntError):  # the last row is taken back first, and returns
        model.unlearn(np.vstack([x, X[5]]), [labels, ANNOTATIONS[5]])
    assert model.to_bytes() == before


def test_a_sample_cannot_be_unlearnt_twice():
    model = fitted()
    model.unlearn(X[0], ANNOTATIONS[0])
    with pytest.raises(errors.NeverLearntError):
        model.unlearn(X[0], ANNOTATIONS[0])
    with pytest.raises(errors.NeverLearntError, match='nothing has been learnt'):
        plain().unlearn(X[0], ANNOTATIONS[0])
    empty = plain()
    empty.learn(X[0], ['cup'])
    empty.unlearn(X[0], ['cup'])
    with pytest.raises(errors.NeverLearntError, match='nothing has been learnt'):
        empty.unlearn(X[0], ['cup'])


def test_labels_that_are_not_there_cannot_be_renamed_or_removed():
    model = fitted()
    before = model.to_bytes()
    with pytest.raises(errors.UnknownLabelError, match="no label 'ghost'; known labels: 'cup'"):
        model.remove_label('ghost')
    with pytest.raises(KeyError):
        model.rename_label('ghost', 'spirit')
    with pytest.raises(errors.UnknownLabelError):
        model.remove_label(['cup'])
    with pytest.raises(errors.LabelExistsError, match="label 'red' already"):
        model.rename_label('cup', 'red')
    for name in ('', 3, 'a\tb'):
        with pytest.raises(errors.LabelError):
            model.rename_label('cup', name)
    with pytest.raises(errors.UnknownLabelError):
        model.calibrate(X[:1], [('ghost',)])
    assert model.to_bytes() == before


@pytest.mark.parametrize(('setting', 'value'), [
    ('hidden_size', 0), ('hidden_size', 2.5), ('hidden_size', True), ('ridge', -1.0),
    ('ridge', float('nan')), ('ridge', '1'), ('activation', 'magic'), ('scaling', None),
    ('direct_links', 1), ('recalibration', 'none'), ('seed', -1), ('forgetting', 0.4),
    ('forgetting', 1.1), ('threshold', 0.5), ('gamma', 0.0), ('gamma_scale', -1.0),
    ('warmup', 0), ('width', 0), ('weight_scale', 0.0), ('dtype', 'float16'), ('colour', 'red')])
def test_settings_that_make_no_sense_are_rejected(setting, value):
    with pytest.raises(errors.ParameterError, match=setting):
        ProEMLC(**{setting: value})


def test_the_defaults_of_the_model_are_those_of_the_options():
    import inspect

    from proemlc_ros.core import Options
    assert ProEMLC().options == Options()
    parameters = inspect.signature(ProEMLC).parameters
    for name, value in Options().as_dict().items():
        assert name not in parameters or parameters[name].default == value


def test_numpy_numbers_are_welcome_as_settings():
    assert ProEMLC(hidden_size=np.int64(7), ridge=np.float64(2.0)).options.hidden_size == 7


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=9))
def test_no_vector_of_floats_ever_breaks_a_model(values):
    model = plain(activation='relu')
    model.learn(X, ANNOTATIONS)
    before = model.to_bytes()
    try:
        model.learn(values, ['cup'])
    except errors.InputError:
        assert model.to_bytes() == before
    assert np.isfinite(model.scores(X)).all()
