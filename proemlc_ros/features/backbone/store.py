# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of installed networks: each with its hash, licence, origin and parameter file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proemlc_ros.errors import BackboneError
from proemlc_ros.files import replace_text, sync_folder

_DEFAULT_FILE = 'default'
_ABOUT_FILE = 'backbone.json'
_PARAMETER_FILE = 'features.yaml'
_NAME = re.compile(r'[a-z0-9][a-z0-9_.-]{0,63}')


@dataclass(frozen=True)
class Backbone:
    """An installed network: its file, what it is, and the parameters that its images need.

    Args:
        folder: of its files.
        name: for users.
        sha256: of the ONNX file.
        licence: of the weights.
        origin: where they come from.
        width: values per image.
        parameters: of the extractor onnx_embedding, except `model`.
        speed: measured when it was installed, in words.
        image_ms: time for one picture of 640 x 480 on one thread, likewise.
    """

    folder: Path
    name: str
    sha256: str
    licence: str
    origin: str
    width: int
    parameters: dict[str, Any]
    speed: str
    image_ms: float

    @property
    def model(self) -> Path:
        """The ONNX file."""
        return self.folder / f'{self.name}.onnx'

    @property
    def parameter_file(self) -> Path:
        """Parameter file of the feature node that fits."""
        return self.folder / _PARAMETER_FILE

    def extractor_parameters(self) -> dict[str, Any]:
        """Return the parameters of onnx_embedding for this network, once its file is checked.

        Raises:
            BackboneError: the file is missing or was changed since it was installed.
        """
        try:
            content = self.model.read_bytes()
        except OSError as error:
            raise BackboneError(
                f'cannot read {self.model}: {error.strerror or error}; install it '
                'again') from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise BackboneError(
                f'{self.model} was changed or damaged since it was installed (its hash differs); '
                f'install it again: proemlc backbone install {self.name}')
        return {'model': str(self.model), **self.parameters}


def backbone_folder() -> Path:
    """Return the folder of the installed networks, as the XDG rules say."""
    stated = os.environ.get('XDG_DATA_HOME', '')
    base = Path(stated) if stated.startswith('/') else Path.home() / '.local' / 'share'
    return base / 'proemlc_ros' / 'backbones'


def installed_backbones(folder: Path | None = None) -> list[Backbone]:
    """Return what is installed, by name; entries that cannot be read are left out."""
    found = []
    for path in sorted((folder or backbone_folder()).glob(f'*/{_ABOUT_FILE}')):
        try:
            found.append(read_backbone(path.parent))
        except BackboneError:
            continue
    return found


def default_backbone(folder: Path | None = None) -> Backbone | None:
    """Return the network that `extractor: auto` takes: the one installed last; None: no one is.

    Raises:
        BackboneError: its entry is damaged.
    """
    folder = folder or backbone_folder()
    try:
        name = (folder / _DEFAULT_FILE).read_text(encoding='utf-8').strip()
    except (OSError, UnicodeDecodeError):
        return None
    return read_backbone(folder / checked_name(name)) if name else None


def read_backbone(folder: Path) -> Backbone:
    """Return an installed network.

    Raises:
        BackboneError: it is not there, or its description is damaged.
    """
    try:
        about = json.loads((folder / _ABOUT_FILE).read_text(encoding='utf-8'))
        if about['name'] != folder.name:
            raise ValueError(f'it is about {about["name"]!r}')
        return Backbone(
            folder, str(about['name']), str(about['sha256']), str(about['licence']),
            str(about['origin']), int(about['width']), dict(about['parameters']),
            str(about['speed']), float(about['image_ms']))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackboneError(
            f'the backbone in {folder} is not there or its {_ABOUT_FILE} is damaged ({error}); '
            'install it again') from error


def write_backbone(backbone: Backbone, content: bytes) -> Backbone:
    """Put a network into its folder, whole or not at all, and make it the default.

    Args:
        backbone: with the folder where it goes.
        content: of its ONNX file.
    """
    target = backbone.folder
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f'.{target.name}.{os.getpid()}.tmp')
    replaced = target.with_name(f'.{target.name}.{os.getpid()}.old')
    try:
        beside.mkdir()
        with (beside / backbone.model.name).open('wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        about = {key: value for key, value in asdict(backbone).items() if key != 'folder'}
        replace_text(beside / _ABOUT_FILE, json.dumps(about, indent=2) + '\n')
        replace_text(beside / _PARAMETER_FILE, parameter_text(backbone))
        if target.exists():
            target.rename(replaced)
        beside.rename(target)
        sync_folder(target.parent)
        replace_text(target.parent / _DEFAULT_FILE, f'{backbone.name}\n')
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
    return backbone


def parameter_text(backbone: Backbone) -> str:
    """Return the parameter file of the feature node for a network."""
    lines = [f'      {key}: {json.dumps(value)}' for key, value in (
        ('model', str(backbone.model)), *backbone.parameters.items())]
    return '\n'.join([
        f'# Parameters of feature_node for the backbone {backbone.name}: {backbone.width} values.',
        f'# Licence: {backbone.licence}. Origin: {backbone.origin}.'.replace('\n', ' '),
        '/**:', '  ros__parameters:', '    sensors: [camera]', '    camera:',
        '      topic: /camera/image_raw', '      extractor: onnx_embedding', *lines, ''])


def checked_name(name: str) -> str:
    """Return a name that is safe as the name of a folder.

    Raises:
        BackboneError: it is not.
    """
    if not _NAME.fullmatch(name):
        raise BackboneError(
            f'{name[:80]!r} is not a backbone name: lower-case letters, digits, _, ., -; at most '
            '64 of them')
    return name
