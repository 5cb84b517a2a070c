# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""All parameters of the classifier node, each once, and the classifier that they describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.classifier.renewals import MODES
from proemlc_ros.classifier.resume import ResumeReport, begin, resume
from proemlc_ros.classifier.validation import LONGEST_NAME, MOST_NAMES, MOST_VALUES, Limits
from proemlc_ros.classifier.versioned_model import VersionedModel, renewed_at_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, THRESHOLDS, Options
from proemlc_ros.core.storage.container import read_key
from proemlc_ros.errors import JournalError, ParameterError
from proemlc_ros.journal.journal import Journal, write_settings
from proemlc_ros.nodes.parameters import Declared
from proemlc_ros.nodes.process import limit_blas_threads

RELIABILITIES = ('best_effort', 'reliable')
INPUT_TYPES = ('FeatureVector', 'Float32MultiArray')

_MODEL = Options()

MODEL_PARAMETERS = (
    Declared('hidden_size', 0,
             'Hidden neurons; more fit better and cost more time and memory; 0 = by extractor',
             0, 20_000),
    Declared('ridge', 0.0,
             'Ridge penalty; larger gives smoother scores; 0 = by extractor',
             0.0, 1e12),
    Declared('activation', 'auto',
             'Activation function of the hidden neurons; the radial ones (rbf, laplacian, '
             'kernel_sum) take their centres from the first samples; auto = by extractor',
             choices=('auto', *ACTIVATIONS, *RADIAL)),
    Declared('scaling', 'auto',
             'Scaling of the feature values before the hidden layer; auto = by extractor',
             choices=('auto', *SCALINGS)),
    Declared('direct_links', _MODEL.direct_links,
             'Direct links from the features to the outputs, in addition to the hidden layer'),
    Declared('seed', _MODEL.seed,
             'Seed of the random hidden layer',
             0, 2**31 - 1),
    Declared('forgetting', _MODEL.forgetting,
             'Forgetting factor per sample, 0.5 to 1; 1 = off; 0 = chosen by prequential losses',
             0.0, 1.0),
    Declared('threshold', _MODEL.threshold,
             'Decision rule for labels',
             choices=THRESHOLDS),
    Declared('threshold_offset', 0.0,
             'Offset added to the threshold of probability or score; above 0 predicts fewer '
             'labels, below 0 more',
             -2.0, 2.0, runtime=True),
    Declared('unknown_above', 0.0,
             'Novelty above which no label is predicted and unknown is set; above 1 = never; 0 = '
             'by extractor: 0.85 for deep features of pictures, else never',
             0.0, 2.0, runtime=True),
    Declared('partial_memory', _MODEL.partial_memory,
             'Memory for the matrices that exact learning from partial annotations needs, '
             'megabytes; labels beyond it are learnt approximately',
             0.0, 1e6),
    Declared('warmup', 0,
             'Samples from which the hidden layer takes centres and scaling; 0 = automatic',
             0, 1_000_000),
    Declared('width', 0,
             'Values of a feature vector; 0 = those of the first one',
             0, 10_000_000),
    Declared('renewal', 'automatic',
             'Choice of hidden layer and settings from all samples, in the background: automatic '
             '= at 30 samples, then whenever they have doubled or stay novel; manual = by ~/renew '
             'only; off',
             choices=MODES, runtime=True),
    Declared('renewal_hidden_size', 1000,
             'Most hidden neurons that a renewal may choose',
             1, 20_000, runtime=True),
)

FILE_PARAMETERS = (
    Declared('model_directory', '',
             'Folder for model files, snapshots and the journal; empty = ~/.ros/proemlc/ and '
             'the full name of the node'),
    Declared('model_file', '',
             'Model file of that folder to start from when there is nothing to resume; empty ='
             ' an untrained model'),
    Declared('resume', True,
             'Resume what an earlier run learnt; false starts untrained and keeps the old '
             'model as before_reset.npz'),
    Declared('autostart', True,
             'Configure and activate without a lifecycle manager'),
    Declared('blas_threads', 1,
             'Threads for matrix products; more than 1 pays only on idle cores; 0 = as many as '
             'the library takes',
             0, 1024),
    Declared('snapshot_every', 100,
             'Annotations between snapshots',
             1, 1_000_000, runtime=True),
    Declared('snapshot_period', 60.0,
             'Seconds between snapshots while annotations come',
             0.1, 86_400.0, runtime=True),
    Declared('journal_file_mb', 64,
             'Maximum size of one journal file, megabytes',
             1, 4096),
    Declared('journal_limit_mb', 0,
             'Journal size limit, megabytes; the oldest files are deleted once both snapshots '
             'hold them; 0 = no limit',
             0, 10_000_000),
    Declared('max_model_file_mb', 1024,
             'Size limit of model files to load, megabytes',
             1, 65_536),
    Declared('model_key_file', '',
             'File with the key that signs the model files saved and checks those loaded; empty '
             '= off'),
    Declared('require_signature', False,
             'Reject model files without a signature; needs model_key_file'),
    Declared('undo_depth', 100,
             'Annotations that can be undone',
             1, 100_000),
)

PICTURE_PARAMETERS = (
    Declared('keep_pictures', True,
             'Keep the picture of each annotation in the journal'),
    Declared('picture_topic', '',
             'Topic of the pictures to keep, raw or compressed; empty = the source topic of the '
             'feature vectors'),
    Declared('depth_topic', '',
             'Topic of depth pictures aligned to the camera, 16UC1 in mm or 32FC1 in m, for '
             'positions of regions; empty = no positions'),
    Declared('camera_info_topic', '',
             "Topic of the camera's intrinsics, which depth_topic needs"),
    Declared('picture_size', 320,
             'Longest side of a kept picture, pixels; larger ones are scaled down',
             16, 8192),
    Declared('picture_quality', 80,
             'JPEG quality of a kept picture, 1 to 100',
             1, 100),
    Declared('picture_buffer_mb', 64,
             'Memory for pictures awaiting annotation, megabytes',
             1, 65_536),
)

