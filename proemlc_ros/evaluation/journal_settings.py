# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of the model that a journal belongs to, so that it is judged with its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.profiles import is_automatic
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ModelFileError
from proemlc_ros.journal.attachments import OLDER_SNAPSHOT, SNAPSHOT, read_settings
from proemlc_ros.journal.journal import JOURNAL


def journal_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the node that wrote a journal.

    Args:
        path: Folder or file of a bag.

    Returns:
        The settings; empty where it is another bag, or the journal is alone.

    """
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    if folder.name == JOURNAL:
        for name in (SNAPSHOT, OLDER_SNAPSHOT):
            try:
                model = ProEMLC.load(folder.parent / name)
            except (OSError, ModelFileError):
                continue
            if model.samples or not is_automatic(model):
                return model.options.as_dict()
    return read_settings(folder)


def common_settings(paths: Iterable[Path]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of the first journal among some bags, and where others differ.

    Args:
        paths: Bags.

    Returns:
        The settings, empty without a journal; and a note for each journal that had others.

    """
    found: dict[str, Any] = {}
    first: Path | None = None
    notes = []
    for path in paths:
        settings = journal_settings(path)
        if settings and first is None:
            found, first = settings, path
        elif settings and settings != found:
            names = ', '.join(f'{name} = {value!r}' for name, value in settings.items()
                              if found.get(name) != value)
            notes.append(f'the node of {path} had {names}; those of {first} are used')
    return found, notes
