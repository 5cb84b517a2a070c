# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The regions of a pipeline: of its one camera that has them, and those that operators draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from proemlc_ros.features.regions.crops import BoxedRegions, regions_of
from proemlc_ros.features.regions.region_queue import KeptPicture, RegionQueue
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.features.regions.region_vectors import RegionCutter, RegionVector
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.stamps import stamp_of

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import Sensor


class PipelineRegions:
    """Cuts the pictures of a pipeline.

    Args:
        sensors: of the pipeline; at most one with regions.

    Attributes:
        drawing: whether pictures are kept for operators who draw boxes.

    """

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        """Find the camera."""
        self.drawing = False
        self._cut = next((sensor for sensor in sensors if sensor.regions is not None), None)
        cameras = [sensor for sensor in sensors if sensor.extractor.sensor == 'image']
        # A drawn box comes seconds after its picture, when other sensors' samples are gone.
        self._drawn = cameras[0] if cameras and len(sensors) == 1 else None
        self._queue = RegionQueue()
        self._told: Counter[str] = Counter()
        self._cutters = {sensor.name: RegionCutter(
            sensor.extractor, sensor.regions or SensorRegions(tracks=None)) for sensor in cameras}

    @property
    def topic(self) -> SensorRegions | None:
        """The settings of the camera whose regions come by a topic; None: there is none."""
        how = self._cut.regions if self._cut is not None else None
        return how if how is not None and how.topic else None

    @property
    def most(self) -> int:
        """Vectors of one picture, at most; 0: pictures are not cut."""
        return 0 if self._cut is None or self._cut.regions is None else self._cut.regions.most

    @property
    def rejected(self) -> Counter[str]:
        """Regions that could not be used, by cause."""
        return sum((cutter.rejects for cutter in self._cutters.values()), self._queue.rejects)

    def new_rejects(self) -> Counter[str]:
        """Return the rejected regions since the last call."""
        rejected = self.rejected
        new = rejected - self._told
        self._told = rejected
        return new

    def camera(self, drawn: bool) -> Sensor | None:
        """Return the sensor whose pictures regions are about; None: there is none."""
        return self._drawn if drawn else self._cut

    def remember(self, sensor: Sensor, message: Any, stamp: int,
                 wanted: bool) -> BoxedRegions | None:
        """Keep a picture for regions that come after it; return those that came before."""
        if (sensor is self._cut and self.topic is not None) or (
                sensor is self._drawn and self.drawing):
            return self._queue.add_picture(stamp, KeptPicture(message, wanted))
        return None

    def of_picture(self, sensor: Sensor, message: Any, stamp: int,
                   waited: BoxedRegions | None) -> Sequence[RegionVector] | None:
        """Return the vectors of a picture; None: its regions are to come, or there is none.

        Raises:
            BadSensorDataError: the picture cannot be used.

        """
        if self.topic is not None and waited is None:
            return None
        image = sample_of(message, sensor.message_type)
        return self._cutters[sensor.name].vectors(image, stamp, waited) or None

    def of_message(self, sensor: Sensor, message: Any, drawn: bool,
                   ) -> tuple[int, Any, Sequence[RegionVector]] | None:
        """Return the stamp, the picture and the vectors of regions; None: there are none yet.

        Raises:
            BadSensorDataError: the picture cannot be used.

        """
        stamp, boxed = stamp_of(message.header), regions_of(message)
        find = self._queue.hold if drawn else self._queue.add_regions
        picture = find(stamp, boxed)
        if picture is None or not (picture.wanted or drawn):
            return None
        image = sample_of(picture.message, sensor.message_type)
        found = self._cutters[sensor.name].vectors(image, stamp, boxed, tracked=not drawn)
        return (stamp, picture.message, found) if found else None
