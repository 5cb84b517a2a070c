# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's publishers and subscriptions, with their QoS; pictures for the journal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.exceptions import NameValidationException
from rclpy.lifecycle import LifecycleNode, LifecyclePublisher
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float32MultiArray, Header

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.pictures import HALF, DetectionCollector, keep_late_picture
from proemlc_ros.classifier.validation import LONGEST_TOPIC, validate_text
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.conversions import (
    ANNOTATION_TYPE,
    DETECTIONS_3D_TYPE,
    DETECTIONS_TYPE,
    FEATURES_TYPE,
    LABEL_INFO_TYPE,
    PREDICTION_TYPE,
    VISION_TYPE,
    annotation_message,
    annotation_of,
    detections_3d_message,
    detections_message,
    event_message,
    label_info_message,
    label_set_message,
    prediction_message,
    query_message,
    stamped_vector_of,
    vector_of,
    vision_message,
)
from proemlc_ros.errors import BadSensorDataError, NotActiveError, ProEMLCError, cause_of, text_of
from proemlc_ros.foreign_text import printable_line, shown
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from proemlc_ros.nodes.classifier_diagnostics import QosCheck
from proemlc_ros.nodes.logs import ThrottledLog, log_info, log_warning
from proemlc_ros.nodes.process import RCLError, watched
from proemlc_ros.nodes.ros_messages import RosMessages, message_class
from proemlc_ros.nodes.subscriptions import (
    CameraSubscription,
    MatchedSubscription,
    Receiver,
    profile_of,
)
from proemlc_ros.records import (
    Event,
    LabelState,
    Learnt,
    ModelChange,
    Picture,
    Region,
    StampedVector,
)
from proemlc_ros.regions import pixels_in
from proemlc_ros.stamps import NANOSECONDS, StampBuffer, stamp_of

if TYPE_CHECKING:
    from proemlc_ros.features.regions.space import PlacedRegion

# Every region of a picture is a prediction of its own, and all come at once.
_SENSOR_DEPTH = 100
# Nothing is overwritten: where the queue is full (5,000 with Fast DDS), the publisher has to keep
# the message, and what it cannot keep is counted as lost.
_EVERY_ANNOTATION = QoSProfile(history=HistoryPolicy.KEEP_ALL,
                               reliability=ReliabilityPolicy.RELIABLE)
# Seconds that an annotation waits for room in the queue of the learning thread: a busy disk may
# take some for what is in the queue.
_ROOM_TIMEOUT = 10.0
_PREDICTIONS_ADVICE = ('Subscribe with best effort (sensor data), or set predictions_reliability '
                       'to reliable.')
_FEATURES_ADVICE = 'Set features_reliability to best_effort, or publish reliably.'
_ANNOTATIONS_ADVICE = 'Publish annotations reliably.'
# Depth pictures kept: the features of a picture may take longer than several of them.
_DEPTH_PICTURES = 15
# Seconds by which the stamps of picture and depth may differ.
_DEPTH_TOLERANCE = 0.05
# Rounds of the periodic work without a change after which the model is judged.
_AT_REST = 10
_INPUTS = {'FeatureVector': FeatureVector, 'Float32MultiArray': Float32MultiArray}
_INPUT_TYPES = {'FeatureVector': FEATURES_TYPE,
                'Float32MultiArray': 'std_msgs/msg/Float32MultiArray'}


