# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the classifier node; `ros2 launch proemlc_ros proemlc.launch.py --show-args`."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

SWITCH = ['true', 'false', 'True', 'False']

ARGUMENTS = (
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the node.'),
    DeclareLaunchArgument('name', default_value='proemlc', description='Name of the node.'),
    DeclareLaunchArgument(
        'params_file',
        default_value=PathJoinSubstitution(
            [FindPackageShare('proemlc_ros'), 'config', 'proemlc.yaml']),
        description='Parameter file of the node; config/ has one for small computers as well.'),
    DeclareLaunchArgument(
        'model_directory', default_value='',
        description='Folder of model files, snapshots and journal; empty = that of the parameter '
                    'file, else ~/.ros/proemlc/ and the full name of the node.'),
    DeclareLaunchArgument(
        'model_file', default_value='',
        description='Model file in that folder to start with where there is nothing to resume.'),
    DeclareLaunchArgument(
        'use_sim_time', default_value='false', choices=SWITCH,
        description='Use the time of /clock.'),
    DeclareLaunchArgument(
        'autostart', default_value='true', choices=SWITCH,
        description='Configure and activate the node at the start.'),
    DeclareLaunchArgument(
        'remappings', default_value='',
        description='Remapping rules, such as "~/features:=/camera/features ~/labels:=/labels".'),
    DeclareLaunchArgument(
        'respawn', default_value='false', choices=SWITCH,
        description='Start the node again where it dies; it resumes from its journal.'),
    DeclareLaunchArgument(
        'log_level', default_value='info', choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='Lowest level that the node logs.'),
)


def start_classifier(context):
    """Return the node; the remappings are parsed, so this needs the values of the arguments."""
    def argument(name):
        return LaunchConfiguration(name).perform(context)

    given = {name: ParameterValue(LaunchConfiguration(name), value_type=bool)
             for name in ('use_sim_time', 'autostart')}
    for name in ('model_directory', 'model_file'):
        if argument(name):  # An empty one would override the parameter file.
            given[name] = ParameterValue(LaunchConfiguration(name), value_type=str)
    remappings = [tuple(rule.split(':=', 1)) for rule in argument('remappings').split()]
    for rule in remappings:
        if len(rule) != 2:
            raise ValueError(f'remappings: {rule[0]!r} is not of the form from:=to')
    params_file = argument('params_file')
    if not Path(params_file).is_file():  # ROS would warn and start with other settings
        raise FileNotFoundError(f'params_file: there is no file {params_file}')
    namespace, name = argument('namespace'), argument('name')
    # Of this node's logger alone: ROS itself logs a lot at the debug level.
    logger = '.'.join([*filter(None, namespace.split('/')), name])
    return [Node(
        package='proemlc_ros', executable='classifier_node', output='screen',
        namespace=namespace, name=name, parameters=[params_file, given], remappings=remappings,
        respawn=argument('respawn').lower() == 'true', respawn_delay=2.0,
        # Several threads make products of this size slower, not faster.
        additional_env={'OPENBLAS_NUM_THREADS': '1'},
        arguments=['--ros-args', '--log-level', f'{logger}:={argument("log_level")}'])]


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_classifier)])
