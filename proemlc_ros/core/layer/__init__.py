# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: scaling, random neurons, neurons around centres, and the warm-up."""

from __future__ import annotations

from proemlc_ros.core.compiled import Array, Places
from proemlc_ros.core.layer.hidden import HiddenLayer, RandomNeurons
from proemlc_ros.core.layer.radial import (
    GaussianNeurons,
    KernelSum,
    LaplacianNeurons,
    RadialNeurons,
)
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.options import RADIAL, Options
from proemlc_ros.core.rows import Rows

_RADIAL: dict[str, type[RadialNeurons]] = dict(zip(
    RADIAL, (GaussianNeurons, LaplacianNeurons, KernelSum), strict=True))


def make_layer(options: Options, width: int, samples: Rows | None,
               order: Places | None = None, fitted: int | None = None) -> HiddenLayer:
    """Make a layer.

    Args:
        options: settings.
        width: of a sample.
        samples: the first ones, or all, where it depends on them.
        order: places of the samples that become centres, the first ones first; None: all that are
            no near copies of others, or some of them at random.
        fitted: to how many of the first samples it is fitted; None: to all.
    """
    if options.activation in _RADIAL:
        return _RADIAL[options.activation].draw(options, width, samples, order, fitted)
    return RandomNeurons.draw(options, width, samples, fitted)


def restore_layer(options: Options, arrays: dict[str, Array]) -> HiddenLayer:
    """Make a layer again from its stored arrays."""
    if options.activation in _RADIAL:
        return _RADIAL[options.activation].restore(options, arrays)
    return RandomNeurons(options, Scaling.restore(options.scaling, arrays), arrays['weights'],
                         arrays['offset'])
