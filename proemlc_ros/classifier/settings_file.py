# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of the model, kept beside its journal: they are needed to learn the same again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proemlc_ros.core.options import Options
from proemlc_ros.errors import ParameterError
from proemlc_ros.files import replace_text

SETTINGS_FILE = 'settings.json'


def write_settings(folder: Path, options: Options) -> None:
    """Write the settings into the folder of a journal, where they are not there already.

    Raises:
        OSError: the disk fails.
    """
    if read_settings(folder) != options.as_dict():
        replace_text(folder / SETTINGS_FILE, json.dumps(options.as_dict(), indent=1) + '\n')


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder; empty where there are none that this version knows."""
    try:
        values = json.loads((folder / SETTINGS_FILE).read_text(encoding='utf-8'))
        return Options.from_dict(values).as_dict()
    except (OSError, ValueError, TypeError, AttributeError, ParameterError):
        return {}
