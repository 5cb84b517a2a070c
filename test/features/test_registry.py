# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Extractors from their parameters: identities, and the errors for what cannot be made."""

import pytest

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.registry import EXTRACTORS, extractor_parameters, make_extractor


def test_the_default_name_is_kind_and_version():
    for kind in set(EXTRACTORS) - {'onnx_embedding'}:
        assert make_extractor(kind).name == f'{kind}/1'


@pytest.mark.parametrize('kind,parameters,name', [
    ('colour_moments', {'grid': 7}, 'colour_moments/1'),
    ('colour_moments/1', {'grid': 3}, 'colour_moments/1(grid=3)'),
    ('colour_moments', {'region': [0, 0, 0.5, 1]}, 'colour_moments/1(region=0,0,0.5,1)'),
    ('laser_profile', {'max_range': 4, 'shape': True},
     'laser_profile/1(max_range=4;shape=True)'),
    ('joint_window', {'joints': ['b', 'a']}, 'joint_window/1(joints=b,a)'),
])
def test_the_name_states_what_is_not_at_its_default(kind, parameters, name):
    assert make_extractor(kind, parameters).name == name


def test_a_long_value_is_named_by_its_hash():
    names = [f'arm_joint_{k}' for k in range(12)]
    one = make_extractor('joint_window', {'joints': names}).name
    other = make_extractor('joint_window', {'joints': names[::-1]}).name
    assert len(one) < 60 and one != other


def test_every_parameter_has_a_description():
    for kind in EXTRACTORS:
        for entry in extractor_parameters(kind):
            assert len(entry.metadata['description']) > 10, (kind, entry.name)


@pytest.mark.parametrize('kind,parameters,text', [
    ('colour', {}, 'known are: .*colour_moments'),
    ('colour_moments/2', {}, 'version 1 here, not 2'),
    ('colour_moments', {'grids': 3}, 'no parameter grids; it has: .*grid'),
    ('colour_moments', {'grid': 3.5}, 'grid of colour_moments is 3.5'),
    ('colour_moments', {'grid': True}, 'grid of colour_moments is True'),
    ('colour_moments', {'region': ['a']}, 'region of colour_moments'),
    ('joint_window', {'joints': [1, 2]}, 'joints of joint_window'),
    ('laser_profile', {'max_range': 'far'}, 'max_range of laser_profile'),
])
def test_unusable_parameters_are_rejected_by_name(kind, parameters, text):
    with pytest.raises(ExtractorError, match=text):
        make_extractor(kind, parameters)
