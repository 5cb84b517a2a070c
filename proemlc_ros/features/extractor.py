# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of the feature extractors: a named, versioned function from sample to vector."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError

Vector = NDArray[np.float32]

# Longer values (twenty joint names, say) are stated by their hash, to keep identities readable.
_LONGEST_SPELT_VALUE = 60


def parameter(default: Any, description: str) -> Any:
    """Declare a parameter of an extractor: a dataclass field with a description for users."""
    return field(default=default, metadata={'description': description})


class Extractor(ABC):
    """Turns samples of one sensor into vectors of one width; subclasses are dataclasses.

    Their dataclass fields made by `parameter` are the extractor's parameters. A change that
    gives other values for the same sample must raise `version`.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    sensor: ClassVar[str]
    description: ClassVar[str]

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of values in a vector; 0 while it depends on a first sample yet to come."""

    @abstractmethod
    def __call__(self, sample: Any) -> Vector:
        """Return the features of a sample.

        Raises:
            BadSensorDataError: no features can be extracted from the sample.
        """

    def extract_many(self, samples: Sequence[Any]) -> list[Vector]:
        """Return the features of several samples, such as regions of one image.

        Raises:
            BadSensorDataError: no features can be extracted from one of them.
        """
        return [self(sample) for sample in samples]

    def prepared(self, sample: Any) -> Any:
        """Return what `finished` takes: the part of the work that other samples do not affect.

        It may be done beside the sample before it, in another thread. Most extractors do nothing
        here.

        Raises:
            BadSensorDataError: no features can be extracted from the sample.
        """
        return sample

    def finished(self, prepared: Any) -> Vector:
        """Return the features of a prepared sample: together the same as calling the extractor.

        Raises:
            BadSensorDataError: no features can be extracted from the sample.
        """
        return self(prepared)

    def observe(self, sample: Any) -> None:
        """Take a sample whose own vector is not needed, for the vectors after it."""
        return  # most extractors keep no samples

    @property
    def engine_name(self) -> str:
        """What the extractor runs on, for logs; empty: nothing that users choose."""
        return ''

    @property
    def problem(self) -> str:
        """What users should know of how it runs here; empty: nothing."""
        return ''

    @property
    def name(self) -> str:
        """Identity for FeatureVector.extractor: kind, version and what is not at its default.

        Two extractors with the same name give the same vector for the same sample.
        """
        changed = [
            f'{entry.name}={_spell(value)}'
            for entry in fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
            if 'description' in entry.metadata
            and (value := self.identity_value(entry.name)) != entry.default
        ]
        identity = f'{self.kind}/{self.version}'
        return f'{identity}({";".join(changed)})' if changed else identity

    def identity_value(self, parameter_name: str) -> Any:
        """Return what the name states for a parameter, usually its value."""
        return getattr(self, parameter_name)


def _spell(value: Any) -> str:
    """Return a parameter's value as text for an identity, the same on every machine."""
    parts = value if isinstance(value, tuple) else (value,)
    text = ','.join(f'{part:.9g}' if isinstance(part, float) else str(part) for part in parts)
    if len(text) > _LONGEST_SPELT_VALUE:
        return '#' + hashlib.sha256(text.encode()).hexdigest()[:12]
    return text


def checked_vector(extractor: Extractor, work: Callable[[Any], Vector], sample: Any) -> Vector:
    """Return what the work of an extractor on a sample gives.

    Raises:
        BadSensorDataError: it failed, or gave values that are not finite.
    """
    vector: Vector = guarded(extractor, work, sample)
    if not np.isfinite(vector).all():
        raise BadSensorDataError('not_finite', f'{extractor.name} gave values that are not finite')
    return vector


def guarded(extractor: Extractor, work: Callable[[Any], Any], sample: Any) -> Any:
    """Return the result of work on a sample; a message must never stop the robot.

    Raises:
        BadSensorDataError: it failed, whatever the reason.
    """
    try:
        return work(sample)
    except BadSensorDataError:
        raise
    except Exception as error:
        raise BadSensorDataError(
            'extractor_failed', f'{extractor.name} failed: {error!r}') from error
