# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What pages receive and what they may request, over real websockets."""

import json
import time

import numpy as np
import pytest

pytest.importorskip('aiohttp')

from web_stand import ask, in_stand, message_of

from proemlc_ros.operator.classifier_view import Health
from proemlc_ros.operator.pictures import CameraPicture
from proemlc_ros.records import LabelState, Query, StampedPrediction, StampedVector


def test_new_page_receives_everything():
    async def test(stand):
        stand.view.on_labels(LabelState(('cup',), (3,), (0.25,), 9, 1))
        stand.pictures.add(CameraPicture(1_700_000_000_123_456_789, b'jpeg'))
        stand.see(1_700_000_000_123_456_789)
        stand.view.on_query(Query(StampedVector(5, np.zeros(4, np.float32)), 'odd', ('cup',)))
        async with stand.websocket() as socket:
            labels = await message_of(socket, 'labels')
            picture = await message_of(socket, 'picture')
            prediction = await message_of(socket, 'prediction')
            queries = await message_of(socket, 'queries')
            health = await message_of(socket, 'health')
        assert (labels['names'], labels['counts'], labels['thresholds']) == (['cup'], [3], [0.25])
        assert picture == (1_700_000_000_123_456_789).to_bytes(8, 'big') + b'jpeg'
        assert prediction['stamp'] == '1700000000123456789' and prediction['scores'] == [0.5]
        assert queries['queries'][0]['text'] == 'odd'
        assert health['live'] and health['operators'] == 1
    in_stand(test)


def test_page_receives_the_prediction_of_its_picture():
    async def test(stand):
        stand.see(1000)
        stand.pictures.add(CameraPicture(1000, b'one'))
        stand.pictures.add(CameraPicture(1500, b'no prediction'))
        stand.see(2000)  # no picture of it: the last pair is shown
        async with stand.websocket() as socket:
            assert (await message_of(socket, 'picture')).endswith(b'one')
            assert (await message_of(socket, 'prediction'))['stamp'] == '1000'
            stand.see(3_000_000_000)  # pictures have stopped: predictions go on, alone
            while True:
                picture = await message_of(socket, 'picture')
                prediction = await message_of(socket, 'prediction')
                assert int.from_bytes(picture[:8], 'big') == int(prediction['stamp'])
                assert prediction['picture'] == (len(picture) > 8)
                if prediction['stamp'] == '3000000000':
                    break
            assert not prediction['picture']
            stand.view.note_picture('Nobody publishes /camera.')
            while (await message_of(socket, 'health'))['picture'] != 'Nobody publishes /camera.':
                pass
    in_stand(test)


def test_picture_of_a_query_is_kept_for_its_answer():
    async def test(stand):
        stand.pictures.add(CameraPicture(5, b'asked about'))
        stand.view.on_query(Query(StampedVector(5, np.zeros(4, np.float32)), 'odd'))
        for number in range(200):
            stand.pictures.add(CameraPicture(10**12 + number, b'later'))
        async with stand.browser.get('/pictures/5.jpg') as answer:
            assert await answer.read() == b'asked about'
    in_stand(test)


def test_annotation_is_about_the_vector_that_was_held_however_long_ago():
    async def test(stand):
        async with stand.websocket() as socket:
            stand.see(1001)
            assert (await ask(socket, 'hold', stamp='1001'))['done']
            for stamp in range(5000, 6000):
                stand.see(stamp)
            await ask(socket, 'name', who=' Ann ')
            reply = await ask(socket, 'annotate', stamp='1001', labels=['cup', 'mug'],
                              absent=['bowl'], complete=False)
        annotation = stand.actions.asked[-1]
        assert reply['done'] and reply['now']['predicted'] == ['cup']
        assert (annotation.stamp, annotation.extractor) == (1001, 'test/1')
        assert (annotation.labels, annotation.absent) == (('cup', 'mug'), ('bowl',))
        assert (annotation.complete, annotation.annotator) == (False, 'Ann')
        assert annotation.features.tolist() == [1001 % 97] * 4
    in_stand(test)


def test_two_pages_see_each_others_changes():
    async def test(stand):
        async with stand.websocket() as first, stand.websocket() as second:
            stand.see(7)
            stand.view.on_query(Query(StampedVector(7, np.zeros(4, np.float32)), 'odd'))
            while not (await message_of(second, 'queries'))['queries']:
                pass
            await ask(first, 'name', who='Ann')
            await ask(first, 'annotate', stamp='7', labels=['cup'], complete=True)
            assert (await message_of(second, 'queries'))['queries'] == []
            activity = await message_of(second, 'activity')
            assert activity['entries'][-1]['text'] == 'taught cup'
            assert activity['entries'][-1]['who'] == 'Ann'
    in_stand(test)