class ClassifierTopics:
    """Everything that the classifier publishes and subscribes to.

    Features and annotations come in threads of their own, results of annotations in the learning
    thread, all else in the executor's.

    Args:
        node: on which the topics are created.
        values: of the parameters.
        classifier: what is behind them.
        warnings: where rejections and other repeated warnings are logged.
    """

    def __init__(self, node: LifecycleNode, values: SimpleNamespace, classifier: Classifier,
                 warnings: ThrottledLog) -> None:
        self.active = False
        self._node = node
        self._classifier = classifier
        self._warnings = warnings
        self._factory = RosMessages()
        self._labels_changed = False
        self._until_judged = 0
        self._publishing_labels = threading.Lock()
        self._jumps = 0
        self._frame_id = ''
        offered = profile_of(values.predictions_reliability == 'reliable', _SENSOR_DEPTH)
        self._publishers: list[LifecyclePublisher] = []
        self._predictions = self._publisher(Prediction, '~/predictions', offered)
        self._labels = self._publisher(LabelSet, '~/labels', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._queries = self._publisher(LabelQuery, '~/queries', QoSProfile(depth=10))
        self._learnt = self._publisher(LabelAnnotation, '~/learnt', QoSProfile(depth=50))
        self._events = self._publisher(ModelEvent, '~/events', QoSProfile(depth=50))
        self._depth = _DepthInput(node, values, warnings)
        self._vision = _VisionOutput(self._publisher, offered, self._depth)
        classifier.renewals.on_change = self._on_renewed
        classifier.renewals.on_overtaken = lambda text: log_info(node.get_logger(), text)
        self._subscribe(values)
        self._checks = [
            QosCheck(node, self._predictions.topic_name, offered, True, _PREDICTIONS_ADVICE,
                     PREDICTION_TYPE),
            QosCheck(node, self._features.topic_name, self._features.qos, False,
                     _FEATURES_ADVICE, _INPUT_TYPES[values.input_type]),
            QosCheck(node, self._annotations.topic_name, self._annotations.qos, False,
                     _ANNOTATIONS_ADVICE, ANNOTATION_TYPE)]

    def _subscribe(self, values: SimpleNamespace) -> None:
        asked = profile_of(values.features_reliability == 'reliable', values.features_depth)
        on_features = (self._on_features if values.input_type == 'FeatureVector'
                       else self._on_array)
        self._annotations = Receiver(
            self._node, LabelAnnotation, '~/annotations', self._on_annotation, _EVERY_ANNOTATION)
        self._features = Receiver(
            self._node, _INPUTS[values.input_type], '~/features', on_features, asked)

    # ----- feature vectors -----

    def _on_features(self, message: Any) -> None:
        if self.active:
            self._classify(message.header, stamped_vector_of(message))

    def _on_array(self, message: Any) -> None:
        if self.active:
            header = Header(stamp=self._node.get_clock().now().to_msg())
            self._classify(header, StampedVector(stamp_of(header), vector_of(message.data)))

    def _classify(self, header: Header, vector: StampedVector) -> None:
        started = time.perf_counter_ns()
        classifier, factory = self._classifier, self._factory
        try:
            if header.frame_id != self._frame_id:
                validate_text(header.frame_id, 'frame_id', LONGEST_TOPIC)
                self._frame_id = header.frame_id
            prediction = classifier.classify(vector)
        except ProEMLCError as error:
            self.reject(error)
            return
        place = (self._depth.locate(vector.stamp, vector.region) if self._depth.wanted else None)
        self._predictions.publish(prediction_message(
            factory, header, vector, prediction, None if place is None else place.position))
        classifier.statistics.count_prediction(time.perf_counter_ns() - started)
        # What follows is behind the prediction, so that nobody waits for it.
        classifier.keep(vector)
        query = classifier.query(vector, prediction)
        if query is not None:
            self._queries.publish(query_message(factory, header, query))
        self._vision.publish(header, vector, prediction)

    # ----- annotations and changes of the model -----

    def _on_annotation(self, message: Any) -> None:
        if not self.active:
            self._classifier.statistics.annotations.count()
            self.reject(NotActiveError())
            return
        # While one waits for room, those behind wait in the queue of DDS.
        future = self._classifier.annotate(annotation_of(message), _ROOM_TIMEOUT)
        future.add_done_callback(self.publish_learnt)

    def publish_learnt(self, future: Future[Any]) -> None:
        """Publish what was learnt from an annotation, or log why it was rejected.

        Args:
            future: done; with Learnt, or with a ClientRequest that was learnt before.
        """
        error = future.exception()
        if error is not None:
            self.log_rejection(error)
            return
        learnt = future.result()
        if not isinstance(learnt, Learnt):
            return
        if learnt.introduced:
            self.publish_labels()
        else:
            self._labels_changed = True  # Counts and thresholds wait for the periodic work.
        if self._learnt.get_subscription_count():
            self._learnt.publish(annotation_message(
                self._factory, learnt.annotation.bare(), learnt.number))

    def publish_events(self, events: Sequence[Event]) -> None:
        """Publish changes of the model, and the labels after them."""
        if not events:
            return
        self._classifier.matcher.objects.clear()
        self.publish_labels()
        for event in events:
            self._events.publish(event_message(self._factory, event, event.entry))

    def _on_renewed(self, change: ModelChange) -> None:
        log_info(self._node.get_logger(), f'The model was {change.message}')
        self.publish_events(change.events)

    def publish_labels(self) -> None:
        """Publish the labels as they are now; how good they are follows when they are at rest."""
        self._publish_labels()
        self._until_judged = _AT_REST

    def _judge_labels(self) -> None:
        """Publish how good the model is, once no annotation has come for a while."""
        if self._until_judged:
            self._until_judged -= 1
            if not self._until_judged:
                self._classifier.durable.model.judge()
                self._publish_labels()

    def _publish_labels(self) -> None:
        # One at a time, or an older state could be the last that is published.
        with self._publishing_labels:
            self._labels_changed = False
            state = self._classifier.durable.model.label_state()
            message = label_set_message(
                self._factory, state, self._node.get_clock().now().nanoseconds)
            self._labels.publish(message)
            self._vision.publish_labels(message.header, state)

    def reject(self, error: BaseException) -> None:
        """Count and log a rejected message."""
        self._classifier.statistics.reject(cause_of(error))
        self.log_rejection(error)

    def log_rejection(self, error: BaseException) -> None:
        """Log a rejection that is counted already, not too often."""
        cause = cause_of(error)
        self._warnings.log(cause, f'Rejected, {cause}: {text_of(error)}')

    # ----- by the clock -----

    def note_changed_thresholds(self) -> None:
        """Publish the labels soon: parameters may have changed their thresholds."""
        self._labels_changed = True

    def run_periodic_work(self) -> None:
        """Settle held annotations, snapshot, publish counts that changed; call it regularly."""
        if not self.active:
            return
        self._classifier.run_periodic_work()
        if self._labels_changed:
            self.publish_labels()
        else:
            self._judge_labels()
        jumps = self._classifier.matcher.buffer.jumps
        if jumps != self._jumps:
            self._jumps = jumps
            self._warnings.log(
                'stamps', 'The stamps of the features jumped back (a looping bag or a restarted '
                'simulation?); the buffer was cleared.')

    def check_connections(self) -> None:
        """Warn of endpoints with an incompatible QoS, and of lost annotations."""
        for check in self._checks:
            check.check()
        lost = self._annotations.lost
        new = lost - self._classifier.statistics.lost_annotations
        if new:
            self._classifier.statistics.lost_annotations = lost
            self._warnings.log('lost', f'{new} annotations were lost: their publisher could not '
                               'keep them until they were received. Publish more slowly, with a '
                               'longer queue, or call ~/annotate.')

    # ----- taking down -----

    def stop_receiving(self) -> None:
        """Receive nothing any more."""
        self.active = False
        self._features.destroy()
        self._annotations.destroy()
        self._depth.destroy()

    def destroy(self) -> None:
        """Take down what is left."""
        for publisher in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)

    def _publisher(self, kind: type, topic: str, qos: QoSProfile) -> LifecyclePublisher:
        publisher: LifecyclePublisher = self._node.create_lifecycle_publisher(
            kind, topic, qos, event_callbacks=PublisherEventCallbacks(use_default_callbacks=False))
        self._publishers.append(publisher)
        return publisher


