# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Deep features: the output of any ONNX model for an image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Vector, parameter
from proemlc_ros.features.extractors.images import (
    ColourHistogram,
    ImageExtractor,
    resized_by_area,
    white_level_of,
)
from proemlc_ros.features.network import Network, open_network

# Parameters that change the speed, not the values.
_NOT_IN_IDENTITY = ('threads', 'batch_threads', 'engine', 'providers')
# Images per call of the network: more brings no speed and takes memory.
_LARGEST_BATCH = 8
_MOST_LOOKS = 5
# The colours that are joined to the output, of an image of at most this side, for speed.
_COLOURS = ColourHistogram()
_COLOUR_SIDE = 112
_NO_COLOURS = np.zeros(0, np.float32)


class _ResizedImage(NamedTuple):
    """An image of the model's size as floats, (rows, columns) or (…, 3), and its white."""

    values: NDArray[Any]
    white: float


class _PreparedImage(NamedTuple):
    """An image as the model takes it, a batch of its looks, and the shares of its colours."""

    tensor: NDArray[Any]
    colours: Vector


@dataclass
class OnnxEmbedding(ImageExtractor):
    """The output of an ONNX model for an image, flattened.

    The image is resized to the model's input, scaled to 0..1 and normalised by `mean` and
    `deviation` (the defaults are ImageNet's); a model with 8-bit input gets the pixels. The
    shape of the input tells the order of the channels and grey from colour. The hash of the
    file is part of the extractor's name, so another network is another extractor.

    With `colours`, shares of colours are joined to the output: networks that were trained to
    tell kinds of things apart care little for them, and people tell things by them.

    With several `looks` the model sees the image several times, whole and its middle, in one
    batch; the vector is the mean of theirs, each scaled to length 1. Colours are of the first.
    """

    kind: ClassVar[str] = 'onnx_embedding'
    version: ClassVar[int] = 1
    description: ClassVar[str] = 'output of an ONNX model for an image'

    model: str = parameter('', 'Path of the .onnx file')
    output: str = parameter('', 'Name of the model output to use; empty = the first')
    input_size: int = parameter(
        224, 'Side of the input in pixels, where the model does not fix it')
    mean: tuple[float, ...] = parameter(
        (0.485, 0.456, 0.406), 'Mean of each colour channel (0 to 1), subtracted')
    deviation: tuple[float, ...] = parameter(
        (0.229, 0.224, 0.225), 'Standard deviation of each colour channel, divided by; not 0')
    normalise: bool = parameter(True, 'Scale the vector to length 1')
    colours: float = parameter(
        0.0, 'Share of the colours in the vector, which are joined to the output; 0 = none, to 1')
    threads: int = parameter(1, 'Threads for one image; 0 = chosen by onnxruntime')
    batch_threads: int = parameter(
        0, 'Threads for several regions of an image at once; 0 = one per processor')
    engine: str = parameter(
        'auto', 'Library that runs the model: onnxruntime, opencv, or auto = the first installed')
    looks: tuple[float, ...] = parameter(
        (1.0,), 'Parts of the image that the model sees, each by the share of its sides around '
        'the middle, above 0 to 1; several need normalise')
    providers: str = parameter(
        'auto', 'What onnxruntime runs the model on: tensorrt, cuda, openvino, coreml or cpu; '
        'auto = the first that works; cpu where the one named does not')
    network: Network = field(init=False, repr=False)
    _width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Open the model and run it once on a black image to find its width."""
        super().__post_init__()
        if len(self.mean) != 3 or len(self.deviation) != 3 or not all(self.deviation):
            raise ExtractorError('mean and deviation need three values, none of deviation zero')
        if not 0.0 <= self.colours < 1.0 or (self.colours and not self.normalise):
            raise ExtractorError(f'colours is {self.colours}; it must be at least 0 and below 1, '
                                 'and 0 where normalise is false')
        if not 1 <= len(self.looks) <= _MOST_LOOKS or not all(
                0.0 < look <= 1.0 for look in self.looks) or (
                len(self.looks) > 1 and not self.normalise):
            raise ExtractorError(f'looks is {list(self.looks)}; it must be 1 to {_MOST_LOOKS} '
                                 'shares above 0 to 1, and one where normalise is false')
        self.network = open_network(
            self.model, self.output, self.threads, self.engine, self.providers)
        self._width = len(self(np.zeros((8, 8, 3), np.uint8)))

    @property
    def width(self) -> int:
        """Size of the model's output."""
        return self._width

    @property
    def engine_name(self) -> str:
        """Library that runs the model, and the accelerator."""
        return self.network.engine

    @property
    def problem(self) -> str:
        """Why a better accelerator is not used."""
        return self.network.problem

    def identity_value(self, parameter_name: str) -> Any:
        """Return the hash in place of the path, and leave out what does not change the values."""
        if parameter_name == 'model':
            return self.network.file_hash
        if parameter_name in _NOT_IN_IDENTITY:
            return type(self).__dataclass_fields__[parameter_name].default
        return getattr(self, parameter_name)

    def __call__(self, sample: NDArray[Any]) -> Vector:
        """Return the embedding of an image, (rows, columns) grey or (rows, columns, 3) RGB.

        Raises:
            BadSensorDataError: the model failed on the image, or its output is not finite.
        """
        return self.finished(self.prepared(sample))

    def prepared(self, sample: NDArray[Any]) -> _PreparedImage:
        """Return an image as the model takes it, and its colours where they are joined.

        Raises:
            BadSensorDataError: not an image, or one without pixels.
        """
        image = self.cropped(sample)
        looks = [self._resized(_middle(image, share)) for share in self.looks]
        tensors = [self._as_input(look) for look in looks]
        return _PreparedImage(tensors[0] if len(tensors) == 1 else np.concatenate(tensors),
                              _COLOURS(_as_pixels(looks[0])) if self.colours else _NO_COLOURS)

    def finished(self, prepared: _PreparedImage) -> Vector:
        """Return the embedding of a prepared image.

        Raises:
            BadSensorDataError: the model failed on the image, or its output is not finite.
        """
        return self._finished([prepared])[0]

    def extract_many(self, samples: Sequence[NDArray[Any]]) -> list[Vector]:
        """Return the embeddings of several images, in batches on several threads.

        Raises:
            BadSensorDataError: as for one image.
        """
        if len(samples) < 2:
            return [self(sample) for sample in samples]
        largest = max(1, _LARGEST_BATCH // len(self.looks)) if self.network.takes_batches else 1
        size = min(largest, -(-len(samples) // self._workers))
        parts = [samples[start:start + size] for start in range(0, len(samples), size)]
        return [vector for part in self._pool.map(self._embed, parts) for vector in part]

    @property
    def _workers(self) -> int:
        return self.batch_threads or len(os.sched_getaffinity(0))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, 'onnx_embedding')

    def _embed(self, samples: Sequence[NDArray[Any]]) -> list[Vector]:
        return self._finished([self.prepared(sample) for sample in samples])

    def _finished(self, images: Sequence[_PreparedImage]) -> list[Vector]:
        tensors = [image.tensor for image in images]
        batch = tensors[0] if len(tensors) == 1 else np.concatenate(tensors)
        try:
            result = self.network.run(batch) if self.network.takes_batches else np.concatenate(
                [self.network.run(batch[place:place + 1]) for place in range(len(batch))])
        except Exception as error:  # onnxruntime's errors share no base class
            raise BadSensorDataError('onnx_failed', f'{self.model} failed: {error}') from error
        vectors: Vector = result.reshape(len(batch), -1)
        if not np.isfinite(vectors).all():
            raise BadSensorDataError('not_finite', f'{self.model} gave values that are not finite')
        if self.normalise:
            vectors = _of_unit_length(vectors)
        if len(self.looks) > 1:
            looks = vectors.reshape(len(images), len(self.looks), -1)
            vectors = _of_unit_length(looks.mean(axis=1))
        if self.colours:
            shares = np.array([image.colours for image in images])
            vectors = np.hstack([vectors * np.float32(np.sqrt(1.0 - self.colours)),
                                 shares * np.float32(np.sqrt(self.colours))])
        return list(vectors)

    def _resized(self, image: NDArray[Any]) -> _ResizedImage:
        shape = self.network.image.shape
        rows, columns = shape[2:] if shape[1] in (1, 3) else shape[1:3]
        small = resized_by_area(
            self._bounded(image), rows or self.input_size, columns or self.input_size)
        return _ResizedImage(small, white_level_of(image, self.white_level))

    def _as_input(self, image: _ResizedImage) -> NDArray[Any]:
        shape = self.network.image.shape
        channels_first = shape[1] in (1, 3)
        channels = shape[1] if channels_first else shape[3]
        small = _with_channels(image.values, 1 if channels == 1 else 3)
        # Scaled after resizing, plane by plane: the same values in a fraction of the time.
        white = np.float32(image.white)
        planes: NDArray[np.float32] = np.ascontiguousarray(small.transpose(2, 0, 1), np.float32)
        wanted = self.network.element
        if wanted is np.uint8:
            planes = np.rint(planes * (np.float32(255) / white))
        elif channels == 1:
            planes /= white
        else:
            mean, deviation = np.array([self.mean, self.deviation], np.float32)[..., None, None]
            planes -= mean * white
            planes /= deviation * white
        ordered = planes if channels_first else planes.transpose(1, 2, 0)
        return np.ascontiguousarray(ordered[np.newaxis], wanted)

    def _bounded(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return the image as floats, none above white."""
        floats = image.astype(np.float32)
        return np.minimum(floats, np.float32(self.white_level)) if self.white_level else floats


def _middle(image: NDArray[Any], share: float) -> NDArray[Any]:
    """Return the middle of an image, with a share of its sides; at least a pixel."""
    rows, columns = (max(1, round(side * share)) for side in image.shape[:2])
    top, left = ((side - kept) // 2 for side, kept in zip(
        image.shape, (rows, columns), strict=False))
    return image[top:top + rows, left:left + columns]


def _of_unit_length(vectors: Vector) -> Vector:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


def _as_pixels(image: _ResizedImage) -> NDArray[np.uint8]:
    """Return an image for its colours: with 8 bits per value, and small."""
    values = image.values
    scaled = values if image.white == 255 else values * np.float32(255 / image.white)
    pixels: NDArray[np.uint8] = np.rint(scaled).astype(np.uint8)
    rows, columns = (min(side, _COLOUR_SIDE) for side in pixels.shape[:2])
    if pixels.shape[:2] == (rows, columns):
        return pixels
    return np.asarray(cv2.resize(pixels, (columns, rows), interpolation=cv2.INTER_AREA), np.uint8)


def _with_channels(image: NDArray[Any], channels: int) -> NDArray[Any]:
    """Return an image as (rows, columns, channels) with one or three channels."""
    if image.ndim == 2:
        image = np.repeat(image[..., np.newaxis], 3, axis=2)
    if channels == 1:
        return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., np.newaxis]
    return image
