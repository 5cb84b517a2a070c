# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a classroom from the node's parameters, and keeps it in step with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from proemlc_ros.bags.journal import Journal
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.limits import Limits
from proemlc_ros.classifier.matching import MatchingRules
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.queries import QueryPolicy
from proemlc_ros.classifier.resume import Resumed, begin, resume
from proemlc_ros.classifier.validation import Validation
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.conversions import MessageFactory
from proemlc_ros.core import ProEMLC

MEGABYTE = 1_000_000
# Parameters that a model carries in itself, so that a loaded one may differ from them.
_PINNED = ('hidden_size', 'ridge', 'activation', 'scaling', 'direct_links', 'seed', 'forgetting',
           'threshold')


def model_directory_of(values: SimpleNamespace, node_name: str) -> Path:
    """Return the folder of a node's model files."""
    if values.model_directory:
        return Path(values.model_directory).expanduser()
    return Path.home() / '.ros' / 'proemlc' / node_name.strip('/')


def open_classifier(values: SimpleNamespace, node_name: str, messages: MessageFactory,
                   log: Callable[[str], None]) -> tuple[Classifier, Resumed]:
    """Open the model directory and its journal, and go on where the last run stopped.

    Args:
        values: of the parameters.
        node_name: fully qualified.
        messages: of the sourced ROS.
        log: told about failures in the background.

    Returns:
        The classroom, and what was found.

    Raises:
        ProEMLCError: the directory, the journal or the model cannot be used.
    """
    def new_model() -> ProEMLC:
        return ProEMLC(**{name: getattr(values, name) for name in _PINNED},
                       warmup=values.warmup or None, width=values.width or None)

    pupil = VersionedModel(new_model(), values.undo_depth, values.hamming_window)
    directory = ModelDirectory(model_directory_of(values, node_name),
                               values.max_model_file_mb * MEGABYTE)
    try:
        journal = Journal(directory.journal, messages, node_name,
                          max_file_bytes=values.journal_file_mb * MEGABYTE,
                          max_bytes=values.journal_limit_mb * MEGABYTE)
        session = DurableModel(pupil, new_model, directory, journal)
        resumed = _start(session, values)
        resumed.notes[:0] = journal.repairs
    except BaseException:
        directory.close()
        raise
    intake = Validation(session.limits, MatchingRules(), pupil.model.width, pupil.extractor)
    classroom = Classifier(session, intake, QueryPolicy(), values.held_annotations, log)
    apply_parameters(classroom, values)
    return classroom, resumed


def _start(session: DurableModel, values: SimpleNamespace) -> Resumed:
    if not values.resume:
        begin(session)
        resumed = Resumed()
    else:
        resumed = resume(session)
        resumed.notes += _differences(session.pupil.model, values)
    if values.model_file and not session.position:
        session.load(values.model_file)
        resumed.notes.append(f'began with {values.model_file}')
    return resumed


def _differences(model: ProEMLC, values: SimpleNamespace) -> list[str]:
    return [f'parameter {name} is {getattr(values, name)!r}, but the resumed model was made with '
            f'{getattr(model.options, name)!r} and keeps it; reset to change it'
            for name in _PINNED if getattr(values, name) != getattr(model.options, name)]


def apply_parameters(classroom: Classifier, values: SimpleNamespace) -> None:
    """Bring a classroom in step with the parameters that may change at run time."""
    classroom.session.pupil.threshold_offset = values.threshold_offset
    limits: Limits = classroom.session.limits
    limits.max_labels = values.max_labels
    limits.max_label_length = values.max_label_length
    limits.max_width = values.max_width
    rules = classroom.intake.matcher.rules
    rules.tolerance = values.match_tolerance
    rules.hold = values.hold_time
    rules.reorder = values.reorder_time
    rules.capacity = values.buffer_size
    rules.max_bytes = values.buffer_mb * MEGABYTE
    rules.max_held = values.held_annotations
    classroom.teacher.capacity = values.held_annotations
    classroom.feature_rate.rate = values.max_feature_rate
    classroom.annotation_rate.rate = values.max_annotation_rate
    asking = classroom.queries.rules
    asking.novelty = values.query_novelty
    asking.margin = values.query_margin
    asking.rate = values.query_rate
    classroom.snapshots.every = values.snapshot_every
    classroom.snapshots.period = values.snapshot_period
