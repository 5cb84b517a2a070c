# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""All parameters of the classifier node, each once."""

from __future__ import annotations

from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, THRESHOLDS, Options
from proemlc_ros.nodes.parameter_table import Declared

RELIABILITIES = ('best_effort', 'reliable')
INPUT_TYPES = ('FeatureVector', 'Float32MultiArray')

_MODEL = Options()

MODEL_PARAMETERS = (
    Declared('hidden_size', _MODEL.hidden_size, 'hidden neurons; more fit better and cost more',
             1, 20_000),
    Declared('ridge', _MODEL.ridge, 'weight of the ridge penalty; larger is smoother', 1e-12,
             1e12),
    Declared('activation', _MODEL.activation, 'of the hidden neurons; the radial ones are fixed '
             'when the first samples have come', choices=(*ACTIVATIONS, *RADIAL)),
    Declared('scaling', _MODEL.scaling, 'of the feature values before the hidden layer',
             choices=SCALINGS),
    Declared('direct_links', _MODEL.direct_links, 'whether the outputs also see the features'),
    Declared('seed', _MODEL.seed, 'of the random hidden layer', 0, 2**31 - 1),
    Declared('forgetting', _MODEL.forgetting, 'weight that a sample keeps with each newer one; 1 '
             'never forgets', 0.5, 1.0),
    Declared('threshold', _MODEL.threshold, 'rule for the score above which a label is predicted',
             choices=THRESHOLDS),
    Declared('threshold_offset', 0.0, 'added to that score: above 0 names fewer labels, below 0 '
             'more', -2.0, 2.0, runtime=True),
    Declared('warmup', 0, 'samples that fix a hidden layer which depends on the first ones; 0: '
             'chosen by itself', 0, 1_000_000),
    Declared('width', 0, 'values of a feature vector; 0: those of the first one', 0, 10_000_000),
)

FILE_PARAMETERS = (
    Declared('model_directory', '', 'folder for model files, snapshots and the journal; empty: '
             '~/.ros/proemlc/ and the full name of the node'),
    Declared('model_file', '', 'model of that folder to begin with where there is nothing to '
             'resume; empty: an untaught one'),
    Declared('resume', True, 'whether to go on with what an earlier run learnt; false forgets it '
             'and keeps a copy as before_reset.npz'),
    Declared('autostart', True, 'whether the node configures and activates itself'),
    Declared('snapshot_every', 100, 'annotations after which a snapshot is written', 1, 1_000_000,
             runtime=True),
    Declared('snapshot_period', 60.0, 'seconds after which what changed is written to a snapshot',
             0.1, 86_400.0, runtime=True),
    Declared('journal_file_mb', 64, 'megabytes after which the journal begins its next file',
             1, 4096),
    Declared('journal_limit_mb', 0, 'megabytes above which the oldest journal files are deleted, '
             'once a snapshot holds them; 0: never', 0, 10_000_000),
    Declared('max_model_file_mb', 1024, 'megabytes of the largest model file to load', 1, 65_536),
    Declared('undo_depth', 100, 'annotations that can be taken back', 1, 100_000),
)

TOPIC_PARAMETERS = (
    Declared('input_type', 'FeatureVector', 'type of ~/features; Float32MultiArray has no time of '
             'its own and gets that of its arrival', choices=INPUT_TYPES),
    Declared('features_reliability', 'best_effort', 'QoS of ~/features; best_effort hears every '
             'publisher, reliable only reliable ones', choices=RELIABILITIES),
    Declared('features_depth', 10, 'vectors that may wait to be classified', 1, 10_000),
    Declared('predictions_reliability', 'best_effort', 'QoS of ~/predictions; best_effort is not '
             'heard by reliable subscribers', choices=RELIABILITIES),
)

MATCHING_PARAMETERS = (
    Declared('match_tolerance', 0.0, 'seconds that the stamps of an annotation and its feature '
             'vector may differ', 0.0, 3600.0, runtime=True),
    Declared('hold_time', 1.0, 'seconds that an annotation waits for a late feature vector', 0.0,
             3600.0, runtime=True),
    Declared('reorder_time', 1.0, 'seconds by which vectors may come out of order; a larger step '
             'back is a jump of the clock and clears the buffer', 0.0, 3600.0, runtime=True),
    Declared('buffer_size', 1000, 'feature vectors kept for annotations to come', 1, 1_000_000,
             runtime=True),
    Declared('buffer_mb', 64, 'megabytes of feature vectors kept', 1, 65_536, runtime=True),
    Declared('held_annotations', 100, 'annotations that may wait for features or to be written',
             1, 100_000, runtime=True),
)

LIMIT_PARAMETERS = (
    Declared('max_labels', 1000, 'labels that the model may know', 1, 100_000, runtime=True),
    Declared('max_label_length', 100, 'characters of a label', 1, 10_000, runtime=True),
    Declared('max_width', 100_000, 'values of a feature vector', 1, 10_000_000, runtime=True),
    Declared('max_feature_rate', 0.0, 'feature vectors a second, the rest is dropped; 0: all',
             0.0, 1e6, runtime=True),
    Declared('max_annotation_rate', 1000.0, 'annotations a second, the rest is refused; 0: all',
             0.0, 1e6, runtime=True),
)

QUERY_PARAMETERS = (
    Declared('query_novelty', 0.8, 'novelty from which ~/queries asks for a label; above 1: never',
             0.0, 2.0, runtime=True),
    Declared('query_margin', 0.1, 'distance of a score to its threshold below which ~/queries '
             'asks; 0: never', 0.0, 10.0, runtime=True),
    Declared('query_rate', 0.5, 'questions a second at most; 0: none', 0.0, 100.0, runtime=True),
)

REPORT_PARAMETERS = (
    Declared('hamming_window', 200, 'annotations of the rolling Hamming loss', 1, 1_000_000),
    Declared('warning_period', 5.0, 'seconds between log lines about the same kind of refusal',
             0.0, 3600.0, runtime=True),
)

CLASSIFIER_PARAMETERS = (*MODEL_PARAMETERS, *FILE_PARAMETERS, *TOPIC_PARAMETERS,
                         *MATCHING_PARAMETERS, *LIMIT_PARAMETERS, *QUERY_PARAMETERS,
                         *REPORT_PARAMETERS)
