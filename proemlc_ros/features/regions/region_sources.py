# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the regions of a picture come from (fixed, grid, proposals …), and their tracks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numpy.typing import NDArray

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractors.images import check_region
from proemlc_ros.features.regions.detector import has_detector, installed_detector
from proemlc_ros.features.regions.proposals import propose
from proemlc_ros.regions import Region, overlap
from proemlc_ros.stamps import NANOSECONDS

# Overlap from which on two boxes of following pictures are the same object.
_LEAST_OVERLAP = 0.3
# Seconds that an object may be out of sight, or hidden by a proposal that was not made.
_PATIENCE = 1.0
_REGION_ARRAY_TYPE = 'proemlc_ros/msg/RegionArray'
_DETECTIONS_TYPE = 'vision_msgs/msg/Detection2DArray'
_TOPIC = 'topic'
_SOURCES = ('', 'auto', 'fixed', 'grid', 'proposals', 'detector', _TOPIC)
# Settings of a camera's regions, with default and description.
REGION_SETTINGS: dict[str, tuple[Any, str]] = {
    'regions': ('', 'Regions of each picture, one vector each: fixed, grid, proposals, detector, '
                'topic, or auto = the installed detector, else proposals; empty = the whole '
                'picture'),
    'region_boxes': ((), 'Boxes for fixed: left, top, width and height of each as fractions of '
                     'the picture, 0 to 1, one box after the other'),
    'region_grid': ((2, 3), 'Rows and columns for grid, 1 to 32'),
    'region_proposals': (10, 'Boxes for proposals and detector, at most, 1 to 200'),
    'regions_topic': ('', 'Topic for topic: regions with the stamps of the pictures'),
    'regions_type': (_REGION_ARRAY_TYPE, 'Message type of regions_topic: '
                     f'{_REGION_ARRAY_TYPE} or {_DETECTIONS_TYPE}'),
    'max_regions': (100, 'Regions of one picture, at most; the rest is rejected, 1 to 1000'),
    'tracks': (True, 'Give a box that overlaps one of the picture before the same id, '
               'where it has none'),
}
_RegionSource = Callable[[NDArray[Any]], Sequence[Region]]


@dataclass(slots=True)
class _TrackedBox:
    region: Region
    seen: int


class _TrackTable:
    """Gives ids to boxes that have none.

    Pairs of a box and a track are taken by overlap, the largest first. Depends on stamps and
    order alone, so a bag gives the same as the live robot.

    >>> table = _TrackTable()
    >>> [one.id for one in table.named(0, [Region('', 50, 50, 20, 20)])]
    ['1']
    >>> boxes = [Region('', 90, 50, 20, 20), Region('', 52, 50, 20, 20)]
    >>> [one.id for one in table.named(1, boxes)]
    ['2', '1']
    """

    def __init__(self, least_overlap: float = _LEAST_OVERLAP, patience: float = _PATIENCE) -> None:
        """Take the overlap from which on, and the seconds for which, a track goes on."""
        self._least = least_overlap
        self._patience = round(patience * NANOSECONDS)
        self._tracks: dict[str, _TrackedBox] = {}
        self._count = 0

    def named(self, stamp: int, regions: Sequence[Region]) -> list[Region]:
        """Return the regions of a picture with ids; those that have one keep it.

        Args:
            stamp: of the picture in nanoseconds. One that is older than the last (a looping bag,
                a picture that the operator held) finds no track and begins none.
            regions: of that picture.
        """
        tracks = self._living(stamp)
        if tracks is None:
            return list(regions)
        ids = [region.id for region in regions]
        pairs = sorted(
            ((overlap(region, track.region), place, name) for name, track in tracks.items()
             for place, region in enumerate(regions) if not ids[place]),
            key=lambda pair: -pair[0])
        for covered, place, name in pairs:
            if covered >= self._least and not ids[place] and name not in ids:
                ids[place] = name
        named = [region._replace(id=name or self._next(ids)) for region, name
                 in zip(regions, ids, strict=True)]
        tracks.update((region.id, _TrackedBox(region, stamp)) for region in named)
        return named

    def _living(self, stamp: int) -> dict[str, _TrackedBox] | None:
        newest = max((track.seen for track in self._tracks.values()), default=stamp)
        if stamp < newest - self._patience:
            if newest - stamp < 600 * NANOSECONDS:
                return None
            self._tracks.clear()  # The clock was set back.
        self._tracks = {name: track for name, track in self._tracks.items()
                        if stamp - track.seen <= self._patience}
        return self._tracks

    def _next(self, taken: Sequence[str]) -> str:
        while True:
            self._count += 1
            name = str(self._count)
            if name not in taken and name not in self._tracks:
                return name


