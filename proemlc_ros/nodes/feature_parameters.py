# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the feature node, and the pipeline that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.pipeline import FeaturePipeline
from proemlc_ros.features.registry import AUTO, EXTRACTORS, automatic_in_words
from proemlc_ros.features.settings import (
    JOIN_SETTINGS,
    SENSOR_SETTINGS,
    declared_settings,
    learnt_parts,
    nested,
    pipeline_from_settings,
)
from proemlc_ros.nodes.launch_arguments import CLASSIFIER
from proemlc_ros.nodes.parameters import OF_EVERY_NODE, OTHER_NODES, Declared
from proemlc_ros.nodes.subscriptions import AUTOMATIC

RELIABILITIES = (AUTOMATIC, 'best_effort', 'reliable')
SENSORS = 'Names of the sensors; the first one leads'
WARNING_PERIOD = 'Seconds between warnings of the same cause, 0.1 to 3600'
COMPRESSED = '/compressed'
IMAGE_TOPIC = ('Topic of the camera, instead of the topic of the only sensor that takes pictures; '
               'empty = as the sensor says')
MODEL_DIRECTORY = ("Folder of the classifier's model, whose extractor auto keeps; empty = "
                   '~/.ros/proemlc/NAMESPACE/proemlc')


@dataclass(frozen=True)
class _FeatureParameters:
    """The pipeline, the QoS reliability by sensor, and seconds between warnings of one cause."""

    pipeline: FeaturePipeline
    reliability: dict[str, str]
    warning_period: float


def declare_pipeline(node: Node) -> _FeatureParameters:
    """Declare every parameter with its description, and make the pipeline they describe.

    Raises:
        ExtractorError: a parameter is missing, unknown or unusable; the text names it.
    """
    # In Jazzy rclpy's annotation says values, but the method returns parameters.
    given: Any = node.get_parameters_by_prefix('')
    settings = _with_camera(nested({name: entry.value for name, entry in given.items()}))
    learnt = _learnt_from(settings, node.get_namespace())
    pipeline = pipeline_from_settings(settings, learnt)
    names = [sensor.name for sensor in pipeline.sensors]
    unknown = set(settings) - set(names) - set(JOIN_SETTINGS) - OF_EVERY_NODE - {
        'sensors', 'warning_period', 'image_topic', 'model_directory'}
    if unknown:
        raise ExtractorError(
            f'not a parameter of this node: {", ".join(sorted(unknown))}; known are sensors, '
            f'{", ".join(JOIN_SETTINGS)}, warning_period, image_topic, model_directory, and those '
            f'of the sensors {", ".join(names)}. {OTHER_NODES}')
    describe(node, 'image_topic', '', IMAGE_TOPIC)
    describe(node, 'model_directory', '', MODEL_DIRECTORY)
    describe(node, 'sensors', [], SENSORS)
    describe(node, 'warning_period', 5.0, WARNING_PERIOD, least=0.1)
    for key, (default, description) in JOIN_SETTINGS.items():
        describe(node, key, default, description, least=0.0)
    for name, part in zip(names, learnt_parts(learnt, len(names)), strict=True):
        if settings[name]['extractor'] == AUTO:
            node.get_logger().info(f'{name}: {automatic_in_words(learnt=part)}')
        for key, (default, description) in declared_settings(settings[name]['extractor']).items():
            describe(node, f'{name}.{key}', default, description)
    for sensor in pipeline.sensors:
        if sensor.extractor.engine_name:
            node.get_logger().info(f'{sensor.name}: runs by {sensor.extractor.engine_name}')
        if sensor.extractor.problem:
            node.get_logger().warning(f'{sensor.name}: {sensor.extractor.problem}')
    reliability = {name: _reliability_of(node, name) for name in names}
    return _FeatureParameters(
        pipeline, reliability, float(node.get_parameter('warning_period').value))


def _with_camera(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the topic of image_topic for the sensor that takes pictures.

    Raises:
        ExtractorError: not exactly one sensor takes pictures.
    """
    topic = str(settings.get('image_topic') or '')
    if not topic:
        return settings
    blocks = {name: settings.get(name) or {} for name in settings.get('sensors') or []}
    cameras = [name for name, block in blocks.items()
               if _sensor_of(str(block.get('extractor', ''))) == 'image']
    if len(cameras) != 1:
        raise ExtractorError(
            f'image_topic is {topic!r}, but not exactly one sensor takes pictures (found: '
            f'{", ".join(cameras) or "none"}); set the parameter topic of the sensor instead')
    camera = {**blocks[cameras[0]], 'topic': topic}
    if topic.endswith(COMPRESSED):  # The name that image_transport gives such a topic.
        camera['type'] = 'sensor_msgs/msg/CompressedImage'
    return {**settings, cameras[0]: camera}


def _learnt_from(settings: dict[str, Any], namespace: str) -> str:
    """Return what the classifier's model has learnt from, where a sensor's extractor is auto."""
    if not any((settings.get(name) or {}).get('extractor') == AUTO
               for name in settings.get('sensors') or []):
        return ''
    stated = str(settings.get('model_directory') or '')
    folder = Path(stated).expanduser() if stated else (
        Path.home() / '.ros' / 'proemlc' / namespace.strip('/') / CLASSIFIER)
    if not folder.is_dir():
        return ''
    # Imported late: it brings the learner.
    from proemlc_ros.classifier.model_directory import learnt_extractor
    return learnt_extractor(folder)


def _sensor_of(kind: str) -> str:
    if kind == AUTO:
        return 'image'
    extractor = EXTRACTORS.get(kind.partition('/')[0])
    return extractor.sensor if extractor is not None else ''


def feature_parameter_table() -> list[Declared]:
    """Return the parameters that do not depend on the extractors, for --help."""
    return [Declared('sensors', '', SENSORS),
            *(Declared(f'NAME.{key}', default, description)
              for key, (default, description) in SENSOR_SETTINGS.items()),
            Declared('image_topic', '', IMAGE_TOPIC),
            Declared('model_directory', '', MODEL_DIRECTORY),
            *(Declared(key, default, description)
              for key, (default, description) in JOIN_SETTINGS.items()),
            Declared('warning_period', 5.0, WARNING_PERIOD)]


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


def _reliability_of(node: Node, name: str) -> str:
    """Return the QoS reliability of a sensor's subscription.

    Raises:
        ExtractorError: unknown reliability.
    """
    reliability = str(node.get_parameter(f'{name}.reliability').value)
    if reliability not in RELIABILITIES:
        raise ExtractorError(
            f'{name}.reliability is {reliability!r}; it must be {" or ".join(RELIABILITIES)}')
    return reliability
