# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Features made again from kept pictures, so that what was taught outlives its extractor."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractor import Vector
from proemlc_ros.features.image_arrays import compressed_image_array
from proemlc_ros.features.parameter_file import settings_from_file
from proemlc_ros.features.pipeline import FeaturePipeline
from proemlc_ros.features.settings import pipeline_from_settings


class PictureEmbedding:
    """Makes feature vectors of compressed pictures, as a pipeline of one camera does.

    Args:
        pipeline: of the feature node.

    Raises:
        ExtractorError: it needs more than one picture.
    """

    def __init__(self, pipeline: FeaturePipeline) -> None:
        sensors = pipeline.sensors
        if len(sensors) != 1 or not sensors[0].message_type.endswith('Image'):
            names = ', '.join(f'{sensor.name} ({sensor.message_type})' for sensor in sensors)
            raise ExtractorError(f'features can be made again from pictures alone, but the '
                                 f'sensors are {names}; give one camera')
        self.extractor = pipeline.extractor
        self._extract = sensors[0].extractor

    @classmethod
    def from_file(cls, path: Path) -> PictureEmbedding:
        """Return the embedding of a parameter file of the feature node."""
        return cls(pipeline_from_settings(settings_from_file(path)))

    def vector(self, image_format: str, data: bytes) -> Vector:
        """Return the features of a compressed picture.

        Raises:
            BadSensorDataError: the picture is broken.
        """
        return self._extract(compressed_image_array(
            SimpleNamespace(format=image_format, data=data)))
