# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The security policy allows every topic and service that the nodes really create."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from sensor_partner import CAMERA

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('aiohttp')

pytestmark = pytest.mark.slow
POLICY = Path(__file__).parents[2] / 'config/security/policy.xml'
NODES = ('proemlc', 'features', 'dashboard')
# Element, attribute, and how the graph is asked for what a node has.
KINDS = {('topic', 'publish'): 'get_publisher_names_and_types_by_node',
         ('topic', 'subscribe'): 'get_subscriber_names_and_types_by_node',
         ('service', 'reply'): 'get_service_names_and_types_by_node',
         ('service', 'request'): 'get_client_names_and_types_by_node'}


def allowed(node, element, attribute):
    """Return the names that the policy allows a node."""
    profile = ElementTree.parse(POLICY).find(f".//profile[@node='{node}']")
    return {entry.text for group in profile.iter(f'{element}s')
            if group.get(attribute) == 'ALLOW' for entry in group.iter(element)}


@pytest.fixture
def created(ros, start_process, feature_node, tmp_path):
    """Return what the nodes create: names by node, element and attribute."""
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path / "model"}')
    feature_node(CAMERA.replace('topic: image', 'topic: camera/image_raw'))
    start_process('dashboard_node', '--ros-args', '-p', 'port:=0', '-p',
                  'image_topic:=camera/image_raw').wait_for('Dashboard: http', 60)
    node = rclpy.create_node('asking', context=ros)
    executor = rclpy.executors.SingleThreadedExecutor(context=ros)
    executor.add_node(node)
    found, count = {}, -1
    for _ in range(300):  # Until nothing has come for a while.
        before = count
        for _ in range(10):
            executor.spin_once(0.1)
        for name in set(NODES) & set(node.get_node_names()):
            for kind, ask in KINDS.items():
                found[(name, *kind)] = {topic for topic, _ in getattr(node, ask)(name, '/')}
        count = sum(map(len, found.values()))
        if before == count and len(found) == len(NODES) * len(KINDS):
            break
    node.destroy_node()
    return found


def test_the_policy_allows_what_the_nodes_create(created):
    assert created['proemlc', 'service', 'reply'] and created['dashboard', 'topic', 'subscribe']
    missing = {key: names - allowed(*key) for key, names in created.items()}
    assert {key: names for key, names in missing.items() if names} == {}


def test_an_operator_may_teach_and_only_the_owner_may_reset():
    for name in ('reset', 'change_state', 'set_parameters'):
        service = f'/proemlc/{name}'
        assert service in allowed('_ros2cli', 'service', 'request')
        assert service not in allowed('dashboard', 'service', 'request')
        assert service not in allowed('teleop', 'service', 'request')
    assert '/proemlc/annotate' in allowed('teleop', 'service', 'request')
