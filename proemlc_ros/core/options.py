# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of a model, validated once."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass, fields
from typing import Any

from proemlc_ros.errors import ParameterError

# Activation functions of random neurons.
ACTIVATIONS = ('sigmoid', 'relu', 'tanh', 'sine', 'gaussian', 'softplus', 'identity')
# Neurons around centres drawn from the first samples.
RADIAL = ('rbf', 'laplacian')
SCALINGS = ('none', 'standard', 'minmax', 'l2')
RECALIBRATIONS = ('exact', 'paper')
THRESHOLDS = ('zero', 'learnt', 'learnt_hamming', 'probable', 'expected_f1')
DTYPES = ('float64', 'float32')
# Means and spreads settle within this many samples; radial neurons need one sample each.
SCALING_WARMUP = 100


@dataclass(frozen=True)
class Options:
    """Everything that is chosen before the first sample; ProEMLC describes them."""

    hidden_size: int = 500
    ridge: float = 0.03
    activation: str = 'laplacian'
    scaling: str = 'standard'
    direct_links: bool = False
    recalibration: str = 'exact'
    seed: int = 0
    bias: bool = True
    forgetting: float = 1.0
    threshold: str = 'expected_f1'
    gamma: float | None = None
    gamma_scale: float = 1.0
    whiten: bool = False
    warmup: int | None = None
    width: int | None = None
    weight_scale: float | None = None
    dtype: str = 'float64'
    partial_memory: float = 256.0

    def __post_init__(self) -> None:
        """Check every value."""
        _check_choice('activation', self.activation, (*ACTIVATIONS, *RADIAL))
        _check_choice('scaling', self.scaling, SCALINGS)
        _check_choice('recalibration', self.recalibration, RECALIBRATIONS)
        _check_choice('threshold', self.threshold, THRESHOLDS)
        _check_choice('dtype', self.dtype, DTYPES)
        _check_integer('hidden_size', self.hidden_size, 1)
        _check_integer('seed', self.seed, 0)
        for name in ('warmup', 'width'):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        for name in ('direct_links', 'bias', 'whiten'):
            _check_choice(name, getattr(self, name), (False, True))
        _check_real('ridge', self.ridge, low=0.0)
        _check_real('forgetting', self.forgetting, low=0.5, high=1.0)
        _check_real('gamma_scale', self.gamma_scale, above=0.0)
        _check_real('partial_memory', self.partial_memory, low=0.0)
        for name in ('gamma', 'weight_scale'):
            if getattr(self, name) is not None:
                _check_real(name, getattr(self, name), above=0.0)

    @property
    def radial(self) -> bool:
        """Whether the neurons are centred on samples."""
        return self.activation in RADIAL

    @property
    def needs_samples(self) -> bool:
        """Whether the hidden layer depends on the first samples."""
        return self.radial or self.scaling in ('standard', 'minmax')

    @property
    def warmup_samples(self) -> int:
        """How many samples fix the hidden layer; 0: none are needed."""
        if not self.needs_samples:
            return 0
        if self.warmup is not None:
            return self.warmup
        return self.hidden_size if self.radial else SCALING_WARMUP

    def group_limit(self, size: int) -> int:
        """Return how many matrices of hidden rows of that size partial annotations may need."""
        itemsize = 8 if self.dtype == 'float64' else 4
        return int(self.partial_memory * 1e6 // (itemsize * size * size))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Options:
        """Make the settings from what as_dict returned."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ParameterError(f'unknown settings {unknown}; known are {sorted(known)}')
        # NumPy's own numbers are as good as Python's.
        return cls(**{name: value.item() if hasattr(value, 'item') else value
                      for name, value in values.items()})


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or value == choice and type(value) is type(choice)
               for choice in choices):
        raise ParameterError(f'{name} is {value!r}; choose one of {list(choices)}')


def _check_integer(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ParameterError(f'{name} is {value!r}; it must be an integer of at least {low}')


def _check_real(name: str, value: object, low: float = -math.inf, high: float = math.inf,
                above: float = -math.inf) -> None:
    # Compared with the largest number, since an integer of 400 digits is no float at all.
    if (isinstance(value, bool) or not isinstance(value, (int, float))
            or not abs(value) <= sys.float_info.max
            or not low <= value <= high or not value > above):
        bounds = f'above {above:g}' if above > -math.inf else f'at least {low:g}'
        if high < math.inf:
            bounds += f' and at most {high:g}'
        raise ParameterError(f'{name} is {value!r}; it must be a number {bounds}')
