# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's state as diagnostic_updater would publish it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.renewals import Renewals
from proemlc_ros.classifier.statistics import Silence

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
