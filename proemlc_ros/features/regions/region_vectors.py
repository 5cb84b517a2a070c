# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One feature vector for each region of a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.extractor import Extractor, Vector
from proemlc_ros.features.extractors.image_extractor import ImageExtractor
from proemlc_ros.features.regions.crops import BoxedRegions, Crop, crops_of
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.regions import WHOLE, Region


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
            regions: Sequence[Region] = self._how.source(image) if self._how.source else ()
        else:
            regions = boxed.regions
            self.rejects.update(boxed.rejects)
        crops = crops_of(image, regions, self._how.most, self.rejects, self._margin)
        if tracked and self._how.tracks is not None:
            named = self._how.tracks.named(stamp, [crop.region for crop in crops])
            crops = [Crop(region, crop.pixels) for region, crop in zip(named, crops)]
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
            vector = self._extractor(image)
        except BadSensorDataError as error:
            self.rejects[error.cause] += 1
            return None
        except Exception:  # a picture must never stop the robot, whatever is in it
            self.rejects['extractor_failed'] += 1
            return None
        if not np.isfinite(vector).all():
            self.rejects['not_finite'] += 1
            return None
        return vector
