# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A bag of pictures with a detector's boxes gives the vectors of its regions."""

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, find_sources
from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.conversions import new_header, region_message
from proemlc_ros.features.registry import make_extractor
from proemlc_ros.features.settings import pipeline_from_settings
from proemlc_ros.records import StampedVector
from proemlc_ros.regions import Region

SETTINGS = {'sensors': ['camera'], 'camera': {
    'topic': '/image', 'extractor': 'colour_moments', 'grid': 1, 'regions': 'topic',
    'regions_topic': '/found'}}
IMAGE, ARRAY = 'sensor_msgs/msg/Image', 'proemlc_ros/msg/RegionArray'


@pytest.mark.parametrize('topic', ['/found', 'found'])
def test_pictures_and_boxes_become_vectors(tmp_path, topic):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    box, outside = Region('', 20, 20, 10, 12), Region('', 900, 20, 10, 12)
    with BagWriter(tmp_path / 'bag') as bag:
        new = bag.messages.new
        for number in range(3):
            stamp = 10**9 + number * 10**8
            header = new_header(bag.messages, stamp)
            # A detector takes its time: its boxes come after the next picture.
            bag._write('/image', IMAGE, stamp, new(
                IMAGE, header=header, height=40, width=60, encoding='rgb8', is_bigendian=0,
                step=180, data=pixels.ravel()))
            bag._write('/found', ARRAY, stamp + 150_000_000, new(
                ARRAY, header=header, regions=[
                    region_message(bag.messages, one) for one in (box, outside)]))
    with BagReader(tmp_path / 'bag') as bag:
        pipeline = pipeline_from_settings(
            {**SETTINGS, 'camera': {**SETTINGS['camera'], 'regions_topic': topic}})
        sources = find_sources(bag, TopicSelection(sensors=lambda _: pipeline))
        found = [record for _, record in sources.stream(bag)]
    assert all(isinstance(one, StampedVector) for one in found)
    assert [one.stamp for one in found] == [10**9, 11 * 10**8, 12 * 10**8]
    assert {one.region.box for one in found} == {box.box}
    assert {one.region.id for one in found} == {'1'}  # one track
    np.testing.assert_array_equal(
        found[0].data, make_extractor('colour_moments', {'grid': 1})(pixels[14:26, 15:25]))
    assert sources.rejects == {'region_outside': 3}
