# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model files that the page downloads and uploads: bounds, names, sessions, nothing left over."""

import json
from functools import partial

import pytest

pytest.importorskip('aiohttp')

from web_stand import in_stand

from proemlc_ros.classifier.model_directory import BEFORE_RESET
from proemlc_ros.errors import ClassifierUnavailableError
from proemlc_ros.journal.journal import OLDER_SNAPSHOT, SNAPSHOT
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.web import server
from proemlc_ros.operator.web.guard import Access


def test_a_model_file_goes_down_and_comes_up_again(tmp_path, monkeypatch):
    async def test(stand):
        data, origin = bytes(range(256)) * 1000, {'Origin': stand.origin}
        (tmp_path / 'kitchen.npz').write_bytes(data)
        async with stand.browser.get('/models/kitchen.npz') as answer:
            assert await answer.read() == data
            assert answer.headers['Content-Disposition'] == 'attachment'
            assert answer.headers['X-Content-Type-Options'] == 'nosniff'

        async def send(name, body=data, headers=origin):
            async with stand.browser.post(f'/models/{name}', data=body, params={'who': 'Ann'},
                                          headers=headers) as answer:
                return answer.status, await answer.text()
        status, text = await send('new one.npz')
        assert status == 200 and json.loads(text) == {'done': True, 'message': 'done'}
        assert (tmp_path / 'new one.npz').read_bytes() == data
        assert stand.actions.asked == [('load', 'Ann', 'new one.npz')]
        status, text = await send('kitchen.npz', b'other')
        assert status == 400 and 'exists already' in text
        assert (tmp_path / 'kitchen.npz').read_bytes() == data
        for name in (SNAPSHOT, OLDER_SNAPSHOT, BEFORE_RESET):
            assert (await send(name))[0] == 400
        assert (await send('b.npz', headers={'Origin': 'http://evil'}))[0] == 403
        await nothing_stays_of_what_is_not_loaded(stand, send)
        assert sorted(path.name for path in tmp_path.iterdir()) == ['kitchen.npz', 'new one.npz']

    async def nothing_stays_of_what_is_not_loaded(stand, send):
        stand.actions.result = ActionResult(False, 'not a model file')
        assert 'not a model file' in (await send('b.npz'))[1]

        async def gone(*arguments):
            raise ClassifierUnavailableError('the classifier is gone')
        stand.actions.load = gone
        assert (await send('b.npz')) == (400, 'the classifier is gone')
        monkeypatch.setattr(server, 'MAX_UPLOAD', 1000)
        for body in (bytes(1001), parts()):  # with its length, and without
            status, text = await send('b.npz', body)
            assert status == 400 and 'are not taken' in text

    async def parts():
        for _ in range(3):
            yield bytes(500)
    in_stand(test, model_directory=tmp_path)


def test_model_files_need_a_session_and_a_directory(tmp_path):
    async def rejected(status, stand):
        for method in ('get', 'post'):
            async with getattr(stand.browser, method)(
                    '/models/a.npz', headers={'Origin': stand.origin}) as answer:
                assert answer.status == status
    in_stand(partial(rejected, 401), Access(token='sixteen characters'), model_directory=tmp_path)
    in_stand(partial(rejected, 404))


def test_no_link_is_followed_and_no_transfer_has_no_end(tmp_path, monkeypatch):
    async def test(stand):
        (tmp_path / 'models').mkdir()
        (tmp_path / 'secret').write_text('secret')
        (tmp_path / 'models' / 'a.npz').symlink_to(tmp_path / 'secret')
        async with stand.browser.get('/models/a.npz') as answer:
            assert answer.status == 404
        head = (f'POST /models/b.npz HTTP/1.1\r\nHost: HOST\r\nOrigin: {stand.origin}\r\n'
                'Content-Length: 9\r\n\r\n')
        assert await stand.raw(head.encode()) == 408  # the body never comes
        monkeypatch.setattr(server, 'MAX_TRANSFERS', 0)
        assert await stand.raw(head.encode()) == 503
        assert list((tmp_path / 'models').iterdir()) == [tmp_path / 'models' / 'a.npz']
    monkeypatch.setattr(server, 'TRANSFER_TIME', 0.05)
    in_stand(test, model_directory=tmp_path / 'models')


@pytest.mark.parametrize('name', [
    '..%2F..%2Fetc%2Fpasswd', '..%5Cb', '.hidden.npz', 'a%00', 'a%0d%0aX: y', '%1b[2J',
    '%E2%80%AE', 'x' * 300, '%F0%9F%98%80' * 60, '', '..', 'a/b.npz'])
@pytest.mark.parametrize('method', ['GET', 'POST'])
def test_every_name_of_a_model_file_has_bounds(tmp_path, method, name):
    async def test(stand):
        status = await stand.raw(f'{method} /models/{name} HTTP/1.1\r\nHost: HOST\r\nOrigin: '
                                 f'{stand.origin}\r\nContent-Length: 0\r\n\r\n'.encode())
        assert status in (400, 404, 405), status
        assert stand.actions.asked == [] and not list(tmp_path.iterdir())
    in_stand(test, model_directory=tmp_path)


@pytest.mark.parametrize('who', ['a\x1b[2J', 'a\nb', 'a\x00', '\u202eb', 'x' * 201])
def test_the_name_of_who_uploads_has_bounds(tmp_path, who):
    async def test(stand):
        async with stand.browser.post(
                '/models/a.npz', params={'who': who},
                headers={'Origin': stand.origin}) as answer:
            assert answer.status == 400 and 'who' in await answer.text()
    in_stand(test, model_directory=tmp_path)
