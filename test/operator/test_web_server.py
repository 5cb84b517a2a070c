# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page's server over real HTTP and websockets; the classifier's part is played by the test."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import numpy as np
import pytest

aiohttp = pytest.importorskip('aiohttp')

from proemlc_ros.operator.actions import Outcome
from proemlc_ros.operator.pictures import Picture, PictureBook
from proemlc_ros.operator.robot import Robot
from proemlc_ros.operator.web.access import Access
from proemlc_ros.operator.web.server import Dashboard, Settings
from proemlc_ros.teaching.moments import Moment
from proemlc_ros.teaching.statements import LabelTable, Question, Sight

TOKEN = 'correct horse battery staple'


class Recorder:
    """Notes what is asked of the classifier, and says yes."""

    def __init__(self, robot):
        self.robot = robot
        self.asked = []

    async def annotate(self, annotation):
        self.asked.append(annotation)
        self.robot.on_taught(annotation)
        return Outcome(True, 'learnt')

    async def predict(self, stamp):
        return Sight(stamp, ('cup',), np.ones(1, np.float32), 0.1, 1)

    def __getattr__(self, name):
        async def act(*arguments):
            self.asked.append((name, *arguments))
            return Outcome(True, name)
        return act


class Stand:
    """A dashboard with a robot behind it, and a browser's session before it."""

    def __init__(self, access=None, **settings):
        self.robot = Robot()
        self.pictures = PictureBook()
        self.actions = Recorder(self.robot)
        self.dashboard = Dashboard(self.robot, self.pictures, self.actions, '/proemlc', Settings(
            access or Access(), port=0, **settings))

    @asynccontextmanager
    async def open(self):
        port = await self.dashboard.start()
        self.origin = f'http://127.0.0.1:{port}'
        try:
            async with aiohttp.ClientSession(
                    self.origin, cookie_jar=aiohttp.CookieJar(unsafe=True)) as self.browser:
                yield self
        finally:
            await self.dashboard.stop()

    def websocket(self, **headers):
        return self.browser.ws_connect('/ws', headers={'Origin': self.origin, **headers})

    def see(self, stamp, predicted=('cup',)):
        self.robot.on_moment(Moment(stamp, np.full(4, stamp % 97, np.float32), 'test/1'))
        self.robot.on_sight(Sight(stamp, predicted, np.array([0.5], np.float32), 0.2, 1),
                            time.monotonic())


async def message_of(socket, kind):
    while True:
        message = await asyncio.wait_for(socket.receive(), 5)
        if kind == 'picture' and message.type is aiohttp.WSMsgType.BINARY:
            return message.data
        if message.type is aiohttp.WSMsgType.TEXT and json.loads(message.data)['type'] == kind:
            return json.loads(message.data)
        assert message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY), message


async def ask(socket, what, **content):
    await socket.send_json({'id': 1, 'do': what, **content})
    return await message_of(socket, 'reply')


def in_stand(test, *arguments, **settings):
    async def run():
        async with Stand(*arguments, **settings).open() as stand:
            await test(stand)
    asyncio.run(run())


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


def test_foreign_host_and_origin_are_refused():
    async def test(stand):
        async with stand.browser.get('/', headers={'Host': 'evil.example'}) as answer:
            assert answer.status == 403
        for origin in ('http://evil.example', 'null'):
            with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
                await stand.websocket(Origin=origin)
        with pytest.raises(aiohttp.WSServerHandshakeError, match='403'):
            await stand.browser.ws_connect('/ws')
        async with stand.browser.post('/session', json={'token': TOKEN},
                                      headers={'Origin': 'http://evil.example'}) as answer:
            assert answer.status == 403
    in_stand(test)


def test_token_opens_the_door_and_nothing_else_does():
    async def sign_in(stand, **content):
        async with stand.browser.post('/session', headers={'Origin': stand.origin},
                                      **content) as answer:
            return answer.status

    async def test(stand):
        stand.pictures.add(Picture(7, b'jpeg'))
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


def test_guessing_tokens_is_slowed_down():
    async def test(stand):
        statuses = []
        for _ in range(20):
            async with stand.browser.post('/session', json={'token': 'guess'},
                                          headers={'Origin': stand.origin}) as answer:
                statuses.append(answer.status)
        assert statuses[0] == 401 and 429 in statuses
    in_stand(test, Access('0.0.0.0', TOKEN), max_attempts=2.0)


def test_new_page_is_told_everything():
    async def test(stand):
        stand.robot.on_labels(LabelTable(('cup',), (3,), (0.25,), 9, 1))
        stand.pictures.add(Picture(1_700_000_000_123_456_789, b'jpeg'))
        stand.see(1_700_000_000_123_456_789)
        stand.robot.on_question(Question(Moment(5, np.zeros(4, np.float32)), 'odd', ('cup',)))
        async with stand.websocket() as socket:
            labels = await message_of(socket, 'labels')
            picture = await message_of(socket, 'picture')
            sight = await message_of(socket, 'sight')
            questions = await message_of(socket, 'questions')
            health = await message_of(socket, 'health')
        assert (labels['names'], labels['counts'], labels['thresholds']) == (['cup'], [3], [0.25])
        assert picture == (1_700_000_000_123_456_789).to_bytes(8, 'big') + b'jpeg'
        assert sight['stamp'] == '1700000000123456789' and sight['scores'] == [0.5]
        assert questions['questions'][0]['text'] == 'odd'
        assert health['live'] and health['operators'] == 1
    in_stand(test)


