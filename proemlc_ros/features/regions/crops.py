# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Regions of a picture to crops, and one feature vector for each crop.

Only boxes that mean a part of this picture are cut; the others are counted by cause. A pipeline
has one camera with regions; operators may draw others on its recent pictures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.extractor import Extractor, Vector, checked_vector
from proemlc_ros.features.extractors.images import ImageExtractor
from proemlc_ros.features.regions.region_sources import SensorRegions, automatic_boxes
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.regions import OWN_BOXES, WHOLE, Region, pixels_in
from proemlc_ros.stamps import NANOSECONDS, StampBuffer, stamp_of

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import Sensor

# Share of a box that must lie in the picture. Detectors round and pad, so a box may reach over
# the edge; one that is mostly outside shows something else than what was meant.
_LEAST_INSIDE = 0.5
# A corner of a pixel shows nothing.
_LEAST_SIDE = 2.0
# Radians; a detector that states its angle as a float may mean zero.
_LEAST_ROTATION = 1e-6
_LONGEST_ID = 100
# Of pictures kept for regions that come after them, and of regions that wait for a picture.
_MAX_BYTES = 64 * 1024 * 1024
_MAX_PICTURES = 300
_MAX_HELD = 8
_MAX_WAITING = 100


class _Crop(NamedTuple):
    """A region and the pixels in it (a view of the picture)."""

    region: Region
    pixels: NDArray[Any]


class BoxedRegions(NamedTuple):
    """Regions of one picture as they arrived, and those that were dropped before, by cause."""

    regions: Sequence[Region]
    rejects: Counter[str]


def _crops_of(image: NDArray[Any], regions: Iterable[Region], most: int,
              rejects: Counter[str], margin: float = 0.0) -> list[_Crop]:
    """Return the crops of regions, in their order.

    Args:
        image: (rows, columns) or (rows, columns, 3).
        regions: in pixels of the image.
        most: crops at most; the regions behind are dropped.
        rejects: gets the dropped regions, counted by cause.
        margin: of the surroundings, as a share of the region's size.
    """
    height, width = image.shape[:2]
    crops: list[_Crop] = []
    seen: set[tuple[float, ...]] = set()
    for region in regions:
        cause = _unusable(region, width, height)
        if not cause and region.box in seen:
            cause = 'repeated_region'
        if not cause and len(crops) >= most:
            cause = 'too_many_regions'
        if cause:
            rejects[cause] += 1
            continue
        seen.add(region.box)
        crops.append(_Crop(region, pixels_in(image, widened(region, margin))))
    return crops


def _unusable(region: Region, width: int, height: int) -> str:
    """Return why a region means no part of a picture of this size; empty where it does."""
    if not all(map(math.isfinite, region.box)):
        return 'region_not_finite'
    if len(region.id) > _LONGEST_ID or not region.id.isprintable():
        return 'bad_region_id'
    if region.size_x < _LEAST_SIDE or region.size_y < _LEAST_SIDE:
        return 'region_without_size'
    left, top, right, bottom = region.edges
    inside_x = min(right, width) - max(left, 0)
    inside_y = min(bottom, height) - max(top, 0)
    if inside_x < 1 or inside_y < 1 or (
            inside_x * inside_y < _LEAST_INSIDE * region.size_x * region.size_y):
        return 'region_outside'
    return ''


def widened(region: Region, margin: float) -> Region:
    """Return a region with a share of its size more, half of it on each side."""
    return region._replace(size_x=region.size_x * (1.0 + margin),
                           size_y=region.size_y * (1.0 + margin)) if margin else region


def _regions_of(message: Any) -> BoxedRegions:
    """Return the regions of a RegionArray, or of a vision_msgs/Detection2DArray.

    Rotated boxes are dropped: the crop of the upright box would show something else.
    """
    rejects: Counter[str] = Counter()
    if hasattr(message, 'regions'):
        return BoxedRegions([Region(str(one.id), float(one.center_x), float(one.center_y),
                                    float(one.size_x), float(one.size_y))
                             for one in message.regions], rejects)
    regions = []
    for found in message.detections:
        box = found.bbox
        if not abs(box.center.theta) <= _LEAST_ROTATION:
            rejects['region_rotated' if math.isfinite(box.center.theta)
                    else 'region_not_finite'] += 1
            continue
        regions.append(Region(
            str(found.id), float(box.center.position.x), float(box.center.position.y),
            float(box.size_x), float(box.size_y)))
    return BoxedRegions(regions, rejects)


class RegionVector(NamedTuple):
    """The features of a region, or of the whole sample."""

    values: Vector
    region: Region = WHOLE