def test_undo_is_rejected_where_somebody_taught_meanwhile():
    async def test(stand):
        async with stand.websocket() as socket:
            assert (await ask(socket, 'undo', seen=0))['done']
            stand.view.note('Ben', 'taught bowl')
            rejected = await ask(socket, 'undo', seen=0)
            assert not rejected['done'] and 'Ben taught bowl' in rejected['message']
            assert (await ask(socket, 'undo', seen=1))['done']
            stand.view.note('operator 1', 'taught cup')  # the operator's own entry
            assert (await ask(socket, 'undo', seen=1))['done']
    in_stand(test)


@pytest.mark.parametrize(('what', 'content', 'asked'), [
    ('rename', {'label': 'a', 'new_label': 'b'}, ('rename', 'operator 1', 'a', 'b')),
    ('remove', {'label': 'a'}, ('remove', 'operator 1', 'a')),
    ('save', {'file_name': 'kitchen'}, ('save', 'operator 1', 'kitchen')),
    ('load', {'file_name': ''}, ('load', 'operator 1', '')),
])
def test_requests_reach_the_classifier(what, content, asked):
    async def test(stand):
        async with stand.websocket() as socket:
            assert (await ask(socket, what, **content))['done']
        assert stand.actions.asked == [asked]
    in_stand(test)


def test_skip_settles_a_query_and_similar_names_duplicates():
    async def test(stand):
        stand.view.on_query(Query(StampedVector(5, np.zeros(4, np.float32)), 'odd'))
        stand.view.on_labels(LabelState(('cup',), (3,), (0.0,), 9, 1))
        async with stand.websocket() as socket:
            assert (await ask(socket, 'similar', label='cups'))['similar'] == ['cup']
            await ask(socket, 'skip', stamp='5')
        assert len(stand.view.queries) == 0
    in_stand(test)


@pytest.mark.parametrize('request_', [
    {'do': 'explode'}, {'do': 5}, {}, [], 'text', {'do': 'annotate'},
    {'do': 'annotate', 'stamp': '-1', 'labels': [], 'complete': True},
    {'do': 'annotate', 'stamp': '٣', 'labels': [], 'complete': True},
    {'do': 'annotate', 'stamp': '9' * 30, 'labels': [], 'complete': True},
    {'do': 'annotate', 'stamp': '1', 'labels': 'cup', 'complete': True},
    {'do': 'annotate', 'stamp': '1', 'labels': [5], 'complete': True},
    {'do': 'annotate', 'stamp': '1', 'labels': [], 'complete': 1},
    {'do': 'rename', 'label': 'x' * 1000, 'new_label': 'y'},
])
def test_bad_request_is_answered_in_words_and_does_nothing(request_):
    async def test(stand):
        async with stand.websocket() as socket:
            await socket.send_json(request_)
            reply = await message_of(socket, 'reply')
            assert not reply['done'] and reply['message']
            assert (await ask(socket, 'similar', label='still works'))['done']
        assert stand.actions.asked == []
    in_stand(test)


def valid(line):
    """Return a JSON message; unlike Python, browsers know neither NaN nor Infinity."""
    def reject(constant):
        raise AssertionError(f'{constant} is not JSON')
    return json.loads(line, parse_constant=reject)


def test_half_of_a_surrogate_pair_is_rejected_and_closes_no_page():
    async def test(stand):
        async with stand.websocket() as crafted, stand.websocket() as other:
            stand.see(7)
            rejected = await ask(crafted, 'name', who='\ud800')
            assert not rejected['done'] and 'U+D800' in rejected['message']
            for content in ({'labels': ['\ud800']}, {'labels': [], 'absent': ['\ud800']}):
                assert not (await ask(crafted, 'annotate', stamp='7', complete=True,
                                      **content))['done']
            for what, field in (('rename', 'label'), ('remove', 'label'), ('save', 'file_name'),
                                ('load', 'file_name'), ('similar', 'label'), ('\ud800', 'x')):
                content = {'label': 'a', 'new_label': 'b', field: 'a\ud800'}
                assert not (await ask(crafted, what, **content))['done']
            assert stand.actions.asked == []
            assert (await ask(crafted, 'annotate', stamp='7', labels=['cup'],
                              complete=True))['done']
            while not (activity := await message_of(other, 'activity'))['entries']:
                pass
            assert activity['entries'][-1]['who'] == 'operator 1'
    in_stand(test)


