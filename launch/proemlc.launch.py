# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the classifier node; `ros2 launch proemlc_ros proemlc.launch.py --show-args`."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription
from proemlc_ros.nodes import launch_arguments

# Empty: as the parameter file, or the launch file that includes this one, says.
SWITCH = ['', 'true', 'false', 'True', 'False']

ARGUMENTS = (
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the nodes.'),
    DeclareLaunchArgument(
        'name', default_value='proemlc', description='Name of the classifier node.'),
    DeclareLaunchArgument(
        'params_file',
        default_value=PathJoinSubstitution(
            [FindPackageShare('proemlc_ros'), 'config', 'proemlc.yaml']),
        description='Parameter file: of the classifier, or with a section for each node; '
                    'config/ has both, and one for small computers.'),
    DeclareLaunchArgument(
        'model_directory', default_value='',
        description='Folder of model files, snapshots and journal; empty = that of the parameter '
                    'file, else ~/.ros/proemlc/ and the full name of the node.'),
    DeclareLaunchArgument(
        'model_file', default_value='',
        description='Model file in that folder to start with where there is nothing to resume.'),
    DeclareLaunchArgument(
        'use_sim_time', default_value='', choices=SWITCH,
        description='Use the time of /clock; empty = as the including launch file says.'),
    DeclareLaunchArgument(
        'autostart', default_value='', choices=SWITCH,
        description='Configure and activate the node at the start; empty = as the file says.'),
    DeclareLaunchArgument(
        'remappings', default_value='',
        description='Remapping rules for all nodes, such as "~/features:=/camera/features '
                    '~/labels:=/labels"; ~ is the classifier.'),
    DeclareLaunchArgument(
        'respawn', default_value='false', choices=['true', 'false', 'True', 'False'],
        description='Start a node again where it dies; the classifier resumes from its journal.'),
    DeclareLaunchArgument(
        'log_level', default_value='info', choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='Lowest level that the nodes log.'),
)
NAMES = tuple(argument.name for argument in ARGUMENTS)


def shut_down_on_failure(event, context):
    """End all nodes when one fails: the others would go on half-blind, and nobody would notice.

    By an error, since a launch that shuts down for another reason ends with code 0, and what
    started it, such as systemd, would not know of the failure.
    """
    if event.returncode and not context.is_shutdown:
        raise RuntimeError(f'{event.process_name} ended with code {event.returncode}')


def new_node(values, node, executable, parameters, **options):
    """Return a node with what all nodes have in common.

    Args:
        values: of the arguments, by name.
        node: its default name.
        executable: of this package.
        parameters: files and values, the last one wins.
        options: further ones.
    """
    name = values['name'] if node == launch_arguments.CLASSIFIER else node
    respawn = values['respawn'].lower() == 'true'
    if values['use_sim_time']:
        parameters = [*parameters, {'use_sim_time': values['use_sim_time'].lower() == 'true'}]
    # Of this node's logger alone: ROS itself logs a lot at the debug level.
    logger = '.'.join([*filter(None, values['namespace'].split('/')), name])
    rules = launch_arguments.parse_remappings(values['remappings'])
    return Node(
        package='proemlc_ros', executable=executable, output='screen',
        namespace=values['namespace'], name=name, parameters=parameters,
        remappings=launch_arguments.rules_for(node, values['name'], rules),
        respawn=respawn, respawn_delay=2.0, on_exit=None if respawn else shut_down_on_failure,
        arguments=['--ros-args', '--log-level', f'{logger}:={values["log_level"]}'], **options)


def classifier_node(values):
    """Return the classifier node."""
    given = {}
    for name in ('model_directory', 'model_file'):
        if values[name]:  # An empty one would override the parameter file.
            given[name] = values[name]
    if values['autostart']:
        given['autostart'] = values['autostart'].lower() == 'true'
    return new_node(
        values, launch_arguments.CLASSIFIER, 'classifier_node',
        [values['params_file'], *([given] if given else [])],
        # Several threads make products of this size slower, not faster.
        additional_env={'OPENBLAS_NUM_THREADS': '1'})


def start(context):
    """Check the arguments, and return the node."""
    values = {name: LaunchConfiguration(name).perform(context) for name in NAMES}
    launch_arguments.check_arguments(values)
    return [classifier_node(values)]


def generate_launch_description():
    """Return the launch description."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
