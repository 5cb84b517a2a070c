# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The first annotation settles what nobody has set; replaying the journal settles it alike."""

from types import SimpleNamespace

import numpy as np
import pytest
from corrections import correct

from proemlc_ros.classifier.profiles import PROFILES, LearnerFactory, profile_of
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.records import Annotation, Correction

DEEP = 'onnx_embedding/1(model=0123456789ab;mean=0.498,0.498,0.498)'


def annotation(number, extractor, label='cup'):
    vector = np.random.default_rng(number).random(12).astype(np.float32)
    return Annotation(number, (label,), features=vector, extractor=extractor)


def test_profiles_are_settings_of_a_learner_and_of_single_extractors():
    for settings in PROFILES.values():
        ProEMLC(**settings)
    assert profile_of(DEEP)['activation'] == 'rbf'
    assert profile_of(f'{DEEP}+laser_profile/1') == profile_of('mine') == profile_of('') == {}


def test_given_settings_win():
    factory = LearnerFactory({'hidden_size': 7, 'seed': 3})
    learner = factory.fitted(factory(), DEEP)
    assert learner.options == Options.from_dict(
        {**PROFILES['onnx_embedding'], 'hidden_size': 7, 'seed': 3})
    factory = LearnerFactory({'activation': 'relu'})
    assert factory.fitted(factory(), DEEP).options == Options(activation='relu')


def test_a_taught_or_loaded_learner_keeps_its_settings():
    factory = LearnerFactory()
    taught = factory()
    taught.learn(np.ones(3), ['cup'])
    loaded = ProEMLC(hidden_size=5)
    assert factory.fitted(taught, DEEP) is taught
    assert factory.fitted(loaded, DEEP) is loaded


@pytest.fixture
def open_in(tmp_path):
    """Return a function that opens the classifier of the node with default parameters."""
    parameters = pytest.importorskip('proemlc_ros.nodes.classifier_parameters')
    from proemlc_ros.nodes.classifier_parameters import open_classifier

    def opened(**changed):
        values = SimpleNamespace(
            **{entry.name: entry.default for entry in parameters.CLASSIFIER_PARAMETERS})
        values.model_directory = str(tmp_path)
        vars(values).update(changed)
        return open_classifier(values, '/proemlc', print)[0]
    return opened


def test_resuming_and_undoing_keep_what_the_first_sample_settled(open_in):
    classifier = open_in()
    durable = classifier.durable
    durable.learn([annotation(1, DEEP), annotation(2, DEEP, 'robot')])
    settled = durable.model.learner.options
    assert settled.activation == 'rbf' and settled.scaling == 'l2'
    durable.undo()
    assert durable.model.learner.options == settled
    durable.reset()  # its snapshot is of a learner that has learnt nothing
    classifier.close()
    classifier = open_in()
    classifier.durable.learn([annotation(3, 'laser_profile/1')])
    assert classifier.durable.model.learner.options.activation == Options().activation
    classifier.durable.reset()
    classifier.durable.learn([annotation(4, DEEP)])
    classifier.close()
    classifier = open_in()
    assert classifier.durable.model.learner.options == settled
    classifier.close()


def test_learning_again_settles_alike(open_in):
    classifier = open_in()
    durable = classifier.durable
    learnt = durable.learn([annotation(1, DEEP), annotation(2, DEEP, 'robot'),
                            annotation(3, DEEP, 'fork')])
    settled = durable.model.learner.options
    correct(durable, [Correction(learnt[0].number, delete=True)])
    again = durable.model.learner
    assert again.options == settled and again.samples == 2
    classifier.close()


def test_a_given_width_leaves_the_rest_to_the_first_sample(open_in):
    classifier = open_in(width=12)
    classifier.durable.learn([annotation(1, DEEP)])
    assert classifier.durable.model.learner.options.activation == 'rbf'
    classifier.close()


def test_an_open_learner_is_made_again_from_what_was_given():
    factory = LearnerFactory({'seed': 3})
    learner = factory()
    assert factory.settings_of(learner) == {'seed': 3}
    learner = factory.fitted(learner, DEEP)
    assert factory.settings_of(learner) == learner.options.as_dict()


def test_strangers_are_unknown_to_deep_features_of_pictures_alone():
    random = np.random.default_rng(0)
    things = random.normal(size=(12, 64))
    for extractor, above, unknown in ((DEEP, 0.0, True), (DEEP, 2.0, False),
                                      ('laser_profile/1', 0.0, False),
                                      ('laser_profile/1', 0.95, True)):
        factory = LearnerFactory()
        model = VersionedModel(factory(), fitted=factory.fitted)
        model.unknown_above = above
        for number in range(60):
            model.learn(Annotation(number, (f'thing {number % 6}',), features=(
                things[number % 6] + 0.5 * random.normal(size=64)).astype(np.float32),
                extractor=extractor))
        strangers = [model.classify(thing.astype(np.float32)).classification
                     for thing in things[6:]]
        assert [found.unknown for found in strangers] == [unknown] * 6
        assert all(bool(found.labels) != unknown for found in strangers)
        known = [model.classify(thing.astype(np.float32)).classification for thing in things[:6]]
        assert [found.labels for found in known] == [(f'thing {number}',) for number in range(6)]