class _DepthInput:
    """Depth pictures and intrinsics of the camera; tells where regions are in space.

    Args:
        node: to subscribe with.
        values: of the parameters; without depth_topic there are no positions.
        warnings: where unusable messages are logged.

    Attributes:
        wanted: whether positions are asked for.
    """

    def __init__(self, node: LifecycleNode, values: SimpleNamespace,
                 warnings: ThrottledLog) -> None:
        self.wanted = bool(values.depth_topic and values.camera_info_topic)
        if not self.wanted and (values.depth_topic or values.camera_info_topic):
            warnings.log('depth', 'No positions: depth_topic and camera_info_topic go together; '
                         'set both')
        self._warnings = warnings
        self._lock = threading.Lock()
        self._pictures: StampBuffer[Any] = StampBuffer(
            _DEPTH_PICTURES, tolerance=round(_DEPTH_TOLERANCE * NANOSECONDS))
        self._camera: Any = None
        # The newest picture that was asked for, in metres: all boxes of a picture ask for it.
        self._metres: tuple[Any, Any] = (None, None)
        self._subscriptions: list[MatchedSubscription] = []
        if self.wanted:
            from sensor_msgs.msg import CameraInfo, Image  # Not where there is no depth.
            self._subscriptions = [
                MatchedSubscription(node, kind, topic, take, types=(name,))
                for kind, topic, take, name in (
                    (Image, values.depth_topic, self._on_depth, 'sensor_msgs/msg/Image'),
                    (CameraInfo, values.camera_info_topic, self._on_camera,
                     'sensor_msgs/msg/CameraInfo'))]

    def locate(self, stamp: int, region: Region) -> PlacedRegion | None:
        """Return where a region of the picture with a stamp is; None: not known."""
        if region.is_whole:
            return None
        from proemlc_ros.features.regions.space import depth_metres, placed
        with self._lock:
            message, camera = self._pictures.find(stamp), self._camera
            if message is None or camera is None:
                return None
            if self._metres[0] is not message:
                try:
                    self._metres = message, depth_metres(message, camera)
                except BadSensorDataError as error:
                    self._metres = message, None
                    self._warn(error)
            metres = self._metres[1]
        return None if metres is None else placed(region, metres, camera)

    def destroy(self) -> None:
        """Receive nothing any more."""
        for subscription in self._subscriptions:
            subscription.destroy()

    def _on_depth(self, message: Any) -> None:
        with self._lock:
            self._pictures.put(stamp_of(message.header), message)

    def _on_camera(self, message: Any) -> None:
        from proemlc_ros.features.regions.space import intrinsics_of
        try:
            camera = intrinsics_of(message)
        except BadSensorDataError as error:
            self._warn(error)
            return
        with self._lock:
            self._camera = camera

    def _warn(self, error: BadSensorDataError) -> None:
        self._warnings.log(('depth', error.cause), f'No positions, {error.cause}: {error}')


