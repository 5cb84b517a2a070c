# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Regions in the pipeline: where they come from, one vector each, and bad ones by cause."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import sensor_messages as messages

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.pipeline import FeaturePipeline
from proemlc_ros.features.regions.crops import (
    BoxedRegions,
    RegionCutter,
    _crops_of,
    _regions_of,
)
from proemlc_ros.features.regions.proposals import propose
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.features.registry import make_extractor
from proemlc_ros.features.settings import declared_settings, pipeline_from_settings
from proemlc_ros.regions import OWN_BOXES, Region, overlap, pixels_in

SECOND = 1_000_000_000
NAN = float('nan')


def pipeline(**settings) -> FeaturePipeline:
    """Return a pipeline with a camera of those settings."""
    return pipeline_from_settings({'sensors': ['camera'], 'camera': {
        'topic': 'image', 'extractor': 'colour_moments', 'grid': 1, **settings}})


def region_array(stamp, *regions):
    """Return what a RegionArray is."""
    return SimpleNamespace(header=messages.header(stamp), regions=list(regions))


def detections(stamp, *boxes):
    """Return what a Detection2DArray is, of (id, x, y, width, height, theta)."""
    return SimpleNamespace(header=messages.header(stamp), detections=[
        SimpleNamespace(id=name, bbox=SimpleNamespace(
            center=SimpleNamespace(position=SimpleNamespace(x=x, y=y), theta=theta),
            size_x=width, size_y=height)) for name, x, y, width, height, theta in boxes])


@pytest.fixture
def picture():
    """A picture of 64 x 48 pixels, each of another colour."""
    return np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def test_each_fixed_box_gives_the_vector_of_its_crop(picture):
    boxes = [0.0, 0.0, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5]
    found = pipeline(regions='fixed', region_boxes=boxes).push(
        'camera', messages.image(picture, stamp=5))
    extractor = make_extractor('colour_moments', {'grid': 1})
    assert [one.region.box for one in found] == [(16, 12, 32, 24), (32, 36, 32, 24)]
    assert [one.region.id for one in found] == ['1', '2']
    assert {(one.stamp, one.region_count) for one in found} == {(5, 2)}
    np.testing.assert_array_equal(found[0].values, extractor(picture[:24, :32]))
    np.testing.assert_array_equal(found[1].values, extractor(picture[24:, 16:48]))


def test_a_grid_covers_the_picture(picture):
    found = pipeline(regions='grid', region_grid=[2, 3]).push(
        'camera', messages.image(picture, stamp=5))
    assert len(found) == 6
    assert sum(one.region.size_x * one.region.size_y for one in found) == pytest.approx(64 * 48)


def test_without_regions_a_picture_stays_whole(picture):
    (found,) = pipeline().push('camera', messages.image(picture, stamp=5))
    assert found.region.is_whole and found.region_count == 0


@pytest.mark.parametrize('late', ['picture', 'regions'])
def test_a_detectors_regions_find_their_picture_in_either_order(picture, late):
    line = pipeline(regions='topic', regions_topic='found', tracks=False)
    image = messages.image(picture, stamp=SECOND)
    boxes = detections(SECOND, ('7', 32.0, 24.0, 20.0, 10.0, 0.0))
    if late == 'picture':
        assert line.push_regions(boxes) == []
        (found,) = line.push('camera', image)
    else:
        assert line.push('camera', image) == []
        (found,) = line.push_regions(boxes)
    assert found.region == Region('7', 32.0, 24.0, 20.0, 10.0)
    assert (found.stamp, found.region_count, found.frame_id) == (SECOND, 1, 'sensor')
    assert not line.regions.rejected


def test_regions_of_another_stamp_are_never_cut_out_of_this_picture(picture):
    line = pipeline(regions='topic', regions_topic='found')
    box = Region('', 32, 24, 20, 10)
    line.push('camera', messages.image(picture, stamp=10 * SECOND))
    assert line.push_regions(region_array(SECOND, box, box)) == []
    assert line.push_regions(region_array(0, box)) == []
    assert line.regions.rejected == {'region_of_other_stamp': 2, 'region_without_stamp': 1}
    # One of the future waits, until pictures are past it.
    assert line.push_regions(region_array(10 * SECOND + 1, box)) == []
    line.push('camera', messages.image(picture, stamp=20 * SECOND))
    assert line.regions.rejected['region_of_other_stamp'] == 3


