# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes a bag, where `ros2 bag play` is not installed, and teaches what it holds.

Published on topics, the events of a journal have no effect, and annotations are lost until both
sides have found each other. So a classifier is taught by its services: each call is answered
before the next, and it ends with the model of the one that was recorded.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from importlib import import_module
from pathlib import Path
from typing import Any

import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import try_shutdown
from rosbags.interfaces import QosDurability

from proemlc_ros.bags.reader import BagReader, offered_qos
from proemlc_ros.bags.sources import BagRecord, Sources, TopicSelection, find_sources, node_of
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE, FEATURES_TYPE, annotation_message
from proemlc_ros.errors import BagError, ParameterError
from proemlc_ros.foreign_text import printable_line
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.nodes.ros_messages import SERVICE_QOS, SERVICES, RosMessages
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector
from proemlc_ros.stamps import StampBuffer

# Seconds that the classifier may take for one answer; building a model again takes the longest.
ANSWER_TIMEOUT = 120.0
# Seconds after which an annotation is sent again, by the same id, so that it is learnt once: an
# answer is lost where the classifier has not found this client yet.
REPEAT_AFTER = 10.0
# Vectors kept for annotations to come, as in the classifier.
MAX_VECTORS = 1000
_SERVICES = ('annotate', 'undo', 'reset', 'renew', 'rename_label', 'remove_label', 'load_model',
             'change_samples', 'merge_labels', 'list_history', 'undo_change', 'redo_change')
_CORRECTIONS = (EventKind.RELABEL, EventKind.DELETE)
_TURNS = (EventKind.UNDO, EventKind.REDO)
# Service and request of the events that refer to no other entry.
_REQUESTS: dict[EventKind, Callable[[Event], tuple[str, dict[str, Any]]]] = {
    EventKind.UNDO: lambda event: ('undo', {}),
    EventKind.REDO: lambda event: ('redo_change', {}),
    EventKind.RESET: lambda event: ('reset', {}),
    EventKind.RENEW: lambda event: ('renew', {}),
    EventKind.RENAME: lambda event: (
        'rename_label', {'label': event.label, 'new_label': event.new_label}),
    EventKind.REMOVE: lambda event: ('remove_label', {'label': event.label}),
    EventKind.MERGE_LABELS: lambda event: (
        'merge_labels', {'label': event.label, 'into': event.new_label}),
    EventKind.LOAD: lambda event: ('load_model', {'file_name': event.file_name}),
}


