# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures with labels and boxes drawn on them, as any viewer of topics shows them."""

import cv2
import numpy as np
import pytest

from proemlc_ros.features.regions.drawing import NO_LABEL, Caption, _colour_of, drawn
from proemlc_ros.regions import WHOLE, Region


def test_labels_and_boxes_are_drawn_on_a_copy():
    picture = np.full((120, 160, 3), 90, np.uint8)
    box = Region('', 80, 80, 40, 30)
    found = drawn(picture, [Caption(box, ('cup',)), Caption(WHOLE, ('kitchen', 'Käse'))])
    assert found.shape == picture.shape and (picture == 90).all()
    assert tuple(found[80, 60]) == _colour_of('cup')  # the left edge
    assert tuple(found[1, 0]) == _colour_of('kitchen')  # the ground of the text
    assert (found[100:, :50] == 90).all()


def test_a_picture_that_is_unknown_says_so_in_grey():
    picture = np.full((120, 160, 3), 90, np.uint8)
    found = drawn(picture, [Caption(WHOLE, (), True)])
    assert tuple(found[1, 0]) == NO_LABEL
    assert (drawn(picture, [Caption(WHOLE, ())]) == 90).all()


@pytest.mark.parametrize('picture', [
    np.zeros((40, 50), np.uint8), np.full((40, 50), 30000, np.uint16),
    np.zeros((2, 2, 3), np.uint8)], ids=['grey', 'depth', 'tiny'])
@pytest.mark.parametrize('region', [
    WHOLE, Region('', 25, 20, 10, 10), Region('', -500, 900, 30, 30)],
    ids=['whole', 'inside', 'outside'])
def test_any_picture_and_box_can_be_drawn(picture, region):
    found = drawn(picture, [Caption(region, ('a' * 200,)), Caption(region, ())])
    assert found.shape == (*picture.shape[:2], 3) and found.dtype == np.uint8


@pytest.mark.slow
def test_the_feature_node_publishes_them_while_somebody_looks(feature_node, partner):
    pytest.importorskip('rclpy')
    from proemlc_ros.msg import Prediction
    from sensor_msgs.msg import CompressedImage, Image
    from sensor_partner import CAMERA, exchange, picture
    feature_node(CAMERA + '      regions: grid\n      region_grid: [1, 2]\n')
    images = partner.linked_publisher(Image, 'image')
    message, pixels = picture()
    vector = exchange(partner, images, message)
    predictions = partner.create_publisher(Prediction, 'proemlc/predictions', 50)
    # Nobody looks, once those of an earlier test are gone.
    assert partner.wait(lambda: predictions.get_subscription_count() == 0)
    seen, compressed = [], []
    partner.create_subscription(Image, 'features/annotated_image', seen.append, 5)
    partner.create_subscription(
        CompressedImage, 'features/annotated_image/compressed', compressed.append, 5)
    assert partner.wait(lambda: predictions.get_subscription_count() == 1)
    exchange(partner, images, message)
    regions = {}

    def both_seen():
        # Again and again: each topic begins to arrive in its own time.
        images.publish(message)
        regions.update({one.region.id: one.region for one in partner.features})
        for region in regions.values():
            predictions.publish(Prediction(header=vector.header, labels=['cup'], region=region,
                                           region_count=2))
        return seen and compressed

    assert partner.wait(both_seen)
    assert len(regions) == 2
    assert seen[0].header == message.header and seen[0].encoding == 'rgb8'
    found = np.frombuffer(bytes(seen[0].data), np.uint8).reshape(pixels.shape)
    assert tuple(found[24, 0]) == _colour_of('cup') and (found != pixels).any()
    jpeg = cv2.imdecode(np.frombuffer(bytes(compressed[0].data), np.uint8), cv2.IMREAD_COLOR)
    assert jpeg.shape == pixels.shape