@pytest.mark.parametrize('who', ['a\x00b', 'a\x1b[2J', 'a\nb', 'a\u202eb', 'a\u2028b', 'x' * 201])
def test_name_that_does_not_show_or_is_too_long_is_rejected(who):
    async def test(stand):
        async with stand.websocket() as socket:
            assert not (await ask(socket, 'name', who=who))['done']
            assert (await ask(socket, 'name', who='Zoë 👩\u200d🍳'))['done']
    in_stand(test)


def test_values_that_are_not_finite_reach_the_page_as_null():
    nan, inf = float('nan'), float('inf')

    async def test(stand):
        stand.view.on_labels(LabelState(('cup', 'mug'), (3, 1), (nan, 0.5), 9, 1))
        stand.view.on_prediction(StampedPrediction(
            7, ('cup',), np.array([nan, 0.5], np.float32), inf, 1), time.monotonic())
        stand.view.on_query(Query(StampedVector(5, np.zeros(4, np.float32)), 'odd', ('cup',),
                                  (-inf,), nan))
        stand.view.curve.add_loss(9, nan)
        stand.view.on_health(Health(0, 'fine', (('Rate', 'nan'),)), None, time.monotonic())
        async with stand.websocket() as socket:
            found = {}
            while len(found) < 6:
                data = (await socket.receive()).data
                if isinstance(data, bytes):
                    continue  # There is no picture.
                message = valid(data)
                found[message['type']] = message
                found.pop('activity', None)
        assert found['labels']['thresholds'] == [None, 0.5]
        assert found['prediction']['scores'] == [None, 0.5]
        assert found['prediction']['novelty'] is None
        assert found['queries']['queries'][0]['scores'] == [None]
        assert found['queries']['queries'][0]['novelty'] is None
        assert found['curve']['points'] == [[9, None]]
        assert found['health']['values'] == [['Rate', 'nan']]
    in_stand(test)


def test_part_that_cannot_be_sent_is_left_out_and_logged():
    async def test(stand):
        stand.view.on_labels(LabelState((object(),), (3,), (0.25,), 9, 1))
        stand.pictures.add(CameraPicture(2**70, b'jpeg'))
        stand.see(2**70)
        stand.view.note('\ud800', 'half of a pair, from a bag')
        async with stand.websocket() as socket:
            assert (await message_of(socket, 'activity'))['entries'][-1]['who'] == '?'
            assert await message_of(socket, 'health')
            assert (await ask(socket, 'similar', label='cup'))
        assert {kind for kind, _ in stand.warnings} >= {'labels not shown', 'picture not shown'}
    in_stand(test)


def test_picture_from_before_1970_is_shown():
    async def test(stand):
        stand.pictures.add(CameraPicture(-5, b'jpeg'))
        stand.see(-5)
        async with stand.websocket() as socket:
            assert (await message_of(socket, 'picture')).endswith(b'jpeg')
    in_stand(test)


def test_long_texts_are_cut_for_the_page():
    async def test(stand):
        stand.view.note('Ann', 'taught ' + 'x' * 100_000)
        stand.view.on_health(Health(1, 'm' * 10_000, (('k' * 9_000, 'v' * 9_000),)), None, 0.0)
        async with stand.websocket() as socket:
            activity = await message_of(socket, 'activity')
            health = await message_of(socket, 'health')
        assert len(activity['entries'][-1]['text']) < 1000
        assert len(health['message']) < 1000 and max(map(len, health['values'][0])) < 1000
    in_stand(test)


def test_fault_in_one_request_is_answered_and_ends_no_connection():
    async def fail(*arguments):
        raise RuntimeError('boom')

    async def test(stand):
        async with stand.websocket() as socket:
            stand.see(7)
            stand.actions.predict = fail
            learnt = await ask(socket, 'annotate', stamp='7', labels=['cup'], complete=True)
            assert learnt['done'] and learnt['now'] is None
            stand.actions.undo = fail
            failed = await ask(socket, 'undo', seen=99)
            assert not failed['done'] and 'log' in failed['message']
            assert (await ask(socket, 'similar', label='cup'))['done']
        assert [kind for kind, _ in stand.warnings] == ['predict failed', 'request failed']
    in_stand(test)