class TeachingPlayer:
    """Carries out annotations and events of a bag at a classifier.

    Args:
        node: to call with.
        executor: that has the node.
        classifier: full name of the classifier.

    Attributes:
        done: number of annotations and events carried out.
        failures: why others were not, in words.
    """

    def __init__(self, node: Node, executor: Executor, classifier: str) -> None:
        self.done = 0
        self.failures: list[str] = []
        self._node = node
        self._classifier = classifier
        self._executor = executor
        self._clients: dict[str, Client] = {}
        self._messages = RosMessages()
        self._vectors: StampBuffer[StampedVector] = StampBuffer(MAX_VECTORS)
        self._newest: StampedVector | None = None
        # By the numbers of entries in the bag: those that the classifier gave, and who did it.
        self._numbers: dict[int, int] = {}
        self._annotators: dict[int, str] = {}
        self._id = f'play:{secrets.token_hex(6)}'
        self._annotations = 0

    def wait(self, seconds: float) -> bool:
        """Wait until the classifier offers its services; return whether it does."""
        for name in _SERVICES:  # All of them now, so that they have found each other when needed.
            self._client(name)
        return bool(self._client('annotate').wait_for_service(seconds))

    def take(self, record: BagRecord) -> None:
        """Carry out a record; a vector is kept for the annotations of it."""
        if isinstance(record, StampedVector):
            self._vectors.put(record.stamp, record)
            self._newest = record
            return
        if isinstance(record, Annotation):
            number = self._annotate(record)
        elif record.kind in _CORRECTIONS or record.sample and record.kind in _TURNS:
            number = self._correct(record)
        else:
            number = self._change(record)
        if record.entry and number:
            self._numbers[record.entry] = number
            self._annotators[record.entry] = record.annotator

    def _annotate(self, annotation: Annotation) -> int:
        """Return the number of the entry; so do the others; 0 where there is none."""
        vector = (self._vectors.find(annotation.stamp) if annotation.stamp else self._newest)
        if annotation.features is None and vector is not None:
            annotation = annotation.about(vector)
        self._annotations += 1
        answer = self._call('annotate', annotation=annotation_message(self._messages, annotation),
                            request_id=f'{self._id}:{self._annotations}')
        if answer is None:
            return 0
        return int(answer.entry)

    def _correct(self, event: Event) -> int:
        """Carry out an event that refers to another entry."""
        number = self._numbers.get(event.sample)
        if number is None:
            self.failures.append(f'{event.kind.name.lower()} of entry {event.sample}, which is '
                                 'not in the bag or was not repeated')
            return 0
        if event.kind in _TURNS:
            # Of one's own steps the last one, else the last one of all.
            self._call(f'{event.kind.name.lower()}_change', steps=[number],
                       annotator=event.annotator,
                       mine=self._annotators[event.sample] == event.annotator)
            return 0
        answer = self._call(
            'change_samples', samples=[number], labels=list(event.labels),
            absent=list(event.absent), complete=event.complete,
            remove=event.kind is EventKind.DELETE, annotator=event.annotator)
        return 0 if answer is None else int(answer.steps[0])

    def _change(self, event: Event) -> int:
        """Carry out an event about the model as a whole, or its last annotation."""
        name, fields = _REQUESTS[event.kind](event)
        if event.kind not in (EventKind.UNDO, EventKind.RESET, EventKind.RENEW):
            fields['annotator'] = event.annotator
        if self._call(name, **fields) is None or event.kind is EventKind.UNDO:
            return 0
        return self._last_step()

    def _last_step(self) -> int:
        history = self._call('list_history', limit=1)
        self.done -= 1  # It only asks.
        return int(history.steps[0].number) if history is not None and history.steps else 0

    def _call(self, name: str, **fields: Any) -> Any:
        """Return the answer of a service, None where it did not succeed.

        Raises:
            BagError: the classifier does not answer.
        """
        client = self._client(name)
        if not client.wait_for_service(ANSWER_TIMEOUT):
            raise BagError(f'{self._classifier} offers no service {name}; is it active?')
        request = SERVICES[name].Request(**fields)
        future = client.call_async(request)
        began = sent = time.monotonic()
        while not future.done():
            if time.monotonic() > began + ANSWER_TIMEOUT or not self._node.context.ok():
                raise BagError(f'{self._classifier} has not answered {name}')
            if name == 'annotate' and time.monotonic() > sent + REPEAT_AFTER:
                client.remove_pending_request(future)
                future, sent = client.call_async(request), time.monotonic()
            self._executor.spin_once(0.1)
        answer: Any = future.result()
        if not answer.success:
            self.failures.append(f'{name}: {answer.message}')
            return None
        self.done += 1
        return answer

    def _client(self, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(
                SERVICES[name], f'{self._classifier}/{name}', qos_profile=SERVICE_QOS)
        return self._clients[name]


_POLL = 0.02


class BagPlayer(Node):
    """Publishes the messages of a bag as they are, at the recorded pace.

    Args:
        bag: open bag.
        context: rclpy context; None: the default one.

    Raises:
        BagError: no topic of the bag can be published.
    """

    def __init__(self, bag: BagReader, context: Context | None = None) -> None:
        super().__init__('proemlc_player', context=context)
        self._bag = bag
        self._publisher_of: dict[str, Publisher] = {}
        latched = _latched_topics(bag)
        self._taught = _taught_sources(bag)
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        self.teaching = {node: TeachingPlayer(self, executor, node) for node in self._taught}
        silent = _own_topics(bag, self._taught)
        for topic in bag.topics:
            if topic.name in silent or not topic.count:
                continue
            message_class = _message_class(topic)
            if message_class is None:
                self.get_logger().warning(
                    f'{topic.name} is left out: the type {topic.type} is not installed')
            else:
                self._publisher_of[topic.name] = self.create_publisher(
                    message_class, topic.name, _qos_profile(topic.name in latched))
        if not self._publisher_of and not self._taught:
            raise BagError(f'{bag.path}: no topic in it can be published')

    def wait_for_subscribers(self, seconds: float) -> bool:
        """Wait until every topic has a subscriber; return whether all have one."""
        end = time.monotonic() + seconds
        for player in self.teaching.values():
            if not player.wait(seconds):
                return False
        while time.monotonic() < end and self.context.ok():
            publishers = self._publisher_of.values()
            if all(publisher.get_subscription_count() for publisher in publishers):
                return True
            time.sleep(_POLL)
        return False

    def play(
        self, rate: float = 1.0, after_each: Callable[[str, int], None] | None = None
    ) -> int:
        """Publish everything.

        Args:
            rate: playback speed; 2 is twice as fast as recorded.
            after_each: called with topic and recorded time after each message; may block until
                it has been processed.

        Returns:
            Number of messages published.
        """
        began = time.monotonic()
        count = 0
        taught = merge(*(self._teaching_stream(node) for node in self._taught),
                       key=lambda item: item[0])
        coming = next(taught, None)
        for connection, recorded, data in self._bag.raw(set(self._publisher_of)):
            while coming is not None and coming[0] <= recorded:
                coming[1].take(coming[2])
                coming = next(taught, None)
            due = began + (recorded - self._bag.start) / 1e9 / rate
            while (left := due - time.monotonic()) > 0 and self.context.ok():
                time.sleep(min(left, 0.1))
            if not self.context.ok():
                break
            # Serialized messages are published as they are.
            self._publisher_of[connection.topic].publish(bytes(data))
            count += 1
            if after_each is not None:
                after_each(connection.topic, recorded)
        while coming is not None and self.context.ok():
            coming[1].take(coming[2])
            coming = next(taught, None)
        for publisher in self._publisher_of.values():
            publisher.wait_for_all_acked()
        return count + sum(player.done for player in self.teaching.values())

    def _teaching_stream(self, node: str) -> Iterator[tuple[int, TeachingPlayer, BagRecord]]:
        # Opened once more: what is published is read at the same time.
        with self._bag.again() as bag:
            folder = Journal.find(bag.path) if bag.path.is_dir() else None
            records = self._taught[node].stream(bag) if folder is None else _numbered(folder)
            for recorded, record in records:
                yield recorded, self.teaching[node], record


def play(path: Path, rate: float, wait: float, best_effort: bool = False) -> int:
    """Publish a bag and return the number of messages.

    Args:
        path: the bag.
        rate: playback speed; 2 is twice as fast as recorded.
        wait: seconds to wait for subscribers before the first message.
        best_effort: read the intact part of a damaged bag.

    Raises:
        BagError: the bag cannot be read, or none of its types is installed.
        ParameterError: the rate is not above 0, or infinite.
    """
    if not 0.0 < rate < float('inf'):
        raise ParameterError(f'the rate is {rate:g}; it must be above 0')
    with BagReader(path, best_effort) as bag:
        rclpy.init()
        try:
            player = BagPlayer(bag)
            if not player.wait_for_subscribers(wait):
                player.get_logger().warning(
                    f'not every topic has a subscriber after {wait:g} s; playing anyway')
            count = player.play(rate)
            for teaching in player.teaching.values():
                for failure in teaching.failures:
                    player.get_logger().warning(f'not repeated: {printable_line(failure)}')
            return count
        except KeyboardInterrupt:
            return 0
        finally:
            try_shutdown()


def _taught_sources(bag: BagReader) -> dict[str, Sources]:
    """Return what classifiers were taught in a bag, by their full names.

    Only of bags that hold model events, or what was learnt: there the topic of annotations tells
    half of it.
    """
    names = {topic.name for topic in bag.of_type(ANNOTATION_TYPE, EVENT_TYPE)}
    nodes = {node_of(topic.name) for topic in bag.of_type(ANNOTATION_TYPE, EVENT_TYPE)
             if topic.type == EVENT_TYPE or topic.name.endswith('/learnt')}
    found = {}
    for node in sorted(nodes):
        features = f'{node}/features'
        recorded = any(topic.name == features for topic in bag.of_type(FEATURES_TYPE))
        if f'{node}/annotations' in names or f'{node}/learnt' in names:
            # Without features in the bag a feature node makes them; then topics must do.
            with suppress(BagError):
                found[node] = find_sources(bag, TopicSelection(
                    features if recorded else '', node=node))
    return found


def _numbered(folder: Path) -> Iterator[tuple[int, BagRecord]]:
    """Yield time and record of the entries of a journal, with their numbers."""
    for entry in Journal(folder, read_only=True).entries():
        if entry.record is not None:
            yield entry.time, entry.record._replace(entry=entry.number)


def _own_topics(bag: BagReader, nodes: Iterable[str]) -> set[str]:
    """Return the topics that the classifiers publish themselves, or are taught by services."""
    return {topic.name for topic in bag.topics for node in nodes
            if node_of(topic.name) == node and not topic.name.endswith('/features')}


def _message_class(topic: BagTopic) -> type | None:
    package, _, name = topic.type.partition('/msg/')
    try:
        found: type | None = getattr(import_module(f'{package}.msg'), name)
        return found
    except (ImportError, AttributeError):
        return None


def _latched_topics(bag: BagReader) -> set[str]:
    """Return the topics whose publishers offered transient-local durability."""
    return {
        connection.topic for connection in bag.connections
        for profile in offered_qos(connection)
        if profile.durability == QosDurability.TRANSIENT_LOCAL
    }


def _qos_profile(latched: bool) -> QoSProfile:
    """Return a profile that both reliable and best-effort subscriptions accept."""
    return QoSProfile(
        depth=1000, reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)
