# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's state as diagnostic_updater would publish it, and checks of its connections."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.duration import Duration, Infinite
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)

from proemlc_ros.classifier.classifier import Classifier, Silence
from proemlc_ros.classifier.renewals import Renewals
from proemlc_ros.foreign_text import LONGEST_SHOWN, printable_line

# Seconds without feature vectors after which something is wrong.
QUIET = 5.0


class ClassifierDiagnostics:
    """Makes one diagnostic status per second.

    Args:
        node_name: fully qualified.
    """

    def __init__(self, node_name: str) -> None:
        # diagnostic_updater's form: the node's name, a colon, the name of the task.
        self._name = f'{node_name.lstrip("/")}: classifier'
        self._node_name = node_name
        self._rejected = 0
        self._lost = 0
        self._approximate = 0
        # What to log: labels that are learnt approximately from now on; empty: none.
        self.memory_warning = ''
        self._silence = Silence()

    def message(self, stamp: object, state: str, classifier: Classifier | None) -> DiagnosticArray:
        """Return the message to publish.

        Args:
            stamp: builtin_interfaces Time.
            state: of the lifecycle, in words.
            classifier: None where the node is not configured.
        """
        status = DiagnosticStatus(name=self._name, hardware_id=self._node_name)
        values = [('Lifecycle state', state)]
        status.level, status.message = DiagnosticStatus.OK, state
        if classifier is not None:
            values += self._values(classifier)
            quiet = self._silence.seconds(classifier.statistics.features.total)
            if state == 'active' and quiet >= QUIET:
                status.level = DiagnosticStatus.WARN
                status.message = f'active, but no feature vectors for {quiet:.0f} s'
            self._warn_of_new(status, classifier)
            if problem := classifier.durable.journal.problem:
                status.level = DiagnosticStatus.ERROR
                status.message = f'nothing can be learnt: {problem}'
        status.values = [KeyValue(key=key, value=value) for key, value in values]
        message = DiagnosticArray(status=[status])
        message.header.stamp = stamp
        return message

    def _warn_of_new(self, status: DiagnosticStatus, classifier: Classifier) -> None:
        rejected = sum(classifier.statistics.rejected().values())
        lost = classifier.statistics.lost_annotations
        news = [f'{count} {what} in the last second'
                for count, what in ((rejected - self._rejected, 'messages rejected'),
                                    (lost - self._lost, 'annotations lost')) if count > 0]
        names = classifier.durable.model.learner.approximate_labels
        self.memory_warning = ''
        if len(names) > self._approximate:
            self.memory_warning = (
                f'partial_memory is full: {len(names)} labels, known in other samples than the '
                f'rest, are learnt approximately ({", ".join(names)[:200]})')
            news.append(self.memory_warning)
        self._approximate = len(names)
        if news:
            status.level, status.message = DiagnosticStatus.WARN, ', '.join(news)
        self._rejected, self._lost = rejected, lost

    def _values(self, classifier: Classifier) -> Iterator[tuple[str, str]]:
        statistics, durable = classifier.statistics, classifier.durable
        now = time.monotonic_ns()
        yield 'Feature rate (Hz)', f'{statistics.features.read(now):.2f}'
        yield 'Prediction rate (Hz)', f'{statistics.predictions.read(now):.2f}'
        yield 'Annotation rate (Hz)', f'{statistics.annotations.read(now):.2f}'
        median, high = statistics.latency.percentiles((50, 95))
        yield 'Latency p50 (ms)', _number(median)
        yield 'Latency p95 (ms)', _number(high)
        model, learner = durable.model, durable.model.learner
        yield 'Samples learnt', str(learner.samples)
        yield 'Labels', str(len(learner.labels))
        yield 'Label set version', str(model.version)
        loss = model.hamming.loss
        yield 'Rolling Hamming loss', _number(math.nan if loss is None else loss, digits=4)
        yield 'Model memory (MB)', f'{learner.memory_bytes / 1e6:.1f}'
        yield 'Matrices', str(learner.matrices)
        yield 'Approximate labels', str(len(learner.approximate_labels))
        yield 'Hidden layer', 'waits for more samples' if learner.warming_up else 'fixed'
        yield 'Renewal', _renewal(classifier.renewals)
        yield 'Background work', classifier.progress or 'none'
        yield 'Annotations without a picture', str(durable.pictures.missing)
        yield 'Buffered vectors', str(len(classifier.matcher.buffer))
        yield 'Held annotations', str(classifier.matcher.held)
        yield 'Clock jumps', str(classifier.jumps)
        yield 'Queries', str(statistics.queries)
        yield 'Journal entries', str(durable.journal.last_number)
        yield 'Journal problem', durable.journal.problem or 'none'
        yield 'Journal size (MB)', f'{durable.journal.size / 1e6:.2f}'
        yield 'Journal age (s)', _age(durable.journal.last_write)
        yield 'Snapshot age (s)', _age(durable.snapshots.time)
        yield 'Entries since snapshot', str(durable.unsaved)
        yield 'Annotations received', str(statistics.annotations.total)
        yield 'Repeated requests', str(statistics.repeated.total)
        yield 'Lost annotations', str(statistics.lost_annotations)
        rejected = statistics.rejected()
        yield 'Rejected', str(sum(rejected.values()))
        for cause, count in sorted(rejected.items()):
            yield f'Rejected: {cause}', str(count)


