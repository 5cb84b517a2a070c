# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the feature node, and the pipeline that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.automatic import AUTO, automatic_in_words
from proemlc_ros.features.pipeline import FeaturePipeline
from proemlc_ros.features.settings import (
    JOIN_SETTINGS,
    declared_settings,
    nested,
    pipeline_from_settings,
)

RELIABILITIES = ('best_effort', 'reliable')
# Parameters that rclpy declares by itself.
OF_EVERY_NODE = {'use_sim_time', 'start_type_description_service', 'qos_overrides'}


@dataclass(frozen=True)
class FeatureParameters:
    """The pipeline, the QoS reliability by sensor, and seconds between warnings of one cause."""

    pipeline: FeaturePipeline
    reliability: dict[str, str]
    warning_period: float


def declare_pipeline(node: Node) -> FeatureParameters:
    """Declare every parameter with its description, and make the pipeline they describe.

    Raises:
        ExtractorError: a parameter is missing, unknown or unusable; the text names it.

    """
    # The annotation of rclpy says values, but the method returns parameters.
    given = cast(dict[str, Parameter], node.get_parameters_by_prefix(''))
    settings = nested({name: entry.value for name, entry in given.items()})
    pipeline = pipeline_from_settings(settings)
    names = [sensor.name for sensor in pipeline.sensors]
    unknown = set(settings) - set(names) - set(JOIN_SETTINGS) - OF_EVERY_NODE - {
        'sensors', 'warning_period'}
    if unknown:
        # Not an error: a file for several nodes may hold parameters of all of them.
        node.get_logger().warning(
            f'not a parameter of this node, ignored: {", ".join(sorted(unknown))}; known are '
            f'sensors, {", ".join(JOIN_SETTINGS)}, warning_period, and those of the sensors '
            f'{", ".join(names)}')
    describe(node, 'sensors', [], 'Names of the sensors; the first one leads')
    describe(
        node, 'warning_period', 5.0,
        'Seconds between warnings of the same cause, 0.1 to 3600', least=0.1)
    for key, (default, description) in JOIN_SETTINGS.items():
        describe(node, key, default, description, least=0.0)
    for name in names:
        if settings[name]['extractor'] == AUTO:
            node.get_logger().info(f'{name}: {automatic_in_words()}')
        for key, (default, description) in declared_settings(settings[name]['extractor']).items():
            describe(node, f'{name}.{key}', default, description)
    reliability = {name: reliability_of(node, name) for name in names}
    return FeatureParameters(
        pipeline, reliability, float(node.get_parameter('warning_period').value))


def describe(
    node: Node, name: str, default: Any, description: str, least: float | None = None,
) -> None:
    """Set the description of a parameter, and declare it where the file has not."""
    descriptor = ParameterDescriptor(
        name=name, description=description, read_only=True, dynamic_typing=True)
    if least is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=3600.0)]
    if node.has_parameter(name):
        node.set_descriptor(name, descriptor)
        return
    value = list(default) if isinstance(default, tuple) else default
    # An empty list has no type in ROS; such a parameter stays unset.
    node.declare_parameter(name, None if value == [] else value, descriptor)


def reliability_of(node: Node, name: str) -> str:
    """Return the QoS reliability of a sensor's subscription.

    Raises:
        ExtractorError: unknown reliability.

    """
    reliability = str(node.get_parameter(f'{name}.reliability').value)
    if reliability not in RELIABILITIES:
        raise ExtractorError(
            f'{name}.reliability is {reliability!r}; it must be {" or ".join(RELIABILITIES)}')
    return reliability
