# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of the model, kept beside its journal: they are needed to learn the same again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proemlc_ros.core.options import Options
from proemlc_ros.errors import ParameterError
from proemlc_ros.files import replace_text

SETTINGS_FILE = 'settings.json'


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings into the folder of a journal, where they are not there already.

    Args:
        folder: of the journal.
        settings: of the learner; those left out follow its first features.

    Raises:
        OSError: the disk fails.
    """
    if read_settings(folder) != settings or not (folder / SETTINGS_FILE).exists():
        replace_text(folder / SETTINGS_FILE, json.dumps(dict(settings), indent=1) + '\n')


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder; empty where there are none that this version knows."""
    try:
        values = json.loads((folder / SETTINGS_FILE).read_text(encoding='utf-8'))
        Options.from_dict(values)
        return dict(values)
    except (OSError, ValueError, TypeError, AttributeError, ParameterError):
        return {}