def test_bad_boxes_are_counted_by_cause_and_the_good_ones_pass(picture):
    line = pipeline(regions='topic', regions_topic='found', max_regions=50)
    line.push('camera', messages.image(picture, stamp=SECOND))
    many = [Region('', 10 + number / 1000, 10, 8, 8) for number in range(2000)]
    found = line.push_regions(region_array(
        SECOND, Region('', NAN, 10, 5, 5), Region('', 10, 10, float('inf'), 5),
        Region('', 10, 10, 0, 5), Region('', 10, 10, -5, 5), Region('', 500, 10, 20, 20),
        Region('', 0, 0, 30, 30), Region('a\nb', 10, 10, 5, 5), *many, many[0]))
    assert len(found) == 50 and {one.region_count for one in found} == {50}
    assert line.regions.rejected == {
        'region_not_finite': 2, 'region_without_size': 2, 'region_outside': 2,
        'bad_region_id': 1, 'too_many_regions': 1950, 'repeated_region': 1}


def test_rotated_detections_are_rejected():
    found = _regions_of(detections(
        1, ('', 9.0, 9.0, 4.0, 4.0, 0.3), ('', 9.0, 9.0, 4.0, 4.0, NAN),
        ('', 9.0, 9.0, 4.0, 4.0, 0.0)))
    assert len(found.regions) == 1
    assert found.rejects == {'region_rotated': 1, 'region_not_finite': 1}


def test_a_crop_is_the_pixels_whose_centres_are_in_the_box():
    image = np.arange(100).reshape(10, 10)
    np.testing.assert_array_equal(
        pixels_in(image, Region('', 3, 4, 4, 2)), image[3:5, 1:5])
    np.testing.assert_array_equal(
        pixels_in(image, Region('', 3.1, 4.1, 4, 2)), image[3:5, 1:5])
    np.testing.assert_array_equal(  # reaches over the edge
        pixels_in(image, Region('', 1, 9, 4, 4)), image[7:, :3])
    assert pixels_in(image, Region('', 9.9, 9.9, 0.1, 0.1)).shape == (1, 1)


def test_surroundings_are_cut_out_by_the_margin_and_the_box_stays(picture):
    box, wide = Region('', 20, 20, 16, 8), Region('', 20, 20, 24, 12)
    plain, margin = (pipeline(regions='topic', regions_topic='found', **more)
                     for more in ({}, {'margin': 0.5}))
    for line in (plain, margin):
        line.push('camera', messages.image(picture, stamp=SECOND))
    (found,) = margin.push_regions(region_array(SECOND, box))
    (expected,) = plain.push_regions(region_array(SECOND, wide))
    assert found.region.box == box.box and 'margin=0.5' in found.extractor
    np.testing.assert_array_equal(found.values, expected.values)
    with pytest.raises(ExtractorError, match='margin is 5'):
        pipeline(margin=5.0)


def test_a_drawn_box_finds_a_picture_that_was_held(picture):
    line = pipeline()
    line.regions.drawing = True
    stamps = range(SECOND, 400 * SECOND, SECOND)
    for stamp in stamps:
        assert len(line.push('camera', messages.image(picture, stamp=stamp))) == 1
        if stamp == 2 * SECOND:
            assert line.push_regions(region_array(stamp), drawn=True) == []  # Holds it.
    (found,) = line.push_regions(
        region_array(2 * SECOND, Region('', 32, 24, 20, 10)), drawn=True)
    assert found.stamp == 2 * SECOND and found.region_count == 1
    assert line.push_regions(region_array(SECOND, Region('', 32, 24, 20, 10)), drawn=True) == []
    assert line.regions.rejected == {'region_of_other_stamp': 1}


def test_the_node_is_asked_for_boxes_of_its_own(picture, monkeypatch, tmp_path):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))  # no detector there
    line = pipeline()
    line.regions.drawing = True
    assert len(line.push('camera', messages.image(picture, stamp=SECOND))) == 1
    found = line.push_regions(region_array(SECOND, OWN_BOXES), drawn=True)
    assert [one.region.box for one in found] == [one.box for one in propose(picture)]
    assert found and {one.region_count for one in found} == {len(found)}
    # From a detector's topic it is a box without size.
    assert line.push_regions(region_array(SECOND, OWN_BOXES)) == []


