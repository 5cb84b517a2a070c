# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Who may open the page, and how much of it; over real HTTP and websockets."""

import asyncio
import json
import time

import numpy as np
import pytest

aiohttp = pytest.importorskip('aiohttp')

from web_stand import DEADLINE, ask, in_stand, message_of, no_time_passes  # noqa: F401

from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.operator.web.guard import GUESS_DELAY, Access

TOKEN = 'correct horse battery staple'


def test_page_and_its_files_are_served_with_strict_headers():
    async def test(stand):
        for path in ('/', '/index.html', '/app.js', '/style.css', '/icon.svg'):
            async with stand.browser.get(path) as answer:
                assert answer.status == 200 and await answer.read()
                policy = answer.headers['Content-Security-Policy']
                assert "default-src 'none'" in policy and 'unsafe' not in policy
                assert answer.headers['X-Content-Type-Options'] == 'nosniff'
        for path in ('/nothing.js', '/../server.py', '/%2e%2e/server.py', '/pictures/x.jpg'):
            async with stand.browser.get(path) as answer:
                assert answer.status == 404
    in_stand(test)


def test_foreign_host_and_origin_are_rejected():
    async def test(stand):
        async with stand.browser.get('/', headers={'Host': 'evil.example'}) as answer:
            assert answer.status == 403
        for origin in ('http://evil.example', 'null'):
            with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
                await stand.websocket(Origin=origin)
        with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
            await stand.browser.ws_connect('/ws')
        async with stand.browser.post('/sign_in', json={'token': TOKEN},
                                      headers={'Origin': 'http://evil.example'}) as answer:
            assert answer.status == 403
    in_stand(test)


def test_token_opens_the_page_and_nothing_else_does():
    async def sign_in(stand, **content):
        async with stand.browser.post('/sign_in', headers={'Origin': stand.origin},
                                      **content) as answer:
            return answer.status

    async def test(stand):
        stand.pictures.add(CameraPicture(7, b'jpeg'))
        for wrong in ({'json': {'token': 'wrong'}}, {'json': {'token': ''}}):
            assert await sign_in(stand, **wrong) == 401
        for bad in ({'json': {'token': 5}}, {'json': []}, {'data': b'{'}):
            assert await sign_in(stand, **bad) == 400
        assert await sign_in(stand, data=b'x' * 5000) == 413
        with pytest.raises(aiohttp.WSServerHandshakeError, match='401'):
            await stand.websocket()
        async with stand.browser.get('/pictures/7.jpg') as answer:
            assert answer.status == 401
        assert await sign_in(stand, json={'token': TOKEN}) == 200
        async with stand.browser.get('/pictures/7.jpg') as answer:
            assert answer.status == 200
        async with stand.websocket() as socket:
            await message_of(socket, 'health')
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=100.0)


@pytest.mark.usefixtures('no_time_passes')
def test_guessing_tokens_is_slowed_down():
    async def test(stand):
        async def guess():
            async with stand.browser.post('/sign_in', json={'token': 'guess'},
                                          headers={'Origin': stand.origin}) as answer:
                return answer.status

        assert await guess() == 401
        before = time.monotonic()
        statuses = await asyncio.gather(*(guess() for _ in range(19)))
        assert statuses.count(429) == 18 and time.monotonic() - before >= GUESS_DELAY
        assert {kind for kind, _ in stand.warnings} == {'wrong token'}
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=2.0)


