# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a learner that fit the features that it learns from.

The features say by their extractor what they are, so the first annotation settles what nobody has
set. The settings were found by leave-one-out on pictures of which near-copies were left out
together (docs/features.md), half of the classes of one set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import FITTED_SCALINGS

# One extractor; several joined ones give vectors whose parts have scales of their own.
_SINGLE = re.compile(r'([a-z_]+)/[0-9]+(\([^()]*\))?')
# Mark of a learner whose settings may follow the first sample.
AUTOMATIC = 'automatic'

PROFILES: Mapping[str, Mapping[str, Any]] = {
    # Of length one, so that distances are known beforehand, and gamma need not wait for samples.
    'onnx_embedding': {'activation': 'rbf', 'scaling': 'l2', 'gamma': 0.5, 'ridge': 0.003,
                       'hidden_size': 1000},
    # Shares of one whole: scaling each by its spread would let rare colours rule.
    'colour_histogram': {'activation': 'laplacian', 'scaling': 'none', 'ridge': 0.01},
}

# Novelty above which a vector of these features gets no label: pictures of things that nobody has
# taught are normal. For all others every vector is taken for one of what was taught.
_UNKNOWN_ABOVE: Mapping[str, float] = {'onnx_embedding': 0.85}
NEVER_UNKNOWN = 2.0


def profile_of(extractor: str) -> Mapping[str, Any]:
    """Return the settings that fit an extractor; empty where the usual ones do.

    >>> profile_of('colour_histogram/1(colour_bins=16)')['scaling']
    'none'
    >>> profile_of('colour_histogram/1+laser_profile/1')
    {}
    """
    single = _SINGLE.fullmatch(extractor)
    return PROFILES.get(single[1], {}) if single else {}


@lru_cache(maxsize=16)
def unknown_above_of(extractor: str) -> float:
    """Return the novelty above which features of an extractor get no label; above 1: never.

    >>> unknown_above_of('onnx_embedding/1(colours=0.2)'), unknown_above_of('laser_profile/1')
    (0.85, 2.0)
    """
    single = _SINGLE.fullmatch(extractor)
    return _UNKNOWN_ABOVE.get(single[1], NEVER_UNKNOWN) if single else NEVER_UNKNOWN


def has_common_scale(extractor: str) -> bool:
    """Return whether the features of an extractor share one scale, so that none has its own.

    >>> has_common_scale('onnx_embedding/2(model=1234)'), has_common_scale('laser_profile/1')
    (True, False)
    """
    return profile_of(extractor).get('scaling', FITTED_SCALINGS[0]) not in FITTED_SCALINGS


class LearnerFactory:
    """Makes untaught learners, whose settings follow the features unless they were given.

    Args:
        settings: given ones, as keywords of ProEMLC; a given activation leaves the rest as usual.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = dict(settings or {})

    def __call__(self) -> ProEMLC:
        """Return a learner that has learnt nothing."""
        learner = ProEMLC(**self.settings)
        learner.extra[AUTOMATIC] = 'activation' not in self.settings
        return learner

    def fitted(self, learner: ProEMLC, extractor: str) -> ProEMLC:
        """Return what is to learn a sample of an extractor: mostly the learner itself.

        Args:
            learner: as it is.
            extractor: of the sample.
        """
        if learner.samples or not is_automatic(learner):
            return learner
        settings = {**profile_of(extractor), **self.settings}
        if settings == self.settings:
            learner.extra[AUTOMATIC] = False
            return learner
        return ProEMLC(**settings, labels=learner.labels)

    def settings_of(self, learner: ProEMLC) -> dict[str, Any]:
        """Return the settings to make a learner again: where it is open, only the given ones."""
        if is_automatic(learner) and not learner.samples:
            return dict(self.settings)
        return learner.options.as_dict()


def is_automatic(learner: ProEMLC) -> bool:
    """Return whether the settings of an untaught learner may follow the first sample."""
    return learner.extra.get(AUTOMATIC) is True