TOPIC_PARAMETERS = (
    Declared('input_type', 'FeatureVector',
             'Message type of ~/features; Float32MultiArray has no stamp and is stamped on '
             'arrival',
             choices=INPUT_TYPES),
    Declared('features_reliability', 'best_effort',
             'QoS reliability of ~/features; best_effort receives from every publisher, '
             'reliable only from reliable ones',
             choices=RELIABILITIES),
    Declared('features_depth', 100,
             'Queue length of ~/features, vectors',
             1, 10_000),
    Declared('predictions_reliability', 'reliable',
             'QoS reliability of ~/predictions and ~/classification; reliable serves every '
             'subscriber, best_effort only best-effort ones',
             choices=RELIABILITIES),
)

MATCHING_PARAMETERS = (
    Declared('match_tolerance', 0.0,
             'Largest difference between the stamps of an annotation and its feature vector, '
             'seconds',
             0.0, 3600.0, runtime=True),
    Declared('hold_time', 1.0,
             'Waiting time of an annotation for a late feature vector, seconds',
             0.0, 3600.0, runtime=True),
    Declared('reorder_time', 1.0,
             'Largest reordering of feature vectors, seconds; a larger step back clears the '
             'buffer',
             0.0, 3600.0, runtime=True),
    Declared('buffer_size', 1000,
             'Feature vectors kept for later annotations',
             1, 1_000_000, runtime=True),
    Declared('buffer_mb', 64,
             'Memory for these feature vectors, megabytes',
             1, 65_536, runtime=True),
    Declared('held_annotations', 100,
             'Annotations that may wait for features or the disk',
             1, 100_000, runtime=True),
)

LIMIT_PARAMETERS = (
    Declared('max_labels', 1000,
             'Labels that the model may know',
             1, MOST_NAMES, runtime=True),
    Declared('max_label_length', 100,
             'Length of a label name, characters',
             1, LONGEST_NAME, runtime=True),
    Declared('max_width', 100_000,
             'Values of a feature vector',
             1, MOST_VALUES, runtime=True),
    Declared('max_feature_rate', 0.0,
             'Feature vectors per second, the rest is dropped; 0 = no limit',
             0.0, 1e6, runtime=True),
    Declared('max_annotation_rate', 1000.0,
             'Annotations per second, the rest is rejected; 0 = no limit',
             0.0, 1e6, runtime=True),
)

QUERY_PARAMETERS = (
    Declared('query_novelty', 0.8,
             'Least novelty for a query on ~/queries; above 1 = never',
             0.0, 2.0, runtime=True),
    Declared('query_margin', 0.2,
             'Distance of a probability to one half, or of a score to its threshold, below which '
             'a query is published; 0 = never',
             0.0, 10.0, runtime=True),
    Declared('query_rate', 0.5,
             'Queries per second; 0 = none',
             0.0, 100.0, runtime=True),
)

REPORT_PARAMETERS = (
    Declared('hamming_window', 200,
             'Annotations over which the rolling Hamming loss is computed',
             1, 1_000_000),
    Declared('warning_period', 5.0,
             'Least time between log lines of one kind, such as rejections of one cause, seconds',
             0.0, 3600.0, runtime=True),
)

CLASSIFIER_PARAMETERS = (*MODEL_PARAMETERS, *FILE_PARAMETERS, *PICTURE_PARAMETERS,
                         *TOPIC_PARAMETERS,
                         *MATCHING_PARAMETERS, *LIMIT_PARAMETERS, *QUERY_PARAMETERS,
                         *REPORT_PARAMETERS)


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
    new_learner = LearnerFactory({**_given_settings(values), 'warmup': values.warmup or None,
                                  'width': values.width or None})
    limit_blas_threads(values.blas_threads)
    model = VersionedModel(new_learner(), values.undo_depth, values.hamming_window,
                           new_learner.fitted)
    model.threshold_offset, model.unknown_above = values.threshold_offset, values.unknown_above
    directory = ModelDirectory(model_directory_of(values, node_name),
                               values.max_model_file_mb * MEGABYTE, _key_of(values),
                               values.require_signature)
    try:
        journal = Journal(directory.journal, node_name,
                          max_file_bytes=values.journal_file_mb * MEGABYTE,
                          max_bytes=values.journal_limit_mb * MEGABYTE)
        durable = DurableModel(model, new_learner, directory, journal, _limits_of(values),
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
        report.began_with = name
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


def _limits_of(values: SimpleNamespace) -> Limits:
    """Return the bounds that the parameters set."""
    return Limits(values.max_labels, values.max_label_length, values.max_width)


def _given_settings(values: SimpleNamespace) -> dict[str, Any]:
    """Return the settings of the learner that the parameters give, without automatic ones."""
    return {name: value for name in _MODEL_SETTINGS
            if (value := getattr(values, name)) != _AUTOMATIC.get(name)}


def _differences(learner: ProEMLC, values: SimpleNamespace) -> list[str]:
    return [f'parameter {name} is {value!r}, but the resumed model was made with '
            f'{learner.options.given(name)!r} and keeps it; reset to change it'
            for name, value in _given_settings(values).items()
            if (name in _OWNER_SETTINGS or not renewed_at_of(learner))
            and value != learner.options.given(name)]


def apply_parameters(classifier: Classifier, values: SimpleNamespace) -> None:
    """Bring a classifier in step with the parameters that may change at run time."""
    classifier.durable.model.threshold_offset = values.threshold_offset
    classifier.durable.model.unknown_above = values.unknown_above
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
