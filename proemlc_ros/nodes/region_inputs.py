# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node's subscriptions to regions: a detector's, and those that operators draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.pipeline import FeaturePipeline, FeatureSample
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.nodes.matched_subscription import MatchedSubscription
from proemlc_ros.nodes.ros_messages import message_class
from proemlc_ros.nodes.throttled_log import ThrottledLog

DRAWN_TOPIC = '~/regions'
DRAWN_TYPE = 'proemlc_ros/msg/RegionArray'
DETECTOR_QUEUE = 10
DRAWN_QOS = QoSProfile(depth=10)
CAUSES = {
    'bad_region_id': 'its id is too long or does not print',
    'region_not_finite': 'a number of it is not finite',
    'region_of_other_stamp': 'no picture has its stamp (or has it no more)',
    'region_outside': 'more than half of it lies outside the picture',
    'region_rotated': 'it is rotated; only upright boxes can be cut out',
    'region_without_size': 'it has no size',
    'region_without_stamp': 'its header has no stamp, so its picture is not known',
    'repeated_region': 'the same box came twice for one picture',
    'too_many_regions': 'there are more for one picture than max_regions',
}


class RegionInputs:
    """Feeds a pipeline with regions, and reports those that it could not use.

    Args:
        node: to subscribe with.
        pipeline: that cuts the pictures.
        publish: takes the vectors.
        warnings: where rejected regions are logged.
        later: has work done in its turn, by the one thread that may touch the pipeline.

    Raises:
        ExtractorError: the type of the detector's messages is not installed.

    """

    def __init__(self, node: Node, pipeline: FeaturePipeline,
                 publish: Callable[[Sequence[FeatureSample]], None],
                 warnings: ThrottledLog,
                 later: Callable[[Callable[[], object]], None]) -> None:
        self._later = later
        self._pipeline = pipeline
        self._publish = publish
        self._warnings = warnings
        self._detector: MatchedSubscription | None = None
        how = pipeline.regions.topic
        if how is not None:
            self._detector = MatchedSubscription(
                node, _type_of(how), how.topic, partial(self._on_regions, False), DETECTOR_QUEUE)
        if pipeline.regions.camera(drawn=True) is not None:
            # At once, not with the next check: the first picture may be drawn on, too.
            node.create_subscription(
                message_class(DRAWN_TYPE), DRAWN_TOPIC, partial(self._on_regions, True),
                DRAWN_QOS, event_callbacks=SubscriptionEventCallbacks(
                    matched=self._on_matched, use_default_callbacks=False))

    def check(self) -> None:
        """Follow the detector; call it regularly."""
        if self._detector is not None:
            self._detector.check()

    def note_rejects(self) -> None:
        """Log the regions that were rejected since the last call, by cause."""
        for cause, count in self._pipeline.regions.new_rejects().items():
            self._warnings.log(('regions', cause), f'{count} regions rejected, {cause}: '
                               f'{CAUSES.get(cause, "the extractor failed")}')

    def _on_matched(self, event: Any) -> None:
        """Keep pictures while somebody may draw on them."""
        self._pipeline.regions.drawing = event.current_count > 0

    def _on_regions(self, drawn: bool, message: Any) -> None:
        self._later(partial(self._extract, drawn, message))

    def _extract(self, drawn: bool, message: Any) -> None:
        try:
            self._publish(self._pipeline.push_regions(message, drawn))
        except BadSensorDataError as error:
            self._warnings.log(('regions', error.cause), f'regions: {error}')
        self.note_rejects()


def _type_of(how: SensorRegions) -> type:
    kind = message_class(how.type)
    if kind is None:
        raise ExtractorError(
            f'regions_type {how.type} is not installed; install the package '
            f'{how.type.partition("/")[0]}, or publish proemlc_ros/msg/RegionArray')
    return kind