@dataclass(frozen=True)
class SensorRegions:
    """How a camera's pictures are cut into regions.

    Attributes:
        source: Gives the regions of a picture; None: they come by a topic.
        topic: That topic; empty where there is a source.
        type: Message type of the topic.
        most: Regions of a picture at most.
        tracks: Gives ids to boxes that have none; None: they stay without.
    """

    source: _RegionSource | None = None
    topic: str = ''
    type: str = _REGION_ARRAY_TYPE
    most: int = 100
    tracks: _TrackTable | None = field(default_factory=_TrackTable)


def sensor_regions(name: str, sensor: str, settings: Mapping[str, Any]) -> SensorRegions | None:
    """Return how a sensor's samples are cut; None: not at all.

    Args:
        name: of the sensor, for errors.
        sensor: kind of its samples, such as image.
        settings: of the sensor; those that are not about regions are ignored.

    Raises:
        ExtractorError: an unusable setting; the text names it.
    """
    values = {key: settings.get(key, default) for key, (default, _) in REGION_SETTINGS.items()}
    kind = values['regions']
    if kind not in _SOURCES:
        raise ExtractorError(f'{name}.regions is {kind!r}; it must be one of '
                             f'{", ".join(filter(None, _SOURCES))}, or empty')
    if not kind:
        return None
    if sensor != 'image':
        raise ExtractorError(f'{name}.regions is {kind!r}, but only pictures have regions')
    most = _checked_count(f'{name}.max_regions', values['max_regions'], 1000)
    tracks = _TrackTable() if values['tracks'] else None
    if kind != _TOPIC:
        return SensorRegions(_source(name, kind, values), most=most, tracks=tracks)
    if not values['regions_topic']:
        raise ExtractorError(f'set the parameter {name}.regions_topic: where the regions come')
    stated = str(values['regions_type'])
    stated = stated if '/msg/' in stated else stated.replace('/', '/msg/')
    if stated not in (_REGION_ARRAY_TYPE, _DETECTIONS_TYPE):
        raise ExtractorError(f'{name}.regions_type is {stated!r}; it must be '
                             f'{_REGION_ARRAY_TYPE} or {_DETECTIONS_TYPE}')
    return SensorRegions(None, str(values['regions_topic']), stated, most, tracks)


def _source(name: str, kind: str, values: Mapping[str, Any]) -> _RegionSource:
    if kind == 'fixed':
        return partial(_fixed_regions, _fractions_of(name, values['region_boxes']))
    if kind == 'grid':
        grid = tuple(values['region_grid'] or ())
        if len(grid) != 2:
            raise ExtractorError(f'{name}.region_grid is {list(grid)}; give rows and columns')
        rows, columns = (_checked_count(f'{name}.region_grid', side, 32) for side in grid)
        return partial(_fixed_regions, [
            (column / columns, row / rows, 1 / columns, 1 / rows)
            for row in range(rows) for column in range(columns)])
    count = _checked_count(f'{name}.region_proposals', values['region_proposals'], 200)
    if kind == 'detector' or (kind == 'auto' and has_detector()):
        return partial(installed_detector(), count=count)
    return partial(propose, count=count)


def automatic_boxes(image: NDArray[Any]) -> list[Region]:
    """Return boxes of the installed detector, else proposals: what `auto` means."""
    return installed_detector()(image) if has_detector() else propose(image)


def _fixed_regions(boxes: Sequence[tuple[float, ...]], image: NDArray[Any]) -> list[Region]:
    """Return boxes that are given as fractions (left, top, width, height), in pixels."""
    height, width = image.shape[:2]
    return [Region.of_edges(left * width, top * height, (left + box_width) * width,
                            (top + box_height) * height)
            for left, top, box_width, box_height in boxes]


def _fractions_of(name: str, values: Any) -> list[tuple[float, ...]]:
    """Return a flat list of numbers as boxes; parameters of ROS cannot be nested.

    Raises:
        ExtractorError: not four numbers a box, or a box outside the picture.
    """
    try:
        flat = [float(value) for value in values or ()]
        boxes = [tuple(flat[place:place + 4]) for place in range(0, len(flat), 4)]
        if not boxes:
            raise ExtractorError('there is none')
        for box in boxes:
            check_region(box)
    except (TypeError, ValueError, ExtractorError) as error:
        raise ExtractorError(f'{name}.region_boxes: {error}; give left, top, width and height '
                             'of each box, one after the other') from error
    return boxes


def _checked_count(name: str, value: Any, most: int) -> int:
    """Return a count.

    Raises:
        ExtractorError: not an integer from 1 to `most`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ExtractorError(f'{name} is {value!r}; it must be an integer from 1 to {most}')
    return value
