# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The security policy allows every topic and service that the nodes really create."""

import asyncio
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from sensor_partner import CAMERA

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('aiohttp')

from sensor_msgs.msg import Image

from proemlc_ros.nodes.operator.services import OPERATORS_SERVICES, OWNERS_SERVICES
from proemlc_ros.operator.actions import Actions

pytestmark = pytest.mark.slow
POLICY = Path(__file__).parents[2] / 'config/security/policy.xml'
# What sros2 allows with an action: of whom, and which topics or services.
_SERVICES, _TOPICS = ('send_goal', 'cancel_goal', 'get_result'), ('feedback', 'status')
ACTIONS = {'publish': ('execute', _TOPICS), 'reply': ('execute', _SERVICES),
           'subscribe': ('call', _TOPICS), 'request': ('call', _SERVICES)}
NODES = ('proemlc', 'features', 'dashboard')
# Element, attribute, and how the graph is asked for what a node has.
KINDS = {('topic', 'publish'): 'get_publisher_names_and_types_by_node',
         ('topic', 'subscribe'): 'get_subscriber_names_and_types_by_node',
         ('service', 'reply'): 'get_service_names_and_types_by_node',
         ('service', 'request'): 'get_client_names_and_types_by_node'}


def allowed(node, element, attribute, enclave=''):
    """Return the names that the policy allows a node; in its first enclave, or in another."""
    where = f".//enclave[@path='{enclave}']" if enclave else '.'
    profile = ElementTree.parse(POLICY).find(f"{where}//profile[@node='{node}']")
    named = {entry.text for group in profile.iter(f'{element}s')
             if group.get(attribute) == 'ALLOW' for entry in group.iter(element)}
    return named | {f'{action.text}/_action/{part}' for group in profile.iter('actions')
                    if group.get(ACTIONS[attribute][0]) == 'ALLOW'
                    for action in group.iter('action') for part in ACTIONS[attribute][1]}


# What a node creates only while a camera publishes and somebody looks at the annotated pictures.
LATE = {'proemlc': '/camera/image_raw', 'features': '/proemlc/predictions'}


@pytest.fixture
def created(ros, start_process, feature_node, tmp_path):
    """Return what the nodes create while pictures come: names by node, element and attribute."""
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path / "model"}')
    feature_node(CAMERA.replace('topic: image', 'topic: camera/image_raw'))
    start_process('dashboard_node', '--ros-args', '-p', 'port:=0', '-p',
                  'image_topic:=camera/image_raw').wait_for('Dashboard: http')
    node = rclpy.create_node('asking', context=ros)
    camera = node.create_publisher(Image, '/camera/image_raw', 10)
    picture = Image(height=4, width=4, step=12, encoding='rgb8', data=bytes(48))
    node.create_subscription(Image, '/features/annotated_image', lambda _: None, 1)

    def publish():
        picture.header.stamp = node.get_clock().now().to_msg()
        camera.publish(picture)
    node.create_timer(0.1, publish)
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
        if before == count and len(found) == len(NODES) * len(KINDS) and all(
                topic in found[name, 'topic', 'subscribe'] for name, topic in LATE.items()
                ) and found['proemlc', 'service', 'reply'] >= OWNERS | OPERATORS:
            break
    node.destroy_node()
    return found


# Requests that may name a file, change many samples at once, or replace the model.
OWNERS = {f'/proemlc/{name}' for name in (
    'reset', 'renew', 'reembed', 'cancel', 'save_model', 'load_model', 'change_samples',
    'merge_labels', 'remove_label', 'change_state', 'set_parameters',
    'set_parameters_atomically')}
OPERATORS = {f'/proemlc/{name}' for name in (
    'annotate', 'undo', 'undo_change', 'redo_change', 'rename_label', 'predict', 'list_samples',
    'get_sample', 'list_history', 'list_models', 'change_sample')}


def test_the_policy_allows_what_the_nodes_create(created):
    assert created['proemlc', 'service', 'reply'] and created['dashboard', 'topic', 'subscribe']
    for name, topic in LATE.items():
        assert topic in created[name, 'topic', 'subscribe']
    missing = {key: names - allowed(*key) for key, names in created.items()}
    assert {key: names for key, names in missing.items() if names} == {}
    files_bulk_changes_and_resets_are_for_the_owner_alone(created['proemlc', 'service', 'reply'])


def files_bulk_changes_and_resets_are_for_the_owner_alone(offered):
    read_only = {name for name in offered if '/get_' in name or '/list_' in name
                 or '/describe_' in name}
    # Whoever adds a service decides to whom it belongs.
    actions = {name for name in offered if '/_action/' in name}
    assert offered - read_only - actions == (OWNERS | OPERATORS) - read_only
    assert {name.partition('/_action/')[0] for name in actions} <= OWNERS
    assert offered <= allowed('_ros2cli', 'service', 'request')
    for node in ('dashboard', 'teleop'):
        requests = allowed(node, 'service', 'request')
        assert not requests & OWNERS and OPERATORS <= requests
    owners_page = allowed('dashboard', 'service', 'request', '/proemlc_admin')
    assert owners_page - allowed('dashboard', 'service', 'request') == {
        f'/proemlc/{name}' for name in OWNERS_SERVICES}
    assert {f'/proemlc/{name}' for name in OPERATORS_SERVICES} <= OPERATORS
    assert {f'/proemlc/{name}' for name in OWNERS_SERVICES} <= OWNERS


def test_the_tools_have_the_services_that_every_node_has_whatever_their_process():
    replies = allowed('_ros2cli', 'service', 'reply')
    for node in ('_ros2cli_4711', '_ros2cli_requester_std_srvs_Trigger'):
        assert any(fnmatch(f'/{node}/get_type_description', name) for name in replies)


def test_the_page_of_an_operator_corrects_one_sample_by_a_service_that_is_allowed():
    called = []

    async def call(service, **fields):
        called.append((service, fields['samples']))
        return SimpleNamespace(success=True, message='')
    actions = Actions(SimpleNamespace(call=call), None)
    for numbers in ([7], [7, 8]):
        asyncio.run(actions.change_samples('ann', numbers, ('cup',), remove=False))
    (one, first), (several, second) = called
    assert one in OPERATORS_SERVICES and several in OWNERS_SERVICES
    assert (first, second) == ([7], [7, 8])