async def closing_code(socket):
    while (message := await asyncio.wait_for(socket.receive(), DEADLINE)).type not in (
            aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
        pass
    return socket.close_code or message.data


def test_flood_is_cut_off_and_others_go_on():
    async def test(stand):
        async with stand.websocket() as flooder, stand.websocket() as calm:
            for number in range(2000):
                await flooder.send_json({'id': number, 'do': 'similar', 'label': 'x'})
                if flooder.closed:
                    break
            assert await closing_code(flooder) == aiohttp.WSCloseCode.POLICY_VIOLATION
            assert (await ask(calm, 'similar', label='x'))['done']
    in_stand(test)


# A server that stops reading may reset the connection before its reason (1009) arrives: 1006.
@pytest.mark.parametrize(('sent', 'codes'), [
    ('{' * 10, {1008}), ('[' * 100_000, {1008}), (b'bytes', {1008}),
    ('"' + 'x' * 300_000 + '"', {1009, 1006})], ids=['broken', 'deep', 'binary', 'oversized'])
def test_invalid_request_ends_the_connection(sent, codes):
    async def test(stand):
        async with stand.websocket() as socket:
            await (socket.send_str if isinstance(sent, str) else socket.send_bytes)(sent)
            assert await closing_code(socket) in codes
            assert stand.actions.asked == []
    in_stand(test)


@pytest.mark.usefixtures('no_time_passes')
def test_number_of_pages_and_of_requests_is_limited():
    async def test(stand):
        async with stand.websocket(), stand.websocket():
            with pytest.raises(aiohttp.WSServerHandshakeError, match='503'):
                await stand.websocket()
        statuses = set()
        for _ in range(60):
            async with stand.browser.get('/icon.svg') as answer:
                statuses.add(answer.status)
        assert statuses == {200, 429}
    in_stand(test, max_pages=2, max_http_rate=5.0)


pytest.importorskip('aiohttp')


from proemlc_ros.errors import ClassifierUnavailableError
from proemlc_ros.operator.classifier_view import Health
from proemlc_ros.operator.web.requests import Requests
from proemlc_ros.operator.web.server import SHOWN
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


def test_a_page_that_says_what_it_has_shown_gets_nothing_before():
    async def test(stand):
        async with stand.websocket() as socket:
            stand.see(1000)
            await message_of(socket, 'prediction')
            await socket.send_str(SHOWN)
            await ask(socket, 'similar', labels=['cup'])
            stand.see(2000)
            assert (await message_of(socket, 'prediction'))['stamp'] == '2000'
            stand.see(3000)
            for _ in range(9):  # far longer than between two updates
                await socket.send_json({'do': 'similar', 'labels': ['cup']})
                while (message := json.loads((await socket.receive()).data))['type'] != 'reply':
                    assert message['type'] != 'prediction'
            stand.see(4000)
            await socket.send_str(SHOWN)
            assert (await message_of(socket, 'prediction'))['stamp'] == '4000'
    in_stand(test, max_rate=10_000.0)


def test_picture_of_a_query_is_kept_for_its_answer():
    async def test(stand):
        stand.pictures.add(CameraPicture(5, b'asked about'))
        stand.view.on_query(Query(StampedVector(5, np.zeros(4, np.float32)), 'odd'))
        for number in range(200):
            stand.pictures.add(CameraPicture(10**12 + number, b'later'))
        async with stand.browser.get('/pictures/5.jpg') as answer:
            assert await answer.read() == b'asked about'
    in_stand(test)


def test_a_picture_that_is_gone_is_no_error():
    """Somebody may delete a sample while its picture is on its way; browsers log errors."""
    async def fail(number):
        raise ClassifierUnavailableError('gone')

    async def test(stand):
        stand.actions.result = None
        for path in ('/pictures/7.jpg', '/samples/7.jpg', '/samples/8.jpg'):
            async with stand.browser.get(path) as answer:
                assert (answer.status, await answer.read()) == (204, b'')
            stand.actions.picture = fail
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
            stand.view.on_labels(LabelState(('cup',), (1,), (0.0,), 1, 1))
            stand.see(7)
            stand.view.on_query(Query(StampedVector(7, np.zeros(4, np.float32)), 'odd'))
            while not (await message_of(second, 'queries'))['queries']:
                pass
            await ask(first, 'name', who='Ann')
            await ask(first, 'annotate', stamp='7', labels=['cup'], complete=True)
            assert (await message_of(second, 'queries'))['queries'] == []
            activity = await message_of(second, 'activity')
            assert activity['entries'][-1]['text'] == "taught 'cup'"
            assert activity['entries'][-1]['who'] == 'Ann'
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
            assert (await ask(socket, 'similar', labels=['cups', 'x']))['similar'] == {
                'cups': ['cup']}
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
                                ('load', 'file_name'), ('\ud800', 'x')):
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
            stand.actions.remove = fail
            failed = await ask(socket, 'remove', label='cup')
            assert not failed['done'] and 'log' in failed['message']
            assert (await ask(socket, 'similar', label='cup'))['done']
        assert [kind for kind, _ in stand.warnings] == ['predict failed', 'request failed']
    in_stand(test)


# ----- every field of every request -----

HIDDEN = ['a\x1b[2J', 'a\n[FATAL] [proemlc]: gone', 'a\x00', '\u202eb', '\ud800', 'x' * 201,
          'x' * 10**5]
