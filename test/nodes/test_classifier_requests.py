# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that repeat ~/annotate with the same request_id, over DDS and across kill -9."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import SERVICES, annotation, values_of
from rclpy.qos import QoSProfile
from ros_process import DEADLINE

pytestmark = pytest.mark.slow


def repeat(partner, number: int, request_id: str, **fields):
    """Call ~/annotate about vector number."""
    answer = partner.call('annotate', request_id=request_id, annotation=annotation(
        labels=[f'label {number}'], features=values_of(number), **fields))
    return answer.success, answer.message, answer.label_set_version, answer.entry


def send_all(partner, numbers, depth: int = 1000) -> dict:
    """Send requests at once, from a client of some queue length; return their futures."""
    kind = SERVICES['annotate']
    client = partner.node.create_client(
        kind, f'{partner.name}/annotate', qos_profile=QoSProfile(depth=depth))
    assert client.wait_for_service(DEADLINE)
    return {number: client.call_async(kind.Request(
        request_id=f'id {number}', annotation=annotation(
            labels=[f'label {number}'], features=values_of(number)))) for number in numbers}


def test_a_repeated_request_is_learnt_and_published_once(classifier):
    _, partner = classifier()
    first = repeat(partner, 1, 'a')
    assert first == (True, "learnt 'label 1'; new: 'label 1'", 1, 1)
    assert [repeat(partner, 1, 'a') for _ in range(3)] == [first] * 3
    success, message, *_ = repeat(partner, 2, 'a')
    assert not success and 'another annotation' in message
    assert not repeat(partner, 3, 'x' * 101)[0]
    assert repeat(partner, 1, '')[0]  # Without an id each one counts, as before.
    values = partner.diagnostics(lambda v: v.get('Repeated requests') == '3')
    assert (values['Samples learnt'], values['Rejected: request_id_reused'],
            values['Rejected: bad_request_id']) == ('2', '1', '1')
    partner.spin_until(lambda: len(partner.heard['learnt']) >= 2, what='what was learnt')
    assert len(partner.heard['learnt']) == 2


def test_requests_without_an_answer_can_be_repeated_after_kill_9(classifier):
    node, partner = classifier('snapshot_every:=7')
    futures = send_all(partner, range(1, 61))
    partner.spin_until(lambda: sum(future.done() for future in futures.values()) >= 10)
    node.kill()
    partner.spin_for(0.5)
    answers = {number: future.result() for number, future in futures.items() if future.done()}
    assert 10 <= len(answers) and all(answer.success for answer in answers.values())
    partner.close()

    _, partner = classifier('snapshot_every:=7')
    learnt = int(partner.diagnostics()['Journal entries'])
    for number in range(1, 61):
        success, message, version, entry = repeat(partner, number, f'id {number}')
        assert success and entry
        if number in answers:
            first = answers[number]
            assert (message, version, entry) == (
                first.message, first.label_set_version, first.entry)
    values = partner.diagnostics(lambda v: v['Samples learnt'] == '60')
    assert (values['Journal entries'], values['Labels']) == ('60', '60')
    assert int(values['Repeated requests']) == learnt >= len(answers)


def test_many_requests_at_once_are_all_answered(classifier):
    _, partner = classifier('held_annotations:=1000')
    futures = send_all(partner, range(400))
    partner.spin_until(lambda: all(future.done() for future in futures.values()))
    assert all(future.result().success for future in futures.values())
