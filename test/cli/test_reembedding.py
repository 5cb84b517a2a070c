# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc train JOURNAL --sensors FILE`: kept pictures give the features of other extractors."""

from __future__ import annotations

import numpy as np
import pytest

cv2 = pytest.importorskip('cv2')

from corrections import correct, turn

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import Embedding, Reembedding, resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import SampleError
from proemlc_ros.features.settings import PictureEmbedding
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Correction, EventKind, Learnt, Picture

SENSORS = """
/**:
  ros__parameters:
    sensors: [camera]
    camera:
      topic: /camera/image_raw
      extractor: colour_histogram
"""
COLOURS = {'red': (200, 30, 30), 'green': (30, 180, 40), 'blue': (30, 50, 190)}


def picture_of(number: int, label: str) -> Picture:
    rng = np.random.default_rng(number)
    pixels = np.full((120, 160, 3), COLOURS[label], np.uint8)
    pixels[rng.integers(90):, rng.integers(120):] = 230
    data = cv2.imencode('.jpg', pixels[:, :, ::-1])[1].tobytes()
    return Picture(number, 'jpeg', data)


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, seed=1)


@pytest.fixture
def taught(tmp_path):
    """Return a model with 30 samples: two wrong and corrected, one without a picture."""
    directory = ModelDirectory(tmp_path / 'model')
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory,
                           Journal(directory.journal))
    labels = [list(COLOURS)[number % 3] for number in range(30)]
    durable.pictures.active = True
    durable.pictures.find = lambda said: None if said.stamp == 30 else picture_of(
        said.stamp, labels[said.stamp - 1])
    rng = np.random.default_rng(0)
    learnt = durable.learn([
        Annotation(number, ('red',) if number in (2, 6) else (labels[number - 1],),
                   features=rng.normal(size=5).astype(np.float32), extractor='poor/1',
                   annotator='Ada') for number in range(1, 31)])
    assert all(isinstance(one, Learnt) for one in learnt)
    for place in (1, 5):
        correct(durable, [Correction(learnt[place].number, (labels[place],))])
    yield durable, labels
    directory.close()


@pytest.fixture
def sensors(tmp_path):
    path = tmp_path / 'new.yaml'
    path.write_text(SENSORS)
    return path


def accuracy(model: ProEMLC, embedding: PictureEmbedding) -> float:
    """Return how many new pictures are recognised."""
    right = 0
    for number in range(100, 130):
        label = list(COLOURS)[number % 3]
        picture = picture_of(number, label)
        right += model.predict([embedding.vector('jpeg', picture.data)])[0] == (label,)
    return right / 30


def test_train_makes_the_features_again(proemlc, taught, sensors, tmp_path):
    durable, _ = taught
    code, out, err = proemlc('train', durable.directory.journal, '--sensors', sensors, '-o',
                             tmp_path / 'new.npz')
    assert (code, err) == (0, '')
    assert '29 samples' in out and '1 samples have no usable picture' in out
    model = ProEMLC.load(tmp_path / 'new.npz')
    assert sorted(model.labels) == sorted(COLOURS)
    assert sorted(model.counts) == [9, 10, 10]
    assert accuracy(model, PictureEmbedding.from_file(sensors)) > 0.9  # The old ones were noise.


def test_train_takes_a_corrected_journal_as_it_stands(proemlc, taught, tmp_path):
    durable, _ = taught
    code, out, err = proemlc('train', durable.directory.journal, '-o', tmp_path / 'same.npz')
    assert (code, err) == (0, '') and '30 samples' in out
    model = ProEMLC.load(tmp_path / 'same.npz')
    assert sorted(model.counts) == [10, 10, 10]


def test_the_node_learns_again_in_one_transaction(taught, sensors):
    durable, labels = taught
    made = PictureEmbedding.from_file(sensors)
    embedding = Embedding(made.extractor, made.vector)
    with pytest.raises(SampleError, match=r'1 of 30 samples have no picture.* leave_out: true'):
        Reembedding(durable, embedding, leave_out=False).prepare()
    work = Reembedding(durable, embedding)
    work.prepare()
    before = durable.model.learner.scores(np.ones((1, 5)))
    done = work.apply('Bob')
    assert done == (29, 1)
    assert durable.model.extractor == made.extractor
    assert accuracy(durable.model.learner, made) > 0.9
    durable.directory.close()
    again = DurableModel(
        VersionedModel(new_learner()), new_learner, ModelDirectory(durable.directory.path),
        Journal(durable.directory.journal))
    resume(again)
    samples = list(again.reading().samples.values())
    assert [sample.labels for sample in samples] == [(label,) for label in labels[:29]]
    assert {sample.annotator for sample in samples} == {'Ada'}
    assert accuracy(again.model.learner, made) == accuracy(durable.model.learner, made)
    turn(again, EventKind.UNDO)  # The samples, as one step,
    turn(again, EventKind.UNDO)  # and the reset.
    np.testing.assert_allclose(  # The order of the labels may differ.
        np.sort(again.model.learner.scores(np.ones((1, 5)))), np.sort(before), atol=1e-9)
    durable.directory = again.directory


def test_nothing_changes_without_pictures(tmp_path, sensors):
    directory = ModelDirectory(tmp_path / 'model')
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory,
                           Journal(directory.journal))
    durable.learn([Annotation(1, ('cup',), features=np.ones(5, np.float32))])
    made = PictureEmbedding.from_file(sensors)
    with pytest.raises(SampleError, match='none of 1 samples has a picture'):
        Reembedding(durable, Embedding(made.extractor, made.vector)).apply('Bob')
    assert durable.model.learner.samples == 1
    directory.close()