def _number(value: float, digits: int = 3) -> str:
    return 'none yet' if math.isnan(value) else f'{value:.{digits}f}'


def _age(written: int | None) -> str:
    return 'none yet' if written is None else f'{max(time.time_ns() - written, 0) * 1e-9:.1f}'


def _renewal(renewals: Renewals) -> str:
    if renewals.running:
        return 'runs in the background'
    policy = renewals.policy
    due = f'; next at {policy.next_at()} samples' if policy.mode == 'automatic' else ''
    return f'{policy.mode}; last: {renewals.text}{due}'


# What the graph tells in place of the name of a node that it does not know, or not yet.
_UNKNOWN = '_NODE_NAME_UNKNOWN_'
# Checks after which an endpoint is judged whose name stays unknown, as those do that are not ROS.
_PATIENCE = 10


class QosCheck:
    """Checks the endpoints of one topic, each once.

    An endpoint is judged at the second check that sees it, or once its node has a name: the
    graph has its QoS at once, but the name often only a moment later, on a busy machine
    seconds, and a warning without a name helps nobody.

    Args:
        node: whose topic it is.
        topic: fully qualified name.
        ours: QoS that the node uses.
        publishing: whether the node publishes the topic; else it subscribes.
        advice: what the user can do where the reliabilities do not fit, a sentence.
        kind: full name of the message type, such as std_msgs/msg/Header; empty: not checked.
    """

    def __init__(self, node: Node, topic: str, ours: QoSProfile, publishing: bool,
                 advice: str, kind: str = '') -> None:
        self._node = node
        self._topic = topic
        self._ours = ours
        self._publishing = publishing
        self._advice = advice
        self._kind = kind
        # How many checks have seen each that is not judged yet.
        self._new: dict[bytes, int] = {}
        self._judged: set[bytes] = set()
        self._others: Callable[[str], list[Any]] = (
            node.get_subscriptions_info_by_topic if publishing
            else node.get_publishers_info_by_topic)

    def check(self) -> None:
        """Warn of incompatible endpoints that an earlier check saw for the first time."""
        others = {bytes(other.endpoint_gid): other for other in self._others(self._topic)}
        self._judged &= others.keys()
        self._new = {identity: self._new.get(identity, 0) + 1
                     for identity in others.keys() - self._judged}
        for identity, seen in list(self._new.items()):
            known = others[identity].node_name != _UNKNOWN
            if seen > (1 if known else _PATIENCE):
                self._judge(others[identity])
                self._judged.add(identity)
                del self._new[identity]

    def _judge(self, other: Any) -> None:
        if self._kind and other.topic_type != self._kind:
            kind = printable_line(other.topic_type, LONGEST_SHOWN)
            self._node.get_logger().warning(
                f'{self._described(other)} as {kind}, not as {self._kind}, so no message arrives.')
            return
        theirs = _without_infinity(other.qos_profile)
        pair = (self._ours, theirs) if self._publishing else (theirs, self._ours)
        compatibility, reason = qos_check_compatible(*pair)
        if compatibility == QoSCompatibility.ERROR:
            self._node.get_logger().warning(
                f'{self._described(other)} with an incompatible QoS, so no message arrives '
                f'({reason.strip().rstrip(";")}). {self._advice_on(*pair)}')

    def _advice_on(self, offered: QoSProfile, asked: QoSProfile) -> str:
        """Return what to change, for each policy that does not fit."""
        asks = 'Subscribe' if self._publishing else 'Publish'
        found = []
        if asked.reliability == ReliabilityPolicy.RELIABLE != offered.reliability:
            found.append(self._advice)
        if asked.durability == DurabilityPolicy.TRANSIENT_LOCAL != offered.durability:
            found.append(f'{asks} with durability volatile: this topic keeps no messages for '
                         'subscribers that come later.')
        if asked.deadline.nanoseconds and (not offered.deadline.nanoseconds
                                           or offered.deadline > asked.deadline):
            found.append(f'{asks} without a deadline.')
        return ' '.join(found) or f'{asks} with liveliness automatic and no lease duration.'

    def _described(self, other: Any) -> str:
        name = printable_line(f'{other.node_namespace.rstrip("/")}/{other.node_name}',
                              LONGEST_SHOWN)
        return f'{name} {"subscribes to" if self._publishing else "publishes"} {self._topic}'


def _without_infinity(profile: QoSProfile) -> QoSProfile:
    """Return a profile of the graph with infinite durations as durations that are not set.

    The graph tells an infinite deadline where nobody set one, and qos_check_compatible takes
    that for a deadline.
    """
    for name in ('deadline', 'lifespan', 'liveliness_lease_duration'):
        if getattr(profile, name) == Infinite:
            setattr(profile, name, Duration())
    return profile
