# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How the feature node is doing, in the format of diagnostics."""

from __future__ import annotations

from collections.abc import Collection

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from proemlc_ros.classifier.statistics import RateMeter
from proemlc_ros.features.pipeline import FeaturePipeline, Sensor


class FeatureHealth:
    """Gathers what the diagnostics tell: rates, rejects by cause, missing publishers."""

    def __init__(self, pipeline: FeaturePipeline, node_name: str) -> None:
        """Watch a pipeline; `node_name` names the status."""
        self._pipeline = pipeline
        self._node_name = node_name
        self._received = {sensor.name: RateMeter() for sensor in pipeline.sensors}
        self._last_rejects = 0
        self._troubles: dict[str, str] = {}
        self.published = RateMeter()
        self.incompatible: dict[str, str] = {}

    def note_publishers(self, sensor: Sensor, types: Collection[str]) -> bool:
        """Note which types a sensor's topic carries; true where ours is not among them."""
        other = bool(types) and sensor.message_type not in types
        if other:
            self._troubles[sensor.name] = (
                f'{sensor.topic} carries {", ".join(sorted(types))}, not {sensor.message_type}')
        elif not types:
            self._troubles[sensor.name] = f'{sensor.topic} has no publisher'
        else:
            self._troubles.pop(sensor.name, None)
        return other

    def status(self, now: int) -> DiagnosticStatus:
        """Return the status at a moment (nanoseconds on a clock that never goes back)."""
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
        level, message = self._summary()
        return DiagnosticStatus(
            level=level, name=f'{self._node_name}: features', message=message,
            hardware_id=self._node_name,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])

    def _summary(self) -> tuple[bytes, str]:
        rejects = sum(self._pipeline.rejected.values())
        new_rejects = rejects - self._last_rejects
        self._last_rejects = rejects
        troubles = [*self.incompatible.values(), *self._troubles.values()]
        if new_rejects:
            troubles.append(f'{new_rejects} messages rejected')
        if troubles:
            return DiagnosticStatus.WARN, '; '.join(troubles)
        return DiagnosticStatus.OK, 'features are published'
