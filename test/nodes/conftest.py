# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the nodes."""

import shutil
import subprocess

import pytest

# Imports are inside, so that tests of other nodes can be collected where something is missing.


@pytest.fixture
def classifier(start_process, ros, tmp_path):
    """Return a function that starts a small classifier on one model directory, and its partner."""
    import rclpy
    from classifier_partner import ClassifierPartner
    partners = []

    def start(*parameters: str, name: str = '/proemlc', ready: bool = True, remap=(), **options):
        arguments = ['--ros-args']
        for entry in (f'model_directory:={tmp_path / "model"}', 'hidden_size:=30',
                      'activation:=relu', 'scaling:=none', 'ridge:=1.0',
                      'renewal:=manual', *parameters):
            arguments += ['-p', entry]
        node = start_process('classifier_node', *arguments, *remap)
        # In a participant of its own: that of an earlier partner believes for a while that a
        # node lives which was killed, and would call its services.
        context = rclpy.Context()
        context.init(domain_id=ros.get_domain_id())
        partner = ClassifierPartner(context, name, **options)
        partners.append((partner, context))
        if ready:
            partner.wait_until_ready()
        return node, partner
    yield start
    for partner, context in partners:
        partner.close()
        context.try_shutdown()


@pytest.fixture
def partner(ros):
    """Return the other side of a feature node's conversation."""
    from sensor_partner import SensorPartner
    node = SensorPartner(ros)
    yield node
    node.destroy_node()


@pytest.fixture
def feature_node(start_process, tmp_path):
    """Return a function that starts a feature node from the text of its parameters."""
    def start(parameters: str):
        path = tmp_path / 'parameters.yaml'
        path.write_text('/**:\n  ros__parameters:\n' + parameters)
        return start_process('feature_node', '--ros-args', '--params-file', path)

    return start


@pytest.fixture
def stand(start_process, ros, tmp_path):
    """Return classifier and eyes as processes, and a listener; see dashboard_stand.Stand."""
    from dashboard_stand import Stand

    running = Stand(start_process, ros, tmp_path)
    yield running
    running.listener.close()


@pytest.fixture(scope='session')
def axe(tmp_path_factory):
    """Return the path of axe-core's script, for pages with bypass_csp; or skip."""
    npm = shutil.which('npm') or pytest.skip('needs npm, to fetch axe-core')
    folder = tmp_path_factory.mktemp('axe')
    try:
        said = subprocess.run(
            [npm, 'install', '--silent', '--no-audit', '--no-fund', '--prefix', str(folder),
             'axe-core'], capture_output=True, text=True, timeout=300, check=False).stderr
    except subprocess.TimeoutExpired as error:  # a network that does not answer
        said = str(error)
    script = folder / 'node_modules/axe-core/axe.min.js'
    if not script.exists():
        pytest.skip(f'axe-core cannot be fetched by npm: {said.strip()[:200]}')
    return str(script)
