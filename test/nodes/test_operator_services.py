# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators do about a classifier that does not answer."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import rclpy
from proemlc_ros.msg import RegionArray
from proemlc_ros.srv import Annotate
from rclpy.executors import SingleThreadedExecutor
from ros_process import DEADLINE

from proemlc_ros.errors import ClassifierUnavailableError, NoAnswerError
from proemlc_ros.nodes.classifier_services import DeferredResponse, _allow_deferred
from proemlc_ros.nodes.operator import services as operator_services
from proemlc_ros.nodes.operator.services import ClassifierClient
from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.classifier_view import Connection, Health
from proemlc_ros.records import WHOLE, Annotation, Region


class SilentClassifier:
    """Answers ~/annotate only from the nth request on; at those before it seems to go away."""

    def __init__(self, node, view, first_answer: int) -> None:
        self.requests = []
        self.first_answer = first_answer
        self._view = view
        _allow_deferred(node.create_service(Annotate, '/proemlc/annotate', self._annotate))

    def _annotate(self, request, response):
        self.requests.append(request)
        if len(self.requests) < self.first_answer:
            self._view.losses += 1
            return DeferredResponse()
        response.success, response.message = True, 'learnt'
        return response


@pytest.fixture
def node(ros):
    node = rclpy.create_node('operator', context=ros)
    executor = SingleThreadedExecutor(context=ros)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield node
    executor.shutdown()
    thread.join()
    node.destroy_node()


class View(SimpleNamespace):
    """What is known of the classifier: it is there, but for one look at each loss."""

    losses = 0

    def connection(self, now):
        if not self.losses:
            return Connection.LIVE
        self.losses -= 1
        return Connection.SILENT


@pytest.fixture
def services(node):
    view = View(learnt=[], health=Health())
    view.on_learnt = lambda annotation, published: view.learnt.append(annotation)
    client = ClassifierClient(node, '/proemlc', view)
    services = Actions(client, view)
    services.view, services.client = view, client
    return services


def annotate(services):
    wait_for(lambda: services.ready)
    return asyncio.run(services.annotate(Annotation(1, ('cup',))))


def test_an_annotation_without_an_answer_is_sent_again_with_the_same_id(node, services):
    classifier = SilentClassifier(node, services.view, first_answer=2)
    assert annotate(services).done
    first, second = classifier.requests
    assert first == second and len(first.request_id) == 36
    assert len(services.view.learnt) == 1


def test_answers_to_other_clients_do_not_push_ours_out(node, services):
    """Every client receives the answers to all, so the queue must hold more than a few."""
    assert all(client.qos_profile.depth >= 1000 for client in node.clients
               if client.srv_name.startswith('/proemlc/'))


def test_an_annotation_is_sent_twice_at_most(node, services, monkeypatch):
    # Nor is a classifier waited for without end that is there but does not answer.
    monkeypatch.setattr(operator_services, 'TIMEOUT', 0.5)
    classifier = SilentClassifier(node, SimpleNamespace(losses=0), first_answer=9)
    with pytest.raises(NoAnswerError):
        annotate(services)
    wait_for(lambda: len(classifier.requests) >= 2)
    assert len(classifier.requests) == 2 and services.view.learnt == []


def test_work_that_is_under_way_is_waited_for(node, services, monkeypatch):
    monkeypatch.setattr(operator_services, 'TIMEOUT', 0.0)
    SilentClassifier(node, services.view, first_answer=1)
    services.view.health = Health(values=(('Background work', 'changing 500 samples: 9 done'),))
    assert annotate(services).done


def test_an_answer_behind_the_end_of_the_service_is_dropped(node):
    late = DeferredResponse()
    service = _allow_deferred(node.create_service(Annotate, 'late', lambda *_: late))
    client = node.create_client(Annotate, 'late')
    wait_for(client.service_is_ready)
    client.call_async(Annotate.Request())
    wait_for(lambda: late._send)
    node.destroy_service(service)
    late.resolve(Annotate.Response())


def test_each_annotation_has_an_id_of_its_own(node, services):
    classifier = SilentClassifier(node, services.view, first_answer=1)
    annotate(services)
    annotate(services)
    assert len({request.request_id for request in classifier.requests}) == 2


def test_a_service_that_is_found_after_the_signs_of_life_is_waited_for(node, services):
    """A classifier that has come back lives before DDS has found all its services."""
    async def annotate_before_the_service_is_there():
        annotating = asyncio.create_task(services.annotate(Annotation(1, ('cup',))))
        await asyncio.sleep(0)
        SilentClassifier(node, services.view, first_answer=1)
        return await annotating
    assert asyncio.run(annotate_before_the_service_is_there()).done
    assert len(services.view.learnt) == 1


def test_a_box_waits_for_the_feature_node(node, services, ros):
    services.client.enable_drawing('features/regions')
    found = []

    async def draw_before_anybody_listens():
        drawing = asyncio.create_task(services.draw(5 * 10**9, Region('', 10.0, 20.0, 4.0, 6.0)))
        await asyncio.sleep(0)
        node.create_subscription(RegionArray, 'features/regions', found.append, 10)
        await drawing
    asyncio.run(draw_before_anybody_listens())
    wait_for(lambda: found)
    assert found[0].header.stamp.sec == 5 and found[0].regions[0].center_y == 20.0


def test_a_box_that_nobody_takes_is_said_to_be_lost(node, services, monkeypatch):
    monkeypatch.setattr(operator_services, 'RETURN_TIMEOUT', 0.0)
    services.client.enable_drawing('features/regions')
    with pytest.raises(ClassifierUnavailableError, match=r'no feature node .*/features/regions'):
        asyncio.run(services.draw(5, Region('', 10.0, 20.0, 4.0, 6.0)))
    asyncio.run(services.draw(5, WHOLE))  # it may come later, and nobody waits for an answer


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