class _VisionOutput:
    """Publishes predictions as Classification, Detection2DArray, Detection3DArray and LabelInfo.

    Args:
        publisher: makes a publisher of a type, a topic and a QoS profile.
        qos: of the predictions.
        depth: knows where regions are.
    """

    def __init__(self, publisher: Callable[[type, str, QoSProfile], Any],
                 qos: QoSProfile, depth: _DepthInput) -> None:
        self._depth = depth
        self._factory = RosMessages()
        self._collector = DetectionCollector()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._classification, self._detections, self._detections_3d, self._label_info = (
            None if kind is None else publisher(kind, topic, profile)
            for kind, topic, profile in (
                (message_class(VISION_TYPE), '~/classification', qos),
                (message_class(DETECTIONS_TYPE), '~/detections', qos),
                (message_class(DETECTIONS_3D_TYPE) if depth.wanted else None, '~/detections_3d',
                 qos),
                (message_class(LABEL_INFO_TYPE), '~/label_info', latched)))

    def publish(self, header: Any, vector: StampedVector,
                prediction: VersionedPrediction) -> None:
        """Publish a prediction; detections once all of a picture are there."""
        if self._classification is not None and self._classification.get_subscription_count():
            self._classification.publish(vision_message(self._factory, header, prediction))
        flat, in_space = (one if one is not None and one.get_subscription_count() else None
                          for one in (self._detections, self._detections_3d))
        if flat is None and in_space is None:
            return
        found = self._collector.add(vector, prediction)
        if found is None:
            return
        if flat is not None:
            flat.publish(detections_message(self._factory, header, found))
        if in_space is not None:
            placed = [(one, self._depth.locate(vector.stamp, one.region)) for one in found]
            in_space.publish(detections_3d_message(self._factory, header, (
                (one, *place) for one, place in placed if place is not None)))

    def publish_labels(self, header: Any, state: LabelState) -> None:
        """Publish the names of the labels, and the confidence above which one is predicted."""
        if self._label_info is not None:
            self._label_info.publish(label_info_message(self._factory, header, state.names, HALF))