def test_page_is_told_the_prediction_that_its_picture_shows():
    async def test(stand):
        stand.see(1000)
        stand.pictures.add(Picture(1000, b'one'))
        stand.see(2000)  # no picture of it: the one before is shown, with its own prediction
        async with stand.websocket() as socket:
            assert (await message_of(socket, 'picture')).endswith(b'one')
            assert (await message_of(socket, 'sight'))['stamp'] == '1000'
            stand.see(2_000_000_000)  # pictures have stopped: predictions go on
            while (await message_of(socket, 'sight'))['stamp'] != '2000000000':
                pass
    in_stand(test)


def test_picture_of_a_question_is_kept_for_its_answer():
    async def test(stand):
        stand.pictures.add(Picture(5, b'asked about'))
        stand.robot.on_question(Question(Moment(5, np.zeros(4, np.float32)), 'odd'))
        for number in range(200):
            stand.pictures.add(Picture(10**12 + number, b'later'))
        async with stand.browser.get('/pictures/5.jpg') as answer:
            assert await answer.read() == b'asked about'
    in_stand(test)


def test_annotation_is_about_the_moment_that_was_held_however_long_ago():
    async def test(stand):
        async with stand.websocket() as socket:
            stand.see(1001)
            assert (await ask(socket, 'hold', stamp='1001'))['done']
            for stamp in range(5000, 6000):
                stand.see(stamp)
            await ask(socket, 'name', who=' Ann ')
            reply = await ask(socket, 'annotate', stamp='1001', labels=['cup', 'mug'],
                              absent=['bowl'], complete=False)
        said = stand.actions.asked[-1]
        assert reply['done'] and reply['now']['predicted'] == ['cup']
        assert (said.stamp, said.labels, said.absent) == (1001, ('cup', 'mug'), ('bowl',))
        assert (said.complete, said.annotator, said.extractor) == (False, 'Ann', 'test/1')
        assert said.features.tolist() == [1001 % 97] * 4
    in_stand(test)


def test_two_pages_see_each_others_changes():
    async def test(stand):
        async with stand.websocket() as first, stand.websocket() as second:
            stand.see(7)
            stand.robot.on_question(Question(Moment(7, np.zeros(4, np.float32)), 'odd'))
            while not (await message_of(second, 'questions'))['questions']:
                pass
            await ask(first, 'name', who='Ann')
            await ask(first, 'annotate', stamp='7', labels=['cup'], complete=True)
            assert (await message_of(second, 'questions'))['questions'] == []
            activity = await message_of(second, 'activity')
            assert activity['deeds'][-1]['text'] == 'taught cup'
            assert activity['deeds'][-1]['who'] == 'Ann'
    in_stand(test)


def test_undo_is_refused_where_somebody_taught_meanwhile():
    async def test(stand):
        async with stand.websocket() as socket:
            assert (await ask(socket, 'undo', seen=0))['done']
            stand.robot.note('Ben', 'taught bowl')
            refused = await ask(socket, 'undo', seen=0)
            assert not refused['done'] and 'Ben taught bowl' in refused['message']
            assert (await ask(socket, 'undo', seen=1))['done']
            stand.robot.note('operator 1', 'taught cup')  # one's own deed is no surprise
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


def test_skip_settles_a_question_and_similar_names_twins():
    async def test(stand):
        stand.robot.on_question(Question(Moment(5, np.zeros(4, np.float32)), 'odd'))
        stand.robot.on_labels(LabelTable(('cup',), (3,), (0.0,), 9, 1))
        async with stand.websocket() as socket:
            assert (await ask(socket, 'similar', label='cups'))['similar'] == ['cup']
            await ask(socket, 'skip', stamp='5')
        assert len(stand.robot.questions) == 0
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


async def closing_code(socket):
    while (message := await asyncio.wait_for(socket.receive(), 5)).type not in (
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


# A server that stops to read may reset the line before its reason (1009) gets through: 1006.
@pytest.mark.parametrize(('sent', 'codes'), [
    ('{' * 10, {1008}), ('[' * 100_000, {1008}), (b'bytes', {1008}),
    ('"' + 'x' * 300_000 + '"', {1009, 1006})], ids=['broken', 'deep', 'binary', 'oversized'])
def test_what_is_no_request_ends_the_session(sent, codes):
    async def test(stand):
        async with stand.websocket() as socket:
            await (socket.send_str if isinstance(sent, str) else socket.send_bytes)(sent)
            assert await closing_code(socket) in codes
            assert stand.actions.asked == []
    in_stand(test)


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
    in_stand(test, max_sessions=2, max_http_rate=5.0)
