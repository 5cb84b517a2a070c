# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The strangers of page_load.py, as a process: slow connections, and guesses of the token.

    python test/trials/page_strangers.py http://127.0.0.1:8642 SECONDS

Prints "begun", and at the end what came of it. Everything stays within 127.0.0.0/8.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter

SLOW, GUESSES_PER_SECOND = 200, 100
SLOW_SOURCES = tuple(f'127.0.1.{number}' for number in range(1, 9))
GUESSER = '127.0.2.1'
DEADLINE = 60.0
# Connections that are made before the end, however busy the machine is.
LEAST = 150


async def slow(origin: str, source: str, end: float, counts: Counter[str]) -> None:
    """Hold a connection by half a request, a byte per second; come back when thrown out."""
    host, port = origin.removeprefix('http://').split(':')
    while time.monotonic() < end or counts['connections'] < LEAST:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(host, port, local_addr=(source, 0))
            counts['connections'] += 1
            writer.write(b'GET / HTTP/1.1\r\nX: ')
            while time.monotonic() < end and not writer.is_closing():
                writer.write(b'x')
                await writer.drain()
                await asyncio.sleep(1.0)
            writer.transport.abort()
        await asyncio.sleep(1.0)


async def guess(origin: str, counts: Counter[str]) -> None:
    """Try a token on a connection of its own."""
    host, port = origin.removeprefix('http://').split(':')
    body = b'{"token": "a guess of somebody"}'
    try:
        reader, writer = await asyncio.open_connection(host, port, local_addr=(GUESSER, 0))
        writer.write(f'POST /sign_in HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {origin}\r\n'
                     f'Content-Length: {len(body)}\r\n\r\n'.encode() + body)
        counts[(await reader.readline()).decode().split()[1]] += 1
        writer.transport.abort()
    except (OSError, IndexError):
        counts['dropped'] += 1


async def guess_steadily(origin: str, end: float, counts: Counter[str]) -> None:
    """Guess at the rate, without waiting for answers."""
    waiting: set[asyncio.Task[None]] = set()
    begin = time.monotonic()
    number = 0
    while (now := time.monotonic()) < end:
        while number < (now - begin) * GUESSES_PER_SECOND:
            number += 1
            waiting.add(task := asyncio.create_task(guess(origin, counts)))
            task.add_done_callback(waiting.discard)
        await asyncio.sleep(0.01)
    await asyncio.wait_for(asyncio.gather(*waiting), DEADLINE)


async def attack(origin: str, seconds: float) -> Counter[str]:
    """Occupy and guess for a time; return what came of it."""
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    await asyncio.gather(
        guess_steadily(origin, end, counts),
        *(slow(origin, SLOW_SOURCES[number % len(SLOW_SOURCES)], end, counts)
          for number in range(SLOW)))
    return counts


def main() -> int:
    origin, seconds = sys.argv[1:]
    print('begun', flush=True)
    print(json.dumps(asyncio.run(attack(origin, float(seconds)))))
    return 0


if __name__ == '__main__':
    sys.exit(main())
