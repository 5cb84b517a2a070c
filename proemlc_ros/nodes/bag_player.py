# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes a bag, where `ros2 bag play` is not installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from importlib import import_module
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import try_shutdown
from rosbags.interfaces import QosDurability

from proemlc_ros.bags.learnt_copies import node_of
from proemlc_ros.bags.reader import BagReader, offered_qos
from proemlc_ros.bags.sources import BagRecord, Sources, TopicSelection, find_sources
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE, FEATURES_TYPE
from proemlc_ros.errors import BagError, ParameterError
from proemlc_ros.foreign_text import printable_line
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.nodes.teaching_player import TeachingPlayer

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
        self._taught = taught_sources(bag)
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        self.teaching = {node: TeachingPlayer(self, executor, node) for node in self._taught}
        silent = _own_topics(bag, self._taught)
        for topic in bag.topics:
            if topic.name in silent:
                continue
            message_class = _message_class(topic)
            if topic.count and message_class is None:
                self.get_logger().warning(
                    f'{topic.name} is left out: the type {topic.type} is not installed')
            elif topic.count:
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
        best_effort: use what is readable of a damaged bag.

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


def taught_sources(bag: BagReader) -> dict[str, Sources]:
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
