# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the feature node receives and publishes beside sensor messages and feature vectors.

The subscriptions to regions, a detector's and those that operators draw; diagnostics; pictures
with labels and boxes drawn on them; and the thread that extracts. While that works on one message,
the one that receives prepares the next; libraries such as onnxruntime and OpenCV do so at the same
time. Nothing queues up in between: what comes too fast stays in the subscription's own queue,
where the newest messages replace the oldest.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from numpy.typing import NDArray
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image

from proemlc_ros.classifier.classifier import RateMeter, Silence
from proemlc_ros.conversions import region_of
from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.pipeline import FeaturePipeline, FeatureSample, Sensor
from proemlc_ros.features.regions.drawing import Caption, drawn
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.features.sensor_arrays import jpeg_of, sample_of
from proemlc_ros.msg import Prediction
from proemlc_ros.nodes.logs import ThrottledLog, fault_text
from proemlc_ros.nodes.ros_messages import message_class
from proemlc_ros.nodes.subscriptions import MatchedSubscription
from proemlc_ros.stamps import StampBuffer, stamp_of

DRAWN_TOPIC = '~/regions'
DRAWN_TYPE = 'proemlc_ros/msg/RegionArray'
DETECTOR_QUEUE = 10
DRAWN_QOS = QoSProfile(depth=10)
CAUSES = {
    'bad_region_id': 'its id is too long or does not print',
    'region_not_finite': 'a coordinate is NaN or infinite',
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
            kind: Any = message_class(DRAWN_TYPE)
            # At once, not with the next check: the first picture may be drawn on, too.
            node.create_subscription(
                kind, DRAWN_TOPIC, partial(self._on_regions, True),
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


class PipelineThread:
    """Does pieces of work one after the other, in the order in which they are handed over.

    Args:
        name: of the thread.
        on_error: called with errors of a piece of work, in words; the next one is not affected.
    """

    def __init__(self, name: str, on_error: Callable[[str], object]) -> None:
        self._on_error = on_error
        self._work: Callable[[], object] | None = None
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, work: Callable[[], object]) -> None:
        """Hand work over and wait until it is begun; called from one thread."""
        with self._changed:
            self._work = work
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._work is None or self._stopping)

    def close(self) -> None:
        """Finish what was handed over, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._work is not None or self._stopping)
                work, self._work = self._work, None
                self._changed.notify_all()
            if work is None:
                return
            self._do(work)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # A fault of ours must not end the stream unheard.
            self._on_error(fault_text(error))


# Seconds without features after which something is wrong.
_QUIET = 5.0
TOPIC = '~/annotated_image'
# Every region of a picture is a prediction of its own.
PREDICTIONS_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
# Pictures that wait for predictions; a classifier that is slower than that misses them.
MAX_WAITING = 15
JPEG_QUALITY = 85


class AnnotatedImages:
    """Draws predictions on the pictures that they are about; idle while nobody subscribes.

    Args:
        node: to publish with.
        sensors: of the node; the pictures are those of the first camera.
        classifier: full name of the classifier.
    """

    def __init__(self, node: Node, sensors: Sequence[Sensor], classifier: str) -> None:
        self._node = node
        self._predictions = f'{classifier}/predictions'
        self._camera = next((sensor for sensor in sensors
                             if sensor.extractor.sensor == 'image'), None)
        self._plain = node.create_publisher(Image, TOPIC, 2)
        self._compressed = node.create_publisher(CompressedImage, f'{TOPIC}/compressed', 2)
        self._subscription: Any = None
        self._pictures: StampBuffer[Any] = StampBuffer(MAX_WAITING)
        self._captions: StampBuffer[dict[Any, Caption]] = StampBuffer(MAX_WAITING)

    def check(self) -> None:
        """Listen to predictions while somebody looks; call it regularly."""
        wanted = bool(self._plain.get_subscription_count()
                      or self._compressed.get_subscription_count())
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                Prediction, self._predictions, self._on_prediction, PREDICTIONS_QOS)
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._pictures.clear()
            self._captions.clear()

    def add(self, name: str, message: Any) -> None:
        """Keep a picture of a sensor until its predictions come."""
        if self._subscription is None or self._camera is None or name != self._camera.name:
            return
        self._pictures.put(stamp_of(message.header), message)

    def _on_prediction(self, message: Prediction) -> None:
        stamp, region = stamp_of(message.header), region_of(message)
        found = self._captions.find(stamp)
        if found is None:
            found = {}
            self._captions.put(stamp, found)
        found[region.box] = Caption(region, tuple(message.labels), message.unknown)
        if len(found) >= message.region_count:
            self._captions.pop(stamp)
            self._publish(stamp, list(found.values()))

    def _publish(self, stamp: int, captions: list[Caption]) -> None:
        # It stays: a box that is drawn by hand comes after the others of its picture.
        message = self._pictures.find(stamp)
        if message is None or self._camera is None:
            return
        try:
            pixels = drawn(sample_of(message, self._camera.message_type), captions)
        except BadSensorDataError:
            return  # The feature node has counted and logged it.
        if self._plain.get_subscription_count():
            self._plain.publish(_image_message(message.header, pixels))
        if self._compressed.get_subscription_count():
            self._compressed.publish(_jpeg_message(message.header, pixels))


def _image_message(header: Any, pixels: NDArray[np.uint8]) -> Image:
    """Return RGB pixels as an Image."""
    height, width = pixels.shape[:2]
    return Image(header=header, height=height, width=width, encoding='rgb8', step=3 * width,
                 data=array('B', pixels.tobytes()))


def _jpeg_message(header: Any, pixels: NDArray[np.uint8]) -> CompressedImage:
    """Return RGB pixels as a CompressedImage."""
    return CompressedImage(header=header, format='rgb8; jpeg compressed bgr8', data=array(
        'B', jpeg_of(pixels, max(pixels.shape), JPEG_QUALITY)))


class FeatureDiagnostics:
    """Collects what the diagnostics show: rates, rejects by cause, missing publishers."""

    def __init__(self, pipeline: FeaturePipeline, node_name: str) -> None:
        """Take the pipeline, and the name of the node for the status."""
        self._pipeline = pipeline
        self._node_name = node_name
        self._received = {sensor.name: RateMeter() for sensor in pipeline.sensors}
        self._last_rejects = 0
        self._problems: dict[str, str] = {}
        self.published = RateMeter()
        self._silence = Silence()
        self.incompatible: dict[str, str] = {}

    def note_publishers(self, sensor: Sensor, types: Collection[str]) -> bool:
        """Note the types on a sensor's topic; return whether they are all other than ours."""
        other = bool(types) and sensor.message_type not in types
        if other:
            self._problems[sensor.name] = (
                f'{sensor.topic} carries {", ".join(sorted(types))}, not {sensor.message_type}')
        elif not types:
            self._problems[sensor.name] = f'{sensor.topic} has no publisher'
        else:
            self._problems.pop(sensor.name, None)
        return other

    def status(self, now: int) -> DiagnosticStatus:
        """Return the status at a time (nanoseconds of a monotonic clock)."""
        values = {'extractor': self._pipeline.extractor}
        values['published (1/s)'] = f'{self.published.read(now):.1f}'
        values['published'] = str(self.published.total)
        for name, meter in self._received.items():
            meter.total = self._pipeline.received[name]
            values[f'{name}: received (1/s)'] = f'{meter.read(now):.1f}'
            values[f'{name}: received'] = str(meter.total)
        for name, count in self._pipeline.unjoined.items():
            if count:
                values[f'{name}: nothing near in time'] = str(count)
        for (name, cause), count in sorted(self._pipeline.rejected.items()):
            values[f'{name}: rejected, {cause}'] = str(count)
        for cause, count in sorted(self._pipeline.regions.rejected.items()):
            values[f'regions: rejected, {cause}'] = str(count)
        level, message = self._summary()
        return DiagnosticStatus(
            level=level, name=f'{self._node_name.lstrip("/")}: features', message=message,
            hardware_id=self._node_name,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])

    def _summary(self) -> tuple[bytes, str]:
        rejects = (sum(self._pipeline.rejected.values())
                   + sum(self._pipeline.regions.rejected.values()))
        new_rejects = rejects - self._last_rejects
        self._last_rejects = rejects
        problems = [*self.incompatible.values(), *self._problems.values()]
        if new_rejects:
            problems.append(f'{new_rejects} messages or regions rejected')
        quiet = self._silence.seconds(self.published.total)
        if quiet >= _QUIET:
            problems.append(f'no features for {quiet:.0f} s')
        if problems:
            return DiagnosticStatus.WARN, '; '.join(problems)
        return DiagnosticStatus.OK, 'features are published'
