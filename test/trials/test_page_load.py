# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial of the page under load in a small form: without ROS, one short window."""

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip('aiohttp')
pytestmark = pytest.mark.slow
sys.path[:0] = [str(Path(__file__).parents[1] / 'operator')]

from page_load import TOKEN, Trial
from web_stand import Stand

from proemlc_ros.operator.web.guard import Access


async def see_things(stand):
    stamp = 0
    while True:
        stamp += 1
        stand.see(stamp)
        await asyncio.sleep(0.04)


def test_operator_teaches_and_comes_in_beside_slow_connections_and_guesses(measured):
    async def run():
        async with Stand(Access('127.0.0.1', TOKEN)).open() as stand:
            seeing = asyncio.create_task(see_things(stand))
            trial = Trial(stand.origin, 0)
            await trial.run(rounds=1, seconds=1.0)
            seeing.cancel()
            return trial, stand.warnings

    trial, warnings = asyncio.run(run())
    assert trial.loaded and trial.strangers['429'] > 0
    assert trial.came_in['in'] == trial.came_in['tried'] > 0, trial.report()
    assert trial.strangers['connections'] > 100
    assert {kind for kind, _ in warnings} <= {'wrong token', 'http'}
    measured(f'page: p95 of annotate under load {trial.ratio:.2f} times that of quiet')