BAD = {
    'text': [*HIDDEN, None, 5, True, ['cup'], {'a': 1}],
    'names': ['cup', 5, {'a': 1}, [None], [5], [['cup']], ['cup'] * 2001, ['x' * 201],
              *([text] for text in HIDDEN)],
    'flag': [0, 1, 'true', [], {}],
    'stamp': ['-1', '9' * 30, '1.5', '0x5', '\u0663', '../../etc', 'NaN', '', 7, -7, None, [7],
              *HIDDEN],
    'number': [-1, 1.5, float('nan'), float('inf'), 2**53, 10**30, '7', None, [], True],
    'numbers': [7, 'x', [-1], [0], [1.5], [float('nan')], ['7'], [True], [2**53], [None],
                list(range(1, 10_002))],
    'region': [7, [], 'x', {}, {'center_x': 1}, *(
        {'center_x': 1, 'center_y': 1, 'size_x': 1, 'size_y': 1, field: value}
        for field in ('center_x', 'center_y', 'size_x', 'size_y')
        for value in (float('nan'), float('inf'), -1e9, 1e9, '1', None, True)), *(
        {'center_x': 1, 'center_y': 1, 'size_x': 1, 'size_y': 1, 'id': text}
        for text in HIDDEN), {'center_x': 1, 'center_y': 1, 'size_x': 0, 'size_y': -1}],
    'burst': ['x', 'A' * 12, '1' * 13, '../../../etc', *HIDDEN, 7, None, []],
    'order': ['nearest', '', 'x', 7, None, *HIDDEN],
}
BOX = {'center_x': 1, 'center_y': 1, 'size_x': 1, 'size_y': 1}
# Of each request, its fields: what they are, and a value with which it is carried out.
FIELDS = {
    'hold': {'stamp': ('stamp', '7')},
    'annotate': {'stamp': ('stamp', '7'), 'labels': ('names', ['cup']), 'absent': ('names', []),
                 'complete': ('flag', True), 'region': ('region', BOX),
                 'burst': ('burst', '0123456789ab'), 'number': ('number', 3)},
    'rename': {'label': ('text', 'cup'), 'new_label': ('text', 'mug')},
    'remove': {'label': ('text', 'cup')},
    'save': {'file_name': ('text', 'kitchen'), 'keep_existing': ('flag', True)},
    'load': {'file_name': ('text', 'kitchen')},
    'similar': {'labels': ('names', ['cup'])},
    'skip': {'stamp': ('stamp', '7')},
    'name': {'who': ('text', 'Ann')},
    'nearest': {'stamp': ('stamp', '7')},
    'source': {'command': ('text', 'seek'), 'position': ('number', 3),
               'things': ('names', ['cup'])},
    'look': {'stamp': ('stamp', '7')},
    'draw': {'stamp': ('stamp', '7'), 'region': ('region', BOX)},
    'samples': {'label': ('text', 'cup'), 'who': ('text', 'Ann'), 'order': ('order', 'newest'),
                'offset': ('number', 3), 'limit': ('number', 3)},
    'change_samples': {'samples': ('numbers', [7]), 'labels': ('names', ['cup']),
                       'remove': ('flag', False)},
    'merge_labels': {'label': ('text', 'cup'), 'into': ('text', 'mug')},
    'history': {'mine': ('flag', True), 'offset': ('number', 3), 'limit': ('number', 3)},
    'undo_change': {'steps': ('numbers', [7]), 'mine': ('flag', True)},
    'redo_change': {'steps': ('numbers', [7]), 'mine': ('flag', True)},
    'models': {},
}


def test_every_field_of_every_request_has_bounds():
    async def test(stand):
        requests = Requests(stand.view, stand.pictures, stand.actions, 'Ann',
                            lambda kind, text: faults.append(text))
        known = await requests.answer({'do': 'explode'})
        assert set(known['message'].partition('known: ')[2].split(', ')) == set(FIELDS)
        stand.see(7)
        for what, fields in FIELDS.items():
            valid_request = {name: value for name, (_, value) in fields.items()}
            for name, (kind, _) in fields.items():
                for value in BAD[kind]:
                    # As the websocket gives it: what JSON cannot say does not come.
                    request = json.loads(json.dumps({'do': what, **valid_request, name: value}))
                    reply = await requests.answer(request)
                    sent.append(reply)
                    assert not reply['done'], (what, name, str(value)[:80])
                    assert name in reply['message'] and len(reply['message']) < 500, (what, name)
                    assert reply['message'].isprintable(), (what, name, reply['message'])
        assert stand.actions.asked == [] and stand.actions.request_ids == []
    sent, faults = [], []
    in_stand(test)
    assert len(sent) > 500 and faults == []


@pytest.mark.parametrize('path', [
    *(f'/pictures/{stamp}.jpg' for stamp in (
        '-7', '9' * 20, '9' * 500, '0x7', '%D9%A3', '..%2F..%2Fetc%2Fpasswd', '7%00', 'NaN',
        '7%0d%0aX: y', '7.5')),
    *(f'/samples/{number}.jpg' for number in ('-7', '9' * 16, 'x', '7.5', '%D9%A3', '..%2F7')),
    '/..%2f..%2fetc%2fpasswd', '/../../etc/passwd', '/index.html%00', '/static/../server.py',
    '/' + 'a' * 5000, '/%ud800', '/sign_in/../ws'])
def test_every_address_has_bounds(path):
    async def test(stand):
        stand.see(7)
        status = await stand.raw(f'GET {path} HTTP/1.1\r\nHost: HOST\r\n\r\n'.encode())
        assert status in (400, 401, 403, 404), status
        assert stand.actions.asked == []
    in_stand(test)


@pytest.mark.parametrize('body', [
    b'', b'null', b'[]', b'{}', b'{"token": 5}', b'{"token": null}', b'{"token": ["x"]}',
    b'{"token": NaN}', b'{"token": "a\\u001b[2J"}', b'{"token": "\\ud800"}', b'\xff' * 9,
    b'{"token": "' + b'x' * 300 + b'"}', b'{"token": "' + b'x' * 10_000 + b'"}',
    b'[' * 1500, b'{"token": "../../etc/passwd"}'])
def test_every_body_of_the_sign_in_has_bounds(body):
    async def test(stand):
        async with stand.browser.post('/sign_in', data=body,
                                      headers={'Origin': stand.origin}) as answer:
            assert answer.status in (400, 401, 413) and 'Set-Cookie' not in answer.headers
    in_stand(test, Access(token='sixteen characters'))
