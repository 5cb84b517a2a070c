# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a classifier from the node's parameters, and keeps it in step with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.following import renewed_at_of
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.classifier.resume import ResumeReport, begin, resume
from proemlc_ros.classifier.validation import Limits
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage.signing import read_key
from proemlc_ros.errors import JournalError, ParameterError
from proemlc_ros.journal.attachments import write_settings
from proemlc_ros.journal.journal import Journal
from proemlc_ros.nodes.classifier.blas_threads import limit_blas_threads

MEGABYTE = 1_000_000
# Parameters that a model carries in itself, so that a loaded one may differ from them.
_MODEL_SETTINGS = ('hidden_size', 'ridge', 'activation', 'scaling', 'direct_links', 'seed',
                   'forgetting', 'threshold', 'partial_memory')
# Values of those that follow the features which are learnt first.
_AUTOMATIC = {'hidden_size': 0, 'ridge': 0.0, 'activation': 'auto', 'scaling': 'auto'}
# Those of them that a renewal keeps.
_OWNER_SETTINGS = ('seed', 'forgetting', 'threshold', 'partial_memory')


def model_directory_of(values: SimpleNamespace, node_name: str) -> Path:
    """Return the folder of a node's model files."""
    if values.model_directory:
        return Path(values.model_directory).expanduser()
    return Path.home() / '.ros' / 'proemlc' / node_name.strip('/')


def open_classifier(values: SimpleNamespace, node_name: str,
                    on_error: Callable[[str], None]) -> tuple[Classifier, ResumeReport]:
    """Open the model directory and its journal, and go on where the last run stopped.

    Args:
        values: of the parameters.
        node_name: fully qualified.
        on_error: called with failures in the background, in words.

    Returns:
        The classifier, and what was found.

    Raises:
        ProEMLCError: the directory, the journal or the model cannot be used.
    """
    new_learner = LearnerFactory({**given_settings(values), 'warmup': values.warmup or None,
                                  'width': values.width or None})
    limit_blas_threads(values.blas_threads)
    model = VersionedModel(new_learner(), values.undo_depth, values.hamming_window,
                           new_learner.fitted)
    model.threshold_offset = values.threshold_offset
    directory = ModelDirectory(model_directory_of(values, node_name),
                               values.max_model_file_mb * MEGABYTE, _key_of(values),
                               values.require_signature)
    try:
        journal = Journal(directory.journal, node_name,
                          max_file_bytes=values.journal_file_mb * MEGABYTE,
                          max_bytes=values.journal_limit_mb * MEGABYTE)
        durable = DurableModel(model, new_learner, directory, journal, limits_of(values),
                               on_warning=on_error)
        report = _start(durable, values)
        report.notes[:0] = journal.repairs
        if not journal.problem:
            write_settings(journal.folder, new_learner.settings_of(model.learner))
    except BaseException:
        directory.close()
        raise
    classifier = Classifier(durable, capacity=values.held_annotations, on_error=on_error)
    apply_parameters(classifier, values)
    return classifier, report


def _start(durable: DurableModel, values: SimpleNamespace) -> ResumeReport:
    if not values.resume:
        report = begin(durable)
    else:
        report = resume(durable)
        report.notes += _differences(durable.model.learner, values)
    if values.model_file and not durable.position:
        _load_first(durable, values.model_file, report)
    return report


def _load_first(durable: DurableModel, name: str, report: ResumeReport) -> None:
    try:
        durable.load(name)
        report.notes.append(f'began with {name}')
    except (JournalError, OSError) as error:
        if not durable.journal.problem:
            raise
        # It cannot be journalled now; predictions are possible all the same.
        durable.model.replace(durable.directory.read_model(
            durable.directory.existing(name), durable.limits))
        durable.first_file = name
        report.notes.append(f'predicts with {name}; nothing can be learnt now: {error}')


def _key_of(values: SimpleNamespace) -> bytes | None:
    """Return the key for model files; None: they are neither signed nor checked."""
    if values.model_key_file:
        return read_key(Path(values.model_key_file).expanduser())
    if values.require_signature:
        raise ParameterError('require_signature is true, but there is no key to check signatures '
                             'with; set model_key_file')
    return None


def limits_of(values: SimpleNamespace) -> Limits:
    """Return the bounds that the parameters set."""
    return Limits(values.max_labels, values.max_label_length, values.max_width)


def given_settings(values: SimpleNamespace) -> dict[str, Any]:
    """Return the settings of the learner that the parameters give, without automatic ones."""
    return {name: value for name in _MODEL_SETTINGS
            if (value := getattr(values, name)) != _AUTOMATIC.get(name)}


def _differences(learner: ProEMLC, values: SimpleNamespace) -> list[str]:
    return [f'parameter {name} is {value!r}, but the resumed model was made with '
            f'{getattr(learner.options, name)!r} and keeps it; reset to change it'
            for name, value in given_settings(values).items()
            if (name in _OWNER_SETTINGS or not renewed_at_of(learner))
            and value != getattr(learner.options, name)]


def apply_parameters(classifier: Classifier, values: SimpleNamespace) -> None:
    """Bring a classifier in step with the parameters that may change at run time."""
    classifier.durable.model.threshold_offset = values.threshold_offset
    limits = classifier.durable.limits
    limits.max_labels = values.max_labels
    limits.max_label_length = values.max_label_length
    limits.max_width = values.max_width
    rules = classifier.matcher.rules
    rules.tolerance = values.match_tolerance
    rules.hold = values.hold_time
    rules.reorder = values.reorder_time
    rules.capacity = values.buffer_size
    rules.max_bytes = values.buffer_mb * MEGABYTE
    rules.max_held = values.held_annotations
    classifier.learning.capacity = values.held_annotations
    classifier.feature_rate.rate = values.max_feature_rate
    classifier.annotation_rate.rate = values.max_annotation_rate
    queries = classifier.queries.rules
    queries.novelty = values.query_novelty
    queries.margin = values.query_margin
    queries.rate = values.query_rate
    classifier.renewals.policy.mode = values.renewal
    classifier.renewals.most = values.renewal_hidden_size
    classifier.snapshots.every = values.snapshot_every
    classifier.snapshots.period = values.snapshot_period
