# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts classifier, feature node and dashboard; `--show-args` lists the arguments."""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

# The arguments of proemlc.launch.py, such as namespace, name and params_file, are included.
ARGUMENTS = (
    DeclareLaunchArgument(
        'features_file',
        default_value=PathJoinSubstitution(
            [FindPackageShare('proemlc_ros'), 'config', 'features.yaml']),
        description='Parameter file of the feature node: sensors and extractors.'),
    DeclareLaunchArgument(
        'image_topic', default_value='',
        description='Image topic that the page shows; empty = the first one found.'),
    DeclareLaunchArgument(
        'address', default_value='127.0.0.1',
        description='Address of the page; other than loopback needs token_file.'),
    DeclareLaunchArgument('port', default_value='8642', description='TCP port of the page.'),
    DeclareLaunchArgument(
        'token_file', default_value='', description='File with the token that opens the page.'),
)


def share(*parts):
    """Return a path in the installed package."""
    return PathJoinSubstitution([FindPackageShare('proemlc_ros'), *parts])


def given(name, value_type=str):
    """Return a launch argument as a parameter value of a type."""
    return ParameterValue(LaunchConfiguration(name), value_type=value_type)


def generate_launch_description():
    """Return the launch description."""
    time = {'use_sim_time': given('use_sim_time', bool)}
    classifier = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share('launch', 'proemlc.launch.py')))
    features = Node(
        package='proemlc_ros', executable='feature_node', output='screen',
        namespace=LaunchConfiguration('namespace'),
        parameters=[LaunchConfiguration('features_file'), time],
        # The feature node publishes to the classifier of the default name; this one may differ.
        remappings=[('proemlc/features', [LaunchConfiguration('name'), '/features'])])
    dashboard = Node(
        package='proemlc_ros', executable='dashboard_node', output='screen',
        namespace=LaunchConfiguration('namespace'),
        parameters=[time, {
            'classifier': given('name'), 'image_topic': given('image_topic'),
            'address': given('address'), 'port': given('port', int),
            'token_file': given('token_file')}])
    return LaunchDescription([*ARGUMENTS, classifier, features, dashboard])