class RegionCutter:
    """Cuts pictures into regions and extracts the features of each.

    Args:
        extractor: of the sensor.
        how: where the regions come from.

    Attributes:
        rejects: regions that could not be used, by cause.
    """

    def __init__(self, extractor: Extractor, how: SensorRegions) -> None:
        """Start with nothing rejected."""
        self.rejects: Counter[str] = Counter()
        self._extractor = extractor
        self._how = how
        self._margin = extractor.margin if isinstance(extractor, ImageExtractor) else 0.0

    def vectors(self, image: NDArray[Any], stamp: int,
                boxed: BoxedRegions | None = None, tracked: bool = True) -> list[RegionVector]:
        """Return the vectors of a picture's regions; none where no region is usable.

        Args:
            image: the picture.
            stamp: when it was taken, in nanoseconds.
            boxed: its regions; None: the source gives them.
            tracked: whether the regions are part of the stream, or drawn by hand.
        """
        if boxed is None:
            regions: Sequence[Region] = (self._how.source or automatic_boxes)(image)
        else:
            regions = boxed.regions
            self.rejects.update(boxed.rejects)
        crops = _crops_of(image, regions, self._how.most, self.rejects, self._margin)
        if tracked and self._how.tracks is not None:
            named = self._how.tracks.named(stamp, [crop.region for crop in crops])
            crops = [_Crop(region, crop.pixels) for region, crop in zip(named, crops)]
        found = self._extract([crop.pixels for crop in crops])
        return [RegionVector(values, crop.region) for values, crop in zip(found, crops)
                if values is not None]

    def _extract(self, images: Sequence[NDArray[Any]]) -> list[Vector | None]:
        try:
            found = self._extractor.extract_many(images)
            if np.isfinite(np.asarray(found)).all():
                return [*found]
        except Exception:
            pass
        return [self._extract_one(image) for image in images]

    def _extract_one(self, image: NDArray[Any]) -> Vector | None:
        try:
            return checked_vector(self._extractor, self._extractor, image)
        except BadSensorDataError as error:
            self.rejects[error.cause] += 1
            return None


class _KeptPicture(NamedTuple):
    """A message with a picture, and whether the stream wants vectors of it."""

    message: Any
    wanted: bool = True


class _RegionQueue:
    """Recent pictures by stamp, and regions whose pictures have not come yet.

    Regions belong to the picture with exactly their stamp: the crop of another one would show
    something else.

    Args:
        patience: seconds, by stamp, that regions wait for their picture.
        max_bytes: of the pictures kept, beside those held.

    Attributes:
        rejects: regions that found no picture, by cause.
    """

    def __init__(self, patience: float = 1.0, max_bytes: int = _MAX_BYTES) -> None:
        """Start empty."""
        self.rejects: Counter[str] = Counter()
        self._patience = round(patience * NANOSECONDS)
        self._pictures: StampBuffer[_KeptPicture] = StampBuffer(
            _MAX_PICTURES, max_bytes, _MAX_HELD)
        self._waiting: StampBuffer[BoxedRegions] = StampBuffer(_MAX_WAITING)

    def add_picture(self, stamp: int, picture: _KeptPicture) -> BoxedRegions | None:
        """Keep a picture; return the regions that waited for it."""
        self._pictures.put(stamp, picture, len(picture.message.data))
        found = self._waiting.pop(stamp)
        while self._waiting and self._waiting.span[0] < stamp - self._patience:
            self._reject(self._waiting.pop(self._waiting.span[0]))
        return found

    def add_regions(self, stamp: int, boxed: BoxedRegions) -> _KeptPicture | None:
        """Return the picture that regions are about; None: it has yet to come, or is unknown."""
        picture = self._pictures.find(stamp)
        if picture is not None:
            return picture
        if not stamp:
            self._reject(boxed, 'region_without_stamp')
        elif self._pictures and stamp < self._pictures.span[1] - self._patience:
            self._reject(boxed)
        else:
            for _, dropped in self._waiting.put(stamp, boxed):
                self._reject(dropped)
        return None

    def hold(self, stamp: int, boxed: BoxedRegions) -> _KeptPicture | None:
        """Return the picture that somebody draws on, and keep it; None: it is not here."""
        picture = self._pictures.find(stamp)
        if picture is None:
            self._reject(boxed)
        else:
            self._pictures.hold(stamp)
        return picture

    def _reject(self, boxed: BoxedRegions | None, cause: str = 'region_of_other_stamp') -> None:
        # An array without regions is worth a count as well: its sender has a wrong clock.
        self.rejects[cause] += max(len(boxed.regions) if boxed is not None else 0, 1)


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
        self._queue = _RegionQueue()
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
            return self._queue.add_picture(stamp, _KeptPicture(message, wanted))
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
        stamp, boxed = stamp_of(message.header), _regions_of(message)
        find = self._queue.hold if drawn else self._queue.add_regions
        picture = find(stamp, boxed)
        if picture is None or not (picture.wanted or drawn):
            return None
        image = sample_of(picture.message, sensor.message_type)
        wanted = None if drawn and boxed.regions == [OWN_BOXES] else boxed
        found = self._cutters[sensor.name].vectors(image, stamp, wanted, tracked=not drawn)
        return (stamp, picture.message, found) if found else None