def test_a_box_keeps_its_id_from_picture_to_picture(picture):
    line = pipeline(regions='topic', regions_topic='found')
    seen = []
    for number in range(5):
        stamp = SECOND + number * SECOND // 10
        line.push('camera', messages.image(picture, stamp=stamp))
        found = line.push_regions(region_array(
            stamp, Region('', 12 + 2 * number, 12, 20, 20), Region('mine', 40, 30, 10, 10)))
        seen.append([one.region.id for one in found])
    assert seen == [['1', 'mine']] * 5


class FailingExtractor:
    """Takes no batches, and gives values that are not finite for the first crop."""

    name = 'failing/1'
    calls = 0

    def extract_many(self, samples):
        raise RuntimeError('no batches')

    def __call__(self, sample):
        self.calls += 1
        return np.full(6, np.nan if self.calls == 1 else 1.0, np.float32)


def test_one_bad_crop_does_not_cost_the_others(picture):
    cutter = RegionCutter(FailingExtractor(), SensorRegions(tracks=None))
    regions = [Region('', 20, 20, 10, 10), Region('', 40, 20, 10, 10)]
    (found,) = cutter.vectors(picture, 5, BoxedRegions(regions, Counter()))
    assert found.region == regions[1] and cutter.rejects == {'not_finite': 1}


def test_other_sensors_are_joined_to_every_region(picture):
    line = pipeline_from_settings({
        'sensors': ['lidar', 'camera'], 'tolerance': 1.0,
        'lidar': {'topic': 'scan', 'extractor': 'laser_profile', 'sectors': 4},
        'camera': {'topic': 'image', 'extractor': 'colour_moments', 'grid': 1,
                   'regions': 'grid', 'region_grid': [1, 2]}})
    line.push('lidar', messages.scan([5.0] * 10, stamp=SECOND))
    found = line.push('camera', messages.image(picture, stamp=SECOND))
    assert [len(one.values) for one in found] == [4 + 6] * 2
    assert [one.region.center_x for one in found] == [16, 48]
    assert {one.region_count for one in found} == {2}


@pytest.mark.parametrize(('settings', 'name'), [
    ({'regions': 'boxes'}, 'camera.regions'),
    ({'regions': 'fixed'}, 'camera.region_boxes'),
    ({'regions': 'fixed', 'region_boxes': [0.5, 0.5, 0.6]}, 'camera.region_boxes'),
    ({'regions': 'fixed', 'region_boxes': [0.5, 0.5, 0.6, 0.2]}, 'camera.region_boxes'),
    ({'regions': 'grid', 'region_grid': [0, 3]}, 'camera.region_grid'),
    ({'regions': 'proposals', 'region_proposals': 0}, 'camera.region_proposals'),
    ({'regions': 'topic'}, 'camera.regions_topic'),
    ({'regions': 'topic', 'regions_topic': 'a', 'regions_type': 'b/C'}, 'camera.regions_type'),
    ({'regions': 'grid', 'max_regions': 0}, 'camera.max_regions'),
])
def test_a_bad_setting_is_named(settings, name):
    with pytest.raises(ExtractorError, match=name):
        pipeline(**settings)


def test_only_cameras_have_regions():
    with pytest.raises(ExtractorError, match='only pictures have regions'):
        pipeline_from_settings({'sensors': ['lidar'], 'lidar': {
            'topic': 'scan', 'extractor': 'laser_profile', 'regions': 'grid'}})
    assert 'regions' in declared_settings('colour_moments')
    assert 'regions' not in declared_settings('laser_profile')


def test_overlap():
    box = Region('', 10, 10, 4, 4)
    assert overlap(box, box) == 1 and overlap(box, Region('', 20, 10, 4, 4)) == 0
    assert overlap(box, Region('', 10, 10, 2, 2)) == 0.25
    assert overlap(box, Region('', NAN, 10, 4, 4)) == 0


def test_crops_are_views(picture):
    (crop,) = _crops_of(picture, [Region('', 10, 10, 4, 4)], 5, Counter())
    assert crop.pixels.base is not None
