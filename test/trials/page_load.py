# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teaches from the page while strangers occupy it, and compares the latency with that of quiet.

    python test/trials/page_load.py --rounds 5

Classifier and dashboard are processes of their own, and so are the strangers: 200 slow connections
that send a byte per second, and 100 guesses of the token per second, from other loopback
addresses, all at the same priority. Quiet and loaded windows alternate, so that the load of the
machine hits both.
Everything stays within 127.0.0.0/8 and is bounded in number and time. Set a ROS_DOMAIN_ID that
nobody else uses.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from page_strangers import GUESSER
from ros_process import RosProcess

STRANGERS = Path(__file__).with_name('page_strangers.py')
TOKEN = 'a-token-that-nobody-guesses'
# Seconds between two annotations of the operator.
PACE = 0.05
DEADLINE = 60.0


# --- the operator --------------------------------------------------------------------------------

class Operator:
    """A page in the hand of the rightful operator.

    Args:
        origin: address of the dashboard.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self.stamp = ''
        self.seen = asyncio.Event()

    @contextlib.asynccontextmanager
    async def signed_in(self, source: str = '127.0.0.1') -> Any:
        """Present the token, open the page, and receive until the block ends."""
        headers = {'Origin': self._origin}
        async with aiohttp.ClientSession(
                self._origin, headers=headers, cookie_jar=aiohttp.CookieJar(unsafe=True),
                connector=aiohttp.TCPConnector(local_addr=(source, 0))) as browser:
            async with browser.post('/sign_in', json={'token': TOKEN}) as answer:
                answer.raise_for_status()
            async with browser.ws_connect('/ws') as self._socket:
                receiver = asyncio.create_task(self._receive())
                try:
                    yield self
                finally:
                    receiver.cancel()

    async def _receive(self) -> None:
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            content = json.loads(message.data)
            if content['type'] == 'prediction':
                self.stamp = content['stamp']
                self.seen.set()
            if content['type'] == 'reply':
                self._answers.pop(content['id']).set_result(content)

    async def annotate(self, label: str) -> float:
        """Teach what is shown; return the seconds until it was learnt and durable."""
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        before = time.perf_counter()
        await self._socket.send_json({
            'id': self._number, 'do': 'annotate', 'stamp': self.stamp, 'labels': [label],
            'complete': True})
        reply = await asyncio.wait_for(answer, DEADLINE)
        if not reply['done']:
            raise AssertionError(f'not learnt: {reply["message"]}')
        return time.perf_counter() - before

    async def begin(self) -> None:
        """Wait until something is shown and the classifier takes the first annotation."""
        await asyncio.wait_for(self.seen.wait(), DEADLINE)
        end = time.monotonic() + DEADLINE
        while True:  # The dashboard may have found its topics before its services.
            try:
                await self.annotate('label 0')
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(PACE)

    async def teach(self, seconds: float) -> list[float]:
        """Teach at a steady pace for a time; return the latencies."""
        end = time.monotonic() + seconds
        latencies = []
        while time.monotonic() < end:
            latencies.append(await self.annotate(f'label {len(latencies) % 5}'))
            await asyncio.sleep(PACE)
        return latencies


async def come_in(origin: str, seconds: float, source: str) -> Counter[str]:
    """Sign in and open another page again and again, until it shows something."""
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counts['tried'] += 1
        try:
            async with Operator(origin).signed_in(source) as another:
                await asyncio.wait_for(another.seen.wait(), DEADLINE)
            counts['in'] += 1
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            counts[f'{source}: {error!r}'] += 1
        await asyncio.sleep(0.2)
    return counts


# --- the trial -----------------------------------------------------------------------------------

class Trial:
    """Quiet and loaded windows, and what was measured in them.

    Args:
        origin: address of the dashboard.
        process: number of the dashboard's process; 0: this one.
    """

    def __init__(self, origin: str, process: int) -> None:
        self.origin = origin
        self.quiet: list[float] = []
        self.loaded: list[float] = []
        self.strangers: Counter[str] = Counter()
        self.came_in: Counter[str] = Counter()
        self.most_files = 0
        self.cpu: dict[str, list[float]] = {'quiet': [], 'loaded': []}
        self._process = process or os.getpid()

    @contextlib.contextmanager
    def _measured_cpu(self, name: str) -> Any:
        begin, before = time.monotonic(), self._cpu_seconds()
        yield
        self.cpu[name].append((self._cpu_seconds() - before) / (time.monotonic() - begin))

    def _cpu_seconds(self) -> float:
        fields = Path(f'/proc/{self._process}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    async def run(self, rounds: int, seconds: float) -> None:
        """Alternate quiet and loaded windows."""
        async with Operator(self.origin).signed_in() as operator:
            await operator.begin()
            await operator.teach(0.5)  # the first annotations make the model
            for _ in range(rounds):
                with self._measured_cpu('quiet'):
                    self.quiet += await operator.teach(seconds)
                await self._load(operator, seconds)

    async def _load(self, operator: Operator, seconds: float) -> None:
        # The strangers begin a second earlier, and end later, than what is measured.
        process = await asyncio.create_subprocess_exec(
            sys.executable, STRANGERS, self.origin, str(1.5 * seconds + 2.0),
            stdout=subprocess.PIPE)
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), DEADLINE)
        await asyncio.sleep(1.0)
        watch = asyncio.create_task(self._count_files())
        with self._measured_cpu('loaded'):
            self.loaded += await operator.teach(seconds)
        for source in ('127.0.0.1', GUESSER):
            self.came_in.update(await come_in(self.origin, seconds / 4, source))
        watch.cancel()
        output, _ = await process.communicate()
        self.strangers.update(json.loads(output))

    async def _count_files(self) -> None:
        while True:
            self.most_files = max(self.most_files, len(os.listdir(f'/proc/{self._process}/fd')))
            await asyncio.sleep(0.1)

    @property
    def ratio(self) -> float:
        """p95 of the loaded windows over that of the quiet ones."""
        return float(np.quantile(self.loaded, 0.95) / np.quantile(self.quiet, 0.95))

    def report(self) -> str:
        """Return the figures in lines."""
        lines = [f'{"":8}{"annotations":>12}{"p50 ms":>9}{"p95 ms":>9}{"max ms":>9}{"CPU":>6}']
        for name, values in (('quiet', self.quiet), ('loaded', self.loaded)):
            p50, p95 = 1000 * np.quantile(values, (0.5, 0.95))
            lines.append(f'{name:8}{len(values):12}{p50:9.1f}{p95:9.1f}{1000 * max(values):9.1f}'
                         f'{np.mean(self.cpu[name]):6.0%}')
        answers = {key: count for key, count in sorted(self.strangers.items())
                   if key != 'connections'}
        return '\n'.join([
            *lines, f'p95 loaded / quiet: {self.ratio:.2f} (bar: 2)',
            f'strangers: {self.strangers["connections"]} slow connections made, '
            f'{sum(answers.values())} guesses, answered {answers}',
            f'operator under load: {self.came_in["in"]} of {self.came_in["tried"]} times in, from '
            "an address of its own and from the guesser's",
            *(f'  not in: {key}, {count} times' for key, count in self.came_in.items()
              if key not in ('in', 'tried')),
            f'open files of the dashboard: at most {self.most_files}'])


@contextlib.contextmanager
def nodes(folder: Path) -> Any:
    """Start classifier, camera and dashboard; yield the dashboard and its address."""
    player = Path(__file__).parents[1] / 'nodes' / 'scene_player.py'
    (folder / 'token').write_text(TOKEN)
    parameters = (f'token_file:={folder / "token"}', 'port:=0', 'address:=127.0.0.1')
    with RosProcess(('python', player), folder), \
            RosProcess(('classifier_node', '--ros-args', '-p', f'model_directory:={folder}/model',
                        '-p', 'hidden_size:=500'), folder), \
            RosProcess(('dashboard_node', '--ros-args', *(
                part for one in parameters for part in ('-p', one))), folder) as dashboard:
        origin = dashboard.wait_for(r'Dashboard: (http://\S+)/', DEADLINE)[1]
        yield dashboard, origin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=5, help='quiet and loaded windows')
    parser.add_argument('--seconds', type=float, default=8.0, help='of each window')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, nodes(Path(folder)) as (dashboard, origin):
        trial = Trial(origin, dashboard.process.pid)
        asyncio.run(trial.run(options.rounds, options.seconds))
        print(trial.report())
        print(f'log of the dashboard: {len(dashboard.output)} bytes, '
              f'{dashboard.output.count("Traceback")} tracebacks')
    return 0 if trial.ratio <= 2 and trial.came_in['in'] == trial.came_in['tried'] else 1


if __name__ == '__main__':
    sys.exit(main())
