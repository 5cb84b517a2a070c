# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX networks, by onnxruntime or, where that is missing, by OpenCV."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BackboneError, ExtractorError, MissingDependencyError
from proemlc_ros.features.backbone.onnx_files import (
    ELEMENT_TYPES,
    OnnxSummary,
    TensorInfo,
    read_summary,
)

_MOST_PIXELS = 4096
_ENGINES = ('auto', 'onnxruntime', 'opencv')
# What onnxruntime may run a network on, the fastest first, by the names of the parameter.
_PROVIDERS = {
    'tensorrt': 'TensorrtExecutionProvider', 'cuda': 'CUDAExecutionProvider',
    'openvino': 'OpenVINOExecutionProvider', 'coreml': 'CoreMLExecutionProvider',
    'cpu': 'CPUExecutionProvider',
}


class Network(ABC):
    """An opened network: images in, one of its outputs out.

    Attributes:
        engine: what runs it.
        problem: why that is not what was asked for, or the best there is; empty: it is.
    """

    engine: str
    problem = ''

    def __init__(self, image: TensorInfo, output: str, file_hash: str) -> None:
        self.image = image
        self.output = output
        self.file_hash = file_hash

    @property
    def element(self) -> type[Any]:
        """Element type of the images."""
        return ELEMENT_TYPES[self.image.element]

    @property
    def takes_batches(self) -> bool:
        """Whether several images may go in at once."""
        return self.image.shape[0] is None

    @abstractmethod
    def run(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return the output for a batch of images; called from several threads at once."""


class _OnnxRuntimeNetwork(Network):
    """A network in onnxruntime, on an accelerator or the processor."""

    engine = 'onnxruntime'

    def __init__(self, session: Any, image: TensorInfo, output: str, file_hash: str,
                 provider: str = 'cpu', problem: str = '') -> None:
        """Take an opened session, what it runs on, and why not on something else."""
        super().__init__(image, output, file_hash)
        self._session = session
        self.problem = problem
        if provider != 'cpu':
            self.engine = f'onnxruntime on {provider}'

    def run(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return the output for a batch of images."""
        (result,) = self._session.run([self.output], {self.image.name: images})
        return np.asarray(result, np.float32)


class _OpenCvNetwork(Network):
    """A network in OpenCV: the same values to about 1e-5, half as fast."""

    engine = 'opencv'

    def __init__(self, net: Any, image: TensorInfo, output: str, file_hash: str) -> None:
        """Take a network that OpenCV has read."""
        super().__init__(image, output, file_hash)
        self._net = net
        self._lock = Lock()  # setInput and forward share the buffers of the network

    def run(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Return the output for a batch of images."""
        with self._lock:
            self._net.setInput(images.astype(np.float32, copy=False), self.image.name)
            return np.array(self._net.forward(self.output), np.float32)


def open_network(path: str, output: str = '', threads: int = 1, engine: str = 'auto',
                 providers: str = 'auto') -> Network:
    """Open an ONNX file.

    Args:
        path: of the file.
        output: name of the output to give; empty: the first.
        threads: for one image; 0: chosen by onnxruntime.
        engine: onnxruntime, opencv, or auto.
        providers: what onnxruntime runs it on: auto = the first that works of tensorrt, cuda,
            openvino, coreml and cpu; or one of them, else cpu.

    Raises:
        MissingDependencyError: the engine is not installed.
        ExtractorError: the file is missing, damaged, or does not take images.
    """
    try:
        content = Path(path).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        raise ExtractorError(
            f'cannot read the ONNX model {path!r}: {getattr(error, "strerror", error)}; set the '
            'parameter model to the path of a .onnx file') from error
    try:
        summary = read_summary(content)
    except BackboneError as error:
        raise ExtractorError(f'{path} is not a usable ONNX model: {error}') from error
    image, output = _image_input(path, summary), _chosen_output(path, summary, output)
    file_hash = hashlib.sha256(content).hexdigest()[:12]
    if _has_onnxruntime(engine):
        session, provider, problem = _session(path, content, threads, providers)
        return _OnnxRuntimeNetwork(session, image, output, file_hash, provider, problem)
    return _OpenCvNetwork(_opencv_net(path, content, image), image, output, file_hash)


def _has_onnxruntime(engine: str) -> bool:
    """Return whether an engine means onnxruntime here.

    Raises:
        ExtractorError: unknown engine.
        MissingDependencyError: onnxruntime is asked for and not installed.
    """
    if engine not in _ENGINES:
        raise ExtractorError(f'engine is {engine!r}; it must be one of {", ".join(_ENGINES)}')
    if engine == 'opencv':
        return False
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        if engine == 'onnxruntime':
            raise MissingDependencyError(
                'engine onnxruntime is not installed: pip install "proemlc_ros[onnx]" or pip '
                'install onnxruntime; engine auto falls back to OpenCV') from error
        return False
    return True


def _image_input(path: str, summary: OnnxSummary) -> TensorInfo:
    """Return the input of a network that takes images.

    Raises:
        ExtractorError: it takes something else.
    """
    if len(summary.inputs) != 1 or len(summary.inputs[0].shape) != 4 or (
            summary.inputs[0].element not in ELEMENT_TYPES):
        found = ', '.join(f'{info.name} of shape {info.shape}' for info in summary.inputs)
        raise ExtractorError(
            f'{path} takes {found or "nothing"}; it must take an image: a batch of one, '
            'channels, rows, columns')
    if any(side and side > _MOST_PIXELS for side in summary.inputs[0].shape):
        raise ExtractorError(
            f'{path} takes images of shape {summary.inputs[0].shape}; the limit is {_MOST_PIXELS} '
            'pixels along a side')
    return summary.inputs[0]


def _chosen_output(path: str, summary: OnnxSummary, wanted: str) -> str:
    """Return the name of the output to use.

    Raises:
        ExtractorError: there is none of that name.
    """
    outputs = [info.name for info in summary.outputs]
    if not outputs or (wanted and wanted not in outputs):
        raise ExtractorError(f'{path} has no output {wanted!r}, only {outputs}')
    return wanted or outputs[0]


def _session(path: str, content: bytes, threads: int, wanted: str) -> tuple[Any, str, str]:
    """Return a session, what it runs on, and why not on what was wanted before that."""
    import onnxruntime
    if wanted not in ('auto', *_PROVIDERS):
        raise ExtractorError(
            f'providers is {wanted!r}; it must be one of auto, {", ".join(_PROVIDERS)}')
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    available = onnxruntime.get_available_providers()
    problems = []
    for name, provider in _PROVIDERS.items():
        if name != 'cpu' and wanted not in ('auto', name):
            continue
        if provider not in available:
            if wanted == name:
                problems.append(f'{name}: this onnxruntime does not have it')
            continue
        try:
            session = onnxruntime.InferenceSession(
                content, options, providers=[*dict.fromkeys((provider, _PROVIDERS['cpu']))])
            if session.get_providers()[0] == provider:
                return session, name, '; '.join(problems)
            # onnxruntime goes on without a provider whose libraries it does not find.
            problems.append(f'{name}: onnxruntime could not load it')
        except Exception as error:  # onnxruntime's errors share no base class
            if name == 'cpu':
                raise ExtractorError(f'{path} is not a usable ONNX model: {error}') from error
            problems.append(f'{name}: {" ".join(str(error).split())[:300]}')
    raise ExtractorError(f'onnxruntime cannot run {path} on anything: {"; ".join(problems)}')


def _opencv_net(path: str, content: bytes, image: TensorInfo) -> Any:
    if image.shape[1] not in (1, 3):
        raise ExtractorError(
            f'{path} takes channels last, for which OpenCV has no network; install onnxruntime')
    try:
        return cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
    except cv2.error as error:
        raise ExtractorError(f'OpenCV cannot read the network {path}: {error}') from error
