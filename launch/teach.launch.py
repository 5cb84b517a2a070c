# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts classifier, feature node and dashboard; `--show-args` lists the arguments."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription
from proemlc_ros.nodes import launch_arguments

# The launch file of the classifier alone: its arguments are arguments of this one.
_SPEC = spec_from_file_location('proemlc_launch', Path(__file__).with_name('proemlc.launch.py'))
classifier = module_from_spec(_SPEC)
_SPEC.loader.exec_module(classifier)

ARGUMENTS = (
    *classifier.ARGUMENTS,
    DeclareLaunchArgument(
        'features_file', default_value='',
        description='Parameter file of the feature node: sensors and extractors; empty = the '
                    'section "features" of params_file, else config/features.yaml.'),
    DeclareLaunchArgument(
        'image_topic', default_value='',
        description='Topic of the camera, for features and page; empty = that of the parameter '
                    'file, camera/image_raw in the namespace by default.'),
    DeclareLaunchArgument(
        'address', default_value='',
        description='Address of the page; empty = that of the parameter file, else 127.0.0.1; '
                    'other than loopback needs token_file.'),
    DeclareLaunchArgument(
        'port', default_value='',
        description='TCP port of the page; empty = that of the parameter file, else 8642. Each '
                    'robot on a machine needs its own.'),
    DeclareLaunchArgument(
        'token_file', default_value='', description='File with the token that opens the page.'),
)
NAMES = tuple(argument.name for argument in ARGUMENTS)


def feature_node(values, files):
    """Return the feature node."""
    given = {name: values[name] for name in ('image_topic', 'model_directory') if values[name]}
    return classifier.new_node(
        values, launch_arguments.FEATURES, 'feature_node', [*files, *([given] if given else [])])


def dashboard_node(values, files):
    """Return the dashboard, which shows the camera that the features are made of."""
    given = {'classifier': values['name']}
    given.update({name: values[name] for name in ('address', 'token_file', 'model_directory')
                  if values[name]})
    if values['port']:
        given['port'] = int(values['port'])
    return classifier.new_node(
        values, launch_arguments.DASHBOARD, 'dashboard_node', [*files, given])


def start(context):
    """Check the arguments, and return the nodes."""
    values = {name: LaunchConfiguration(name).perform(context) for name in NAMES}
    launch_arguments.check_arguments(values)
    default = PathJoinSubstitution(
        [FindPackageShare('proemlc_ros'), 'config', 'features.yaml']).perform(context)
    files = {node: launch_arguments.files_for(
        node, node, values['params_file'], values['features_file'], default)
        for node in (launch_arguments.FEATURES, launch_arguments.DASHBOARD)}
    return [classifier.classifier_node(values),
            feature_node(values, files[launch_arguments.FEATURES]),
            dashboard_node(values, files[launch_arguments.DASHBOARD])]


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
