# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the regions of a picture come from: a fixed list, a grid, proposals, or a topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numpy.typing import NDArray

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractors.image_extractor import check_region
from proemlc_ros.features.regions.proposals import propose
from proemlc_ros.features.regions.tracks import TrackTable
from proemlc_ros.regions import Region

REGION_ARRAY_TYPE = 'proemlc_ros/msg/RegionArray'
DETECTIONS_TYPE = 'vision_msgs/msg/Detection2DArray'
TOPIC = 'topic'
SOURCES = ('', 'fixed', 'grid', 'proposals', TOPIC)
# Settings of a camera's regions, with default and description.
REGION_SETTINGS: dict[str, tuple[Any, str]] = {
    'regions': ('', 'Regions of each picture, one vector each: fixed, grid, proposals or topic; '
                'empty = the whole picture'),
    'region_boxes': ((), 'Boxes for fixed: left, top, width and height of each as fractions of '
                     'the picture, 0 to 1, one box after the other'),
    'region_grid': ((2, 3), 'Rows and columns for grid, 1 to 32'),
    'region_proposals': (10, 'Boxes for proposals, at most, 1 to 200'),
    'regions_topic': ('', 'Topic for topic: regions with the stamps of the pictures'),
    'regions_type': (REGION_ARRAY_TYPE, 'Message type of regions_topic: '
                     f'{REGION_ARRAY_TYPE} or {DETECTIONS_TYPE}'),
    'max_regions': (100, 'Regions of one picture, at most; the rest is rejected, 1 to 1000'),
    'tracks': (True, 'Give a box that overlaps one of the picture before the same id, '
               'where it has none'),
}

RegionSource = Callable[[NDArray[Any]], Sequence[Region]]


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

    source: RegionSource | None = None
    topic: str = ''
    type: str = REGION_ARRAY_TYPE
    most: int = 100
    tracks: TrackTable | None = field(default_factory=TrackTable)


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
    if kind not in SOURCES:
        raise ExtractorError(f'{name}.regions is {kind!r}; it must be one of '
                             f'{", ".join(filter(None, SOURCES))}, or empty')
    if not kind:
        return None
    if sensor != 'image':
        raise ExtractorError(f'{name}.regions is {kind!r}, but only pictures have regions')
    most = checked_count(f'{name}.max_regions', values['max_regions'], 1000)
    tracks = TrackTable() if values['tracks'] else None
    if kind != TOPIC:
        return SensorRegions(_source(name, kind, values), most=most, tracks=tracks)
    if not values['regions_topic']:
        raise ExtractorError(f'set the parameter {name}.regions_topic: where the regions come')
    stated = str(values['regions_type'])
    stated = stated if '/msg/' in stated else stated.replace('/', '/msg/')
    if stated not in (REGION_ARRAY_TYPE, DETECTIONS_TYPE):
        raise ExtractorError(f'{name}.regions_type is {stated!r}; it must be '
                             f'{REGION_ARRAY_TYPE} or {DETECTIONS_TYPE}')
    return SensorRegions(None, str(values['regions_topic']), stated, most, tracks)


def _source(name: str, kind: str, values: Mapping[str, Any]) -> RegionSource:
    if kind == 'fixed':
        return partial(fixed_regions, fractions_of(name, values['region_boxes']))
    if kind == 'grid':
        grid = tuple(values['region_grid'] or ())
        if len(grid) != 2:
            raise ExtractorError(f'{name}.region_grid is {list(grid)}; give rows and columns')
        rows, columns = (checked_count(f'{name}.region_grid', side, 32) for side in grid)
        return partial(fixed_regions, [
            (column / columns, row / rows, 1 / columns, 1 / rows)
            for row in range(rows) for column in range(columns)])
    count = checked_count(f'{name}.region_proposals', values['region_proposals'], 200)
    return partial(propose, count=count)


def fixed_regions(boxes: Sequence[tuple[float, ...]], image: NDArray[Any]) -> list[Region]:
    """Return boxes that are given as fractions (left, top, width, height), in pixels."""
    height, width = image.shape[:2]
    return [Region.of_edges(left * width, top * height, (left + box_width) * width,
                            (top + box_height) * height)
            for left, top, box_width, box_height in boxes]


def fractions_of(name: str, values: Any) -> list[tuple[float, ...]]:
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


def checked_count(name: str, value: Any, most: int) -> int:
    """Return a count.

    Raises:
        ExtractorError: not an integer from 1 to `most`.

    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ExtractorError(f'{name} is {value!r}; it must be an integer from 1 to {most}')
    return value
