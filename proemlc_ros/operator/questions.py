# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's queries as a person would ask them, and when they need no answer any more."""

from __future__ import annotations

import math

from proemlc_ros.records import LabelState, Query, QueryReason, StampedPrediction

# Novelty below which a moment is no longer new: the classifier would not ask about it by default.
FAMILIAR = 0.8
# Distance of a score from its threshold from which the model is sure.
SURE_DISTANCE = 0.3
# Probabilities outside of these are sure.
SURE = (0.15, 0.85)
# Share from which a predicted label counts as sure; below, it is shown grey, with its share.
SURE_SHARE = 0.7


def share_of_score(score: float) -> float:
    """Return a score of -1 (absent) to +1 (present) as a share; not a number is 0."""
    return min(1.0, max(0.0, (score + 1) / 2))


def share_of_label(
        prediction: StampedPrediction | None, labels: LabelState, place: int) -> float | None:
    """Return how sure the classifier is of a label, 0 to 1; None where it is not known."""
    if prediction is None or prediction.version != labels.version:
        return None
    if len(prediction.probabilities) == len(labels.names):
        return min(1.0, max(0.0, float(prediction.probabilities[place])))
    return share_of_score(float(prediction.scores[place])) if (
        place < len(prediction.scores)) else None


def best_guess(prediction: StampedPrediction, labels: LabelState) -> str:
    """Return the likeliest label, predicted or not; empty where it is not known."""
    chances = [(share, name) for place, name in enumerate(labels.names)
               if (share := share_of_label(prediction, labels, place)) is not None]
    return max(chances, key=lambda one: one[0])[1] if chances else ''


def threshold_share(
        prediction: StampedPrediction | None, labels: LabelState, place: int) -> float:
    """Return where a label begins to be predicted, on the scale of `share_of_label`."""
    if prediction is not None and prediction.by_probability:
        return min(1.0, max(0.0, prediction.threshold))
    return share_of_score(labels.thresholds[place])


def doubtful_label(query: Query, labels: LabelState) -> str:
    """Return the label that a query is about; empty where it is about none in particular."""
    if query.label or query.reason is QueryReason.NOVEL:
        return query.label
    threshold = dict(zip(labels.names, labels.thresholds))
    distances = [(abs(score - threshold.get(name, 0.0)), name)
                 for name, score in zip(query.candidates, query.scores) if math.isfinite(score)]
    return min(distances)[1] if distances else ''


def question(label: str) -> str:
    """Return what a person would ask.

    >>> question('plate')
    'Is there “plate”?'
    """
    return f'Is there “{label}”?' if label else 'What is new here?'


def shares(query: Query) -> list[tuple[str, float]]:
    """Return the candidates and how sure the classifier is of each, 0 to 1."""
    if len(query.probabilities) == len(query.candidates):
        return list(zip(query.candidates, map(float, query.probabilities)))
    return [(name, share_of_score(score)) for name, score in zip(query.candidates, query.scores)]


def is_settled(query: Query, now: StampedPrediction, labels: LabelState) -> bool:
    """Tell whether the model has become sure about a query.

    Args:
        query: the query.
        now: what the model says about its vector now.
        labels: of the same version as the prediction; otherwise nothing can be told.
    """
    if query.reason is QueryReason.NOVEL:
        return now.novelty < FAMILIAR
    label = doubtful_label(query, labels)
    if label not in labels.names or now.version != labels.version:
        return False
    place = labels.names.index(label)
    if len(now.probabilities) == len(labels.names):
        return not SURE[0] < float(now.probabilities[place]) < SURE[1]
    if len(now.scores) != len(labels.names):
        return False
    return abs(float(now.scores[place]) - labels.thresholds[place]) > SURE_DISTANCE
