# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Deep features: the output of any ONNX model for an image."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError, MissingDependencyError
from proemlc_ros.features.extractor import Vector, parameter
from proemlc_ros.features.image_extractor import ImageExtractor, white_level_of

INPUT_TYPES = {
    'tensor(float)': np.float32, 'tensor(float16)': np.float16, 'tensor(double)': np.float64,
    'tensor(uint8)': np.uint8,
}


@dataclass
class OnnxEmbedding(ImageExtractor):
    """The output of an ONNX model for an image, flattened.

    The image is resized to the model's input, scaled to 0..1 and normalised by `mean` and
    `deviation` (the defaults are ImageNet's); a model with 8-bit input gets the pixels. The
    shape of the input tells the order of the channels and grey from colour. The hash of the
    file is part of the extractor's name, so another network is another extractor.
    """

    kind: ClassVar[str] = 'onnx_embedding'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'output of an ONNX model for an image (needs onnxruntime)'

    model: str = parameter('', 'Path of the .onnx file')
    output: str = parameter('', 'Name of the model output to use; empty = the first')
    input_size: int = parameter(
        224, 'Side of the input in pixels, where the model does not fix it')
    mean: tuple[float, ...] = parameter(
        (0.485, 0.456, 0.406), 'Mean of each colour channel (0 to 1), subtracted')
    deviation: tuple[float, ...] = parameter(
        (0.229, 0.224, 0.225), 'Standard deviation of each colour channel, divided by; not 0')
    normalise: bool = parameter(True, 'Scale the vector to length 1')
    threads: int = parameter(1, 'Threads for the model; 0 = chosen by onnxruntime')
    _session: Any = field(init=False, repr=False)
    _hash: str = field(init=False, repr=False)
    _width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Open the model and run it once on a black image to find its width."""
        super().__post_init__()
        if len(self.mean) != 3 or len(self.deviation) != 3 or not all(self.deviation):
            raise ExtractorError('mean and deviation need three values, none of deviation zero')
        self._session, self._hash = open_model(self.model, self.threads)
        self._input = self._session.get_inputs()[0]
        if self._input.type not in INPUT_TYPES or len(self._input.shape) != 4:
            raise ExtractorError(
                f'{self.model} takes {self._input.type} of shape {self._input.shape}; it must '
                'take an image: a batch of one, channels, rows, columns')
        outputs = [entry.name for entry in self._session.get_outputs()]
        if self.output and self.output not in outputs:
            raise ExtractorError(f'{self.model} has no output {self.output!r}, only {outputs}')
        self._output_name = self.output or outputs[0]
        self._width = len(self(np.zeros((8, 8, 3), np.uint8)))

    @property
    def width(self) -> int:
        """Size of the model's output."""
        return self._width

    def identity_value(self, parameter_name: str) -> Any:
        """Return the hash in place of the path, and leave out what does not change the values."""
        if parameter_name == 'model':
            return self._hash
        return 1 if parameter_name == 'threads' else getattr(self, parameter_name)

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the embedding of an image, (rows, columns) grey or (rows, columns, 3) RGB.

        Raises:
            BadSensorDataError: the model failed on the image, or its output is not finite.

        """
        tensor = self.tensor(self.cropped(sample))
        try:
            (result,) = self._session.run([self._output_name], {self._input.name: tensor})
        except Exception as error:  # onnxruntime's errors share no base class
            raise BadSensorDataError('onnx_failed', f'{self.model} failed: {error}') from error
        vector = np.asarray(result, np.float32).ravel()
        if not np.isfinite(vector).all():
            raise BadSensorDataError('not_finite', f'{self.model} gave values that are not finite')
        norm = float(np.linalg.norm(vector))
        return vector / np.float32(norm) if self.normalise and norm > 0 else vector

    def tensor(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return the image as the model's input: size, channels, order, type and scale."""
        shape = self._input.shape
        channels_first = shape[1] in (1, 3)
        rows, columns = (shape[2], shape[3]) if channels_first else (shape[1], shape[2])
        channels = shape[1] if channels_first else shape[3]
        size = tuple(
            side if isinstance(side, int) and side > 0 else self.input_size
            for side in (columns, rows))
        white = np.float32(white_level_of(image, self.white_level))
        scaled: NDArray[Any] = image.astype(np.float32) / white
        scaled = cv2.resize(np.minimum(scaled, 1), size, interpolation=cv2.INTER_AREA)
        scaled = with_channels(scaled, 1 if channels == 1 else 3)
        wanted = INPUT_TYPES[self._input.type]
        if wanted is np.uint8:
            scaled = np.rint(scaled * 255)
        elif channels != 1:
            mean, deviation = np.array([self.mean, self.deviation], np.float32)
            scaled = (scaled - mean) / deviation
        ordered = scaled.transpose(2, 0, 1) if channels_first else scaled
        return np.ascontiguousarray(ordered[np.newaxis], wanted)


def open_model(path: str, threads: int) -> tuple[Any, str]:
    """Return an inference session on the CPU and the start of the file's SHA-256.

    Raises:
        MissingDependencyError: onnxruntime is not installed.
        ExtractorError: the file is missing or not an ONNX model.

    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError(
            'the extractor onnx_embedding needs onnxruntime: pip install "proemlc_ros[onnx]" or '
            'pip install onnxruntime') from error
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ExtractorError(
            f'cannot read the ONNX model {path!r}: {error.strerror or error}; set the parameter '
            'model to the path of a .onnx file') from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(
            content, options, providers=['CPUExecutionProvider'])
    except Exception as error:  # onnxruntime's errors share no base class
        raise ExtractorError(f'{path} is not a usable ONNX model: {error}') from error
    return session, hashlib.sha256(content).hexdigest()[:12]


def with_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    """Return an image as (rows, columns, channels) with one or three channels."""
    if image.ndim == 2:
        image = np.repeat(image[..., np.newaxis], 3, axis=2)
    if channels == 1:
        return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., np.newaxis]
    return image