# Seconds between looks at the publishers of a topic.
_CHECK_PERIOD = 1.0
# A name that is none, since others give it, or a topic that the security policy does not allow.
_REFUSED = (NameValidationException, ValueError, RCLError)
_JPEG = b'\xff\xd8\xff'


class ClassifierPictures:
    """Subscribes to the pictures that the feature vectors are made from, and keeps the newest.

    Args:
        node: that subscribes.
        values: of the parameters.
        classifier: gets the pictures.
    """

    def __init__(self, node: Node, values: SimpleNamespace, classifier: Classifier) -> None:
        self._node = node
        self._values = values
        self._classifier = classifier
        self._camera = CameraSubscription(node, self._on_picture, own_thread=True)
        self._topic = ''
        self._next_check = 0.0
        self._watched: ExitStack | None = None
        buffer = classifier.durable.pictures
        buffer.active = bool(values.keep_pictures)
        buffer.max_bytes = values.picture_buffer_mb * 1_000_000

    def follow(self) -> None:
        """Subscribe to the topic that the newest feature vector names; call it regularly."""
        if not self._values.keep_pictures:
            return
        newest = self._classifier.matcher.buffer.newest
        topic = self._values.picture_topic or ('' if newest is None else newest.source_topic)
        changed = bool(topic) and topic != self._topic
        if not changed and time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + _CHECK_PERIOD
        try:
            if changed:
                self._topic = topic
                self._classifier.durable.pictures.clear()
                self._camera.follow(topic, warn=bool(self._values.picture_topic))
            self._camera.check()
            if self._camera.receives and self._watched is None:
                # A reader of pictures may never return; see subscriptions.py.
                self._watched = ExitStack()
                self._watched.enter_context(watched(None))
        except _REFUSED as error:
            self._camera.follow('')  # Not again, unless the vectors name another one.
            log_warning(self._node.get_logger(), printable_line(
                f'The journal gets no pictures: {shown(topic)} cannot be received: {error}'))

    def destroy(self) -> None:
        """Receive nothing any more."""
        self._camera.destroy()
        if self._watched is not None:
            self._watched.close()

    def _on_picture(self, message: Any, kind: str) -> None:
        source = CameraSource(message, kind, self._values.picture_size,
                              self._values.picture_quality)
        durable = self._classifier.durable
        for number, picture in durable.pictures.add(stamp_of(message.header), source):
            self._classifier.learning.call(partial(keep_late_picture, durable, number, picture))


class CameraSource:
    """An image message that can be made small.

    Args:
        message: Image or CompressedImage.
        kind: its type.
        size: longest side of the small picture, pixels.
        quality: of its JPEG, 1 to 100.
    """

    def __init__(self, message: Any, kind: str, size: int, quality: int) -> None:
        self.nbytes = len(message.data)
        self._message = message
        self._kind = kind
        self._size = size
        self._quality = quality

    def picture(self, region: Region) -> Picture:
        """Return it, or a region of it, small and compressed.

        Raises:
            BadSensorDataError: the message is broken.
        """
        # Here, since OpenCV would make each start longer, with or without pictures.
        from proemlc_ros.features.sensor_arrays import jpeg_of, sample_of

        pixels = sample_of(self._message, self._kind)
        stamp = stamp_of(self._message.header)
        whole = not (region.size_x > 0 and region.size_y > 0)
        if whole and max(pixels.shape[:2]) <= self._size and self._kind.endswith('Compressed'
                                                                                 'Image'):
            data = bytes(self._message.data)
            # Once compressed is better than twice; but anything may be hidden in comments.
            if data.startswith(_JPEG) and len(data) <= pixels.nbytes:
                return Picture(stamp, 'jpeg', data)
        if not whole:
            pixels = pixels_in(pixels, region)
        return Picture(stamp, 'jpeg', jpeg_of(pixels, self._size, self._quality))
