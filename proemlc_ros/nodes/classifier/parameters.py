# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""All parameters of the classifier node, each once."""

from __future__ import annotations

from proemlc_ros.classifier.renewals import MODES
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, THRESHOLDS, Options
from proemlc_ros.nodes.parameter_table import Declared

RELIABILITIES = ('best_effort', 'reliable')
INPUT_TYPES = ('FeatureVector', 'Float32MultiArray')

_MODEL = Options()

MODEL_PARAMETERS = (
    Declared('hidden_size', 0,
             'Hidden neurons; more fit better and cost more time and memory; 0 = fitting the '
             'features',
             0, 20_000),
    Declared('ridge', 0.0,
             'Ridge penalty; larger gives smoother scores; 0 = fitting the features',
             0.0, 1e12),
    Declared('activation', 'auto',
             'Activation function of the hidden neurons; the radial ones (rbf, laplacian) take'
             ' their centres from the first samples; auto = fitting the features',
             choices=('auto', *ACTIVATIONS, *RADIAL)),
    Declared('scaling', 'auto',
             'Scaling of the feature values before the hidden layer; auto = fitting the features',
             choices=('auto', *SCALINGS)),
    Declared('direct_links', _MODEL.direct_links,
             'Direct links from the features to the outputs, beside the hidden layer'),
    Declared('seed', _MODEL.seed,
             'Seed of the random hidden layer',
             0, 2**31 - 1),
    Declared('forgetting', _MODEL.forgetting,
             'Forgetting factor per sample, 0.5 to 1; 1 = off',
             0.5, 1.0),
    Declared('threshold', _MODEL.threshold,
             'Rule by which labels are predicted',
             choices=THRESHOLDS),
    Declared('threshold_offset', 0.0,
             'Offset added to the threshold of probability or score; above 0 predicts fewer '
             'labels, below 0 more',
             -2.0, 2.0, runtime=True),
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
             'Hidden neurons that a renewal may choose at most',
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
             'Size of a journal file after which the next one begins, megabytes',
             1, 4096),
    Declared('journal_limit_mb', 0,
             'Size of the journal above which its oldest files are deleted once both snapshots '
             'hold them, megabytes; 0 = no limit',
             0, 10_000_000),
    Declared('max_model_file_mb', 1024,
             'Size of the largest model file that is loaded, megabytes',
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
             'Keep with each annotation the picture that it is about, in the journal'),
    Declared('picture_topic', '',
             'Topic of these pictures, raw or compressed; empty = the one that the feature '
             'vectors name'),
    Declared('picture_size', 320,
             'Longest side of a kept picture, pixels; larger ones are scaled down',
             16, 8192),
    Declared('picture_quality', 80,
             'JPEG quality of a kept picture, 1 to 100',
             1, 100),
    Declared('picture_buffer_mb', 64,
             'Memory for pictures that may be annotated, megabytes',
             1, 65_536),
)

TOPIC_PARAMETERS = (
    Declared('input_type', 'FeatureVector',
             'Message type of ~/features; Float32MultiArray has no stamp and gets the time of '
             'its arrival',
             choices=INPUT_TYPES),
    Declared('features_reliability', 'best_effort',
             'QoS reliability of ~/features; best_effort receives from every publisher, '
             'reliable only from reliable ones',
             choices=RELIABILITIES),
    Declared('features_depth', 100,
             'Queue length of ~/features, vectors',
             1, 10_000),
    Declared('predictions_reliability', 'reliable',
             'QoS reliability that ~/predictions and ~/classification offer; reliable serves '
             'every subscriber, best_effort only those that ask for no more',
             choices=RELIABILITIES),
)

MATCHING_PARAMETERS = (
    Declared('match_tolerance', 0.0,
             'Largest difference between the stamps of an annotation and its feature vector, '
             'seconds',
             0.0, 3600.0, runtime=True),
    Declared('hold_time', 1.0,
             'Time that an annotation waits for a late feature vector, seconds',
             0.0, 3600.0, runtime=True),
    Declared('reorder_time', 1.0,
             'Time by which vectors may arrive out of order, seconds; a larger step back '
             'clears the buffer',
             0.0, 3600.0, runtime=True),
    Declared('buffer_size', 1000,
             'Feature vectors kept for later annotations',
             1, 1_000_000, runtime=True),
    Declared('buffer_mb', 64,
             'Memory for these feature vectors, megabytes',
             1, 65_536, runtime=True),
    Declared('held_annotations', 100,
             'Annotations that may wait for features or for the disk',
             1, 100_000, runtime=True),
)

LIMIT_PARAMETERS = (
    Declared('max_labels', 1000,
             'Labels that the model may know',
             1, 100_000, runtime=True),
    Declared('max_label_length', 100,
             'Length of a label name, characters',
             1, 10_000, runtime=True),
    Declared('max_width', 100_000,
             'Values of a feature vector',
             1, 10_000_000, runtime=True),
    Declared('max_feature_rate', 0.0,
             'Feature vectors per second, the rest is dropped; 0 = no limit',
             0.0, 1e6, runtime=True),
    Declared('max_annotation_rate', 1000.0,
             'Annotations per second, the rest is rejected; 0 = no limit',
             0.0, 1e6, runtime=True),
)

QUERY_PARAMETERS = (
    Declared('query_novelty', 0.8,
             'Novelty from which ~/queries asks for labels; above 1 = never',
             0.0, 2.0, runtime=True),
    Declared('query_margin', 0.2,
             'Distance of a probability to one half, or of a score to its threshold, below which '
             '~/queries asks; 0 = never',
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
             'Time between log lines of the same kind, such as rejections of one cause, seconds',
             0.0, 3600.0, runtime=True),
)

CLASSIFIER_PARAMETERS = (*MODEL_PARAMETERS, *FILE_PARAMETERS, *PICTURE_PARAMETERS,
                         *TOPIC_PARAMETERS,
                         *MATCHING_PARAMETERS, *LIMIT_PARAMETERS, *QUERY_PARAMETERS,
                         *REPORT_PARAMETERS)
