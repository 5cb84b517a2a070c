# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: scaling, random neurons, neurons around centres, and the warm-up."""

from __future__ import annotations

from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.laplacian import LaplacianNeurons
from proemlc_ros.core.layer.neurons import RandomNeurons
from proemlc_ros.core.layer.radial import GaussianNeurons, RadialNeurons
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.layer.spreading import Places
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.steps import Steps

_RADIAL: dict[str, type[RadialNeurons]] = {'rbf': GaussianNeurons, 'laplacian': LaplacianNeurons}


def make_layer(options: Options, width: int, samples: Rows | None,
               order: Places | None = None) -> HiddenLayer:
    """Make a layer.

    Args:
        options: settings.
        width: of a sample.
        samples: the first ones, or all, where it depends on them.
        order: places of the samples that become centres, the first ones first; None: at random.
    """
    if options.activation in _RADIAL:
        return _RADIAL[options.activation].draw(options, width, samples, order)
    return RandomNeurons.draw(options, width, samples)


def drawing_layer(options: Options, width: int, samples: Rows) -> Steps[HiddenLayer]:
    """Do the same in steps."""
    if options.activation in _RADIAL:
        return (yield from _RADIAL[options.activation].drawing(options, width, samples))
    return RandomNeurons.draw(options, width, samples)


def restore_layer(options: Options, arrays: dict[str, Array]) -> HiddenLayer:
    """Make a layer again from its stored arrays."""
    scaling = Scaling(arrays['shift'], arrays['factor'], options.scaling == 'l2')
    if options.activation in _RADIAL:
        return _RADIAL[options.activation](options, scaling, arrays['centres'],
                                           arrays['gamma'].item(), arrays.get('whitener'))
    return RandomNeurons(options, scaling, arrays['weights'], arrays['offset'])
