# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file, with arguments and a namespace, up to a prediction."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('launch_ros', reason='launch_ros is not installed; it comes with ROS 2')
launch_pytest = pytest.importorskip('launch_pytest')

from classifier_partner import ClassifierPartner, values_of
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import SetParameter

from launch import LaunchDescription

pytestmark = pytest.mark.slow

LAUNCH_FILE = Path(__file__).parents[2] / 'launch' / 'proemlc.launch.py'


@launch_pytest.fixture
def description(ros_domain_id, tmp_path):
    return LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH_FILE)),
            launch_arguments={
                'namespace': 'robot', 'name': 'eyes', 'model_directory': str(tmp_path / 'model'),
                'params_file': str(LAUNCH_FILE.parents[1] / 'config/proemlc_small_computer.yaml'),
                'remappings': '~/features:=/camera/features ~/predictions:=/seen',
            }.items()),
        launch_pytest.actions.ReadyToTest(),
    ])


@pytest.mark.launch(fixture=description)
def test_a_prediction_comes(ros, tmp_path):
    partner = ClassifierPartner(ros, '/robot/eyes')
    from proemlc_ros.msg import FeatureVector, Prediction
    from rclpy.qos import qos_profile_sensor_data
    partner.features = partner.node.create_publisher(
        FeatureVector, '/camera/features', qos_profile_sensor_data)
    partner.node.create_subscription(
        Prediction, '/seen', partner.heard['predictions'].append, qos_profile_sensor_data)
    try:
        partner.spin_until(lambda: partner.heard['labels'], what='latched labels')
        assert partner.annotate(labels=['cup'], features=values_of(1)).success
        assert partner.predict(1.0, values_of(1)).label_set_version == 1
        assert (tmp_path / 'model/journal').is_dir()
    finally:
        partner.close()


@launch_pytest.fixture
def simulated(ros_domain_id, tmp_path):
    """Return a launch file that sets the parameter for all nodes, as simulations do."""
    return LaunchDescription([
        SetParameter('use_sim_time', True),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH_FILE)),
            launch_arguments={'model_directory': str(tmp_path / 'model')}.items()),
        launch_pytest.actions.ReadyToTest(),
    ])


@pytest.mark.launch(fixture=simulated)
def test_an_including_launch_file_sets_the_clock(ros):
    partner = ClassifierPartner(ros)
    try:
        value, = partner.call('get_parameters', names=['use_sim_time']).values
        assert value.bool_value
    finally:
        partner.close()
