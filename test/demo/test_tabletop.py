# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated camera: the same for the same seed, and every object can be seen."""

import numpy as np
import pytest

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.tabletop import HEIGHT, OBJECTS, WIDTH, TeachableTable, _draw_scene


@pytest.mark.parametrize('name', OBJECTS)
def test_every_object_changes_the_picture(name):
    empty = _draw_scene([], np.random.default_rng(3)).astype(int)
    with_it = _draw_scene([name], np.random.default_rng(3)).astype(int)
    # The light differs too, since placing the object uses up random numbers; so look at the
    # pixels that stand out from the table.
    assert with_it.shape == (HEIGHT, WIDTH, 3)
    spread = np.abs(with_it - np.median(with_it, axis=(0, 1))).max(axis=2)
    usual = np.abs(empty - np.median(empty, axis=(0, 1))).max(axis=2)
    assert np.percentile(spread, 99) > np.percentile(usual, 99) + 20


def test_all_objects_at_once_fit():
    assert _draw_scene(list(OBJECTS), np.random.default_rng(0)).dtype == np.uint8


def test_pictures_are_the_same_each_time_and_differ_by_number_and_seed():
    one, same, other = Curriculum(seed=1), Curriculum(seed=1), Curriculum(seed=2)
    assert one.pictures == same.pictures != other.pictures
    np.testing.assert_array_equal(one.draw(5), same.draw(5))
    assert (one.draw(5) != one.draw(6)).any() and (one.draw(5) != other.draw(5)).any()


def test_each_phase_adds_one_object_and_the_exam_has_all():
    curriculum = Curriculum(phase_pictures=40, exam_pictures=100)
    for phase, name in enumerate(curriculum.labels):
        seen = {o for p in curriculum.pictures if p.phase == phase for o in p.objects}
        assert name in seen and seen <= set(curriculum.labels[:phase + 1])
    exam = [p for p in curriculum.pictures if p.exam]
    assert len(exam) == 100 and {o for p in exam for o in p.objects} == set(OBJECTS)
    assert [p.number for p in curriculum.pictures] == list(range(8 * 40 + 100))


def test_the_camera_shows_an_arrangement_until_the_next():
    curriculum, camera = Curriculum(seed=3), TeachableTable(seed=3)
    picture = next(one for one in curriculum.pictures if len(one.objects) == 2)
    camera.show(picture.objects, picture.arrangement)
    for _ in range(2):
        np.testing.assert_array_equal(camera.read(0), curriculum.draw(picture.number))
    camera.show(picture.objects)
    assert (camera.read(0) != camera.read(0)).any()


def test_the_operator_errs_exactly_once():
    (picture,) = [one for one in Curriculum().pictures if one.mistake]
    assert picture.phase == 2 and not picture.exam
    assert not set(picture.mistake) <= set(Curriculum().labels)
