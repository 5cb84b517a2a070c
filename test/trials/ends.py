# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM in the middle of long work: the node ends in time, and nothing acknowledged is lost.

    python test/trials/ends.py --rounds 100 --only reembed change renewal

Each round copies a taught model directory, starts a node on it, begins the work, teaches beside it
and sends SIGTERM at a random moment of the work. Afterwards the journal must have everything that
was acknowledged, the work must be done or not begun, and the folder must resume. `disk` needs
permission to mount. Set a ROS_DOMAIN_ID that nobody else uses.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill_harness import NodeLives, open_durable
from ros_process import DEADLINE, RosProcess

from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, EventKind, Learnt, Picture

WIDTH = 16
SETTINGS = {'hidden_size': 100, 'activation': 'relu', 'scaling': 'none', 'ridge': 1.0, 'seed': 3}
# Seconds from the signal within which a node promises to have ended.
PROMISED = 5.0
# Seconds that the work is given to end by itself, once.
PATIENCE = 300.0
# Seconds between annotations that are taught beside the work.
PAUSE = 0.02
PAGES = 50
SENSORS = """
/**:
  ros__parameters:
    sensors: [camera]
    camera: {topic: /camera/image_raw, extractor: colour_histogram}
"""


def new_learner() -> ProEMLC:
    return ProEMLC(**SETTINGS)


def taught_folder(folder: Path, samples: int, pictures: bool = False) -> Path:
    """Make a model directory with so many samples, a saved model and a file for reembed."""
    durable = open_durable(folder, new_learner, 100_000_000)
    dice = np.random.default_rng(samples)
    if pictures:
        import cv2
        durable.pictures.active = True
        durable.pictures.find = lambda annotation: Picture(
            annotation.stamp, 'jpeg', cv2.imencode('.jpg', cv2.resize(dice.integers(
                0, 255, (12, 16, 3), np.uint8), (320, 240)))[1].tobytes())
    for start in range(1, samples + 1, 500):
        learnt = durable.learn([
            Annotation(number, (f'label {number % 5}',),
                       features=dice.normal(number % 5, 2.0, WIDTH).astype(np.float32))
            for number in range(start, min(start + 500, samples + 1))])
        assert all(isinstance(one, Learnt) for one in learnt), learnt
    durable.save('kitchen')
    durable.snapshot()
    durable.journal.close()
    durable.directory.close()
    (folder / 'sensors.yaml').write_text(SENSORS)
    return folder


@dataclass
class Client:
    """Calls the classifier's services, and notes what is acknowledged.

    Args:
        context: of rclpy, of this life alone: an earlier one knows servers that are gone.
    """

    context: Any
    acknowledged: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    _clients: dict[str, Any] = field(default_factory=dict)
    _waiting: list[Any] = field(default_factory=list)
    _sent: int = 0
    _next: float = 0.0

    def __post_init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        self.node = rclpy.create_node('ending', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def call(self, service: str, type_name: str, **fields: Any) -> Any:
        """Send a request and return its future."""
        import proemlc_ros.srv
        from std_srvs.srv import Trigger
        kind = Trigger if type_name == 'Trigger' else getattr(proemlc_ros.srv, type_name)
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, f'/proemlc/{service}')
            assert self._clients[service].wait_for_service(DEADLINE), service
        return self._clients[service].call_async(kind.Request(**fields))

    def teach(self) -> None:
        """Have one annotation under way, and note those that were answered.

        A pause between them leaves the processor to the work.
        """
        from proemlc_ros.msg import LabelAnnotation
        now = time.monotonic()
        if now < self._next or self._waiting and not self._waiting[-1][1].done():
            return
        self._sent += 1
        self._next = now + PAUSE
        tag = f'taught {self._sent}'
        self._waiting.append((tag, self.call('annotate', 'Annotate', annotation=LabelAnnotation(
            labels=['late'], features=array('f', np.full(WIDTH, self._sent / 100)),
            annotator=tag))))

    def spin(self) -> None:
        """Receive what has come, for a short time."""
        self.executor.spin_once(0.01)
        for tag, future in [one for one in self._waiting if one[1].done()]:
            self._waiting.remove((tag, future))
            self.answers['taught' if future.result().success else 'rejected'] += 1
            if future.result().success:
                self.acknowledged.append(tag)

    def close(self) -> None:
        self.executor.shutdown()
        self.context.try_shutdown()


# ----- the kinds of work: begin, then what the journal and the folder must hold -----


def begin_reembed(client: Client, numbers: list[int]) -> Any:
    return client.call('reembed', 'Reembed', sensors_file='sensors.yaml')


def begin_change(client: Client, numbers: list[int]) -> Any:
    return client.call('change_samples', 'ChangeSamples', samples=numbers, labels=['plate'],
                       annotator='bulk')


def begin_renewal(client: Client, numbers: list[int]) -> Any:
    return client.call('renew', 'Trigger')


def begin_load(client: Client, numbers: list[int]) -> Any:
    return client.call('load_model', 'LoadModel', file_name='kitchen')


def begin_save(client: Client, numbers: list[int]) -> Any:
    return client.call('save_model', 'SaveModel', file_name='saved')


def begin_flood(client: Client, numbers: list[int]) -> Any:
    from proemlc_ros.msg import LabelAnnotation
    publisher = client.node.create_publisher(LabelAnnotation, '/proemlc/annotations', 5000)
    client.node.create_subscription(
        LabelAnnotation, '/proemlc/learnt',
        lambda message: client.acknowledged.append(message.annotator), 5000)
    end = time.monotonic() + DEADLINE
    while not publisher.get_subscription_count() and time.monotonic() < end:
        client.spin()
    for number in range(5000):
        publisher.publish(LabelAnnotation(
            labels=['late'], annotator=f'flood {number}',
            features=array('f', np.full(WIDTH, number / 1000))))
    return None


def whole_change(table: SampleTable, done: bool, folder: Path) -> None:
    labels = Counter(one.labels for one in table.samples.values())
    others = labels.keys() - {('plate',), ('late',)}
    assert bool(others) != bool(labels['plate',]), f'some are changed: {labels}'
    assert labels['plate',] or not done, 'the change was acknowledged and is lost'


def whole_reembedding(table: SampleTable, done: bool, folder: Path) -> None:
    made = {one.extractor for one in table.samples.values()}
    assert len(made) == 1, f'samples of several extractors: {made}'
    assert not done or made != {''}, 'the re-embedding was acknowledged and is lost'


def whole_file(table: SampleTable, done: bool, folder: Path) -> None:
    path = folder / 'saved.npz'
    assert path.exists() or not done, 'the file was acknowledged and is lost'
    if path.exists():
        ProEMLC.load(path)


def renewed(table: SampleTable, done: bool, folder: Path) -> None:
    """Whatever model is in force, it knows the samples; that is checked for every kind."""


def loaded(table: SampleTable, done: bool, folder: Path) -> None:
    loads = [step for step in table.steps.values() if step.kind is EventKind.LOAD]
    assert loads or not done, 'the load was acknowledged and is lost'


@dataclass(frozen=True)
class Work:
    """One kind of work.

    Args:
        samples: of the model.
        begin: sends the request; returns its future, None where it has none.
        check: looks whether the work is whole; is given the table, whether it was acknowledged
            and the folder.
        pictures: whether the samples have pictures.
        beside: whether annotations are taught meanwhile.
        full: whether the disk is full.
    """

    samples: int
    begin: Callable[[Client, list[int]], Any]
    check: Callable[[SampleTable, bool, Path], None] = renewed
    pictures: bool = False
    beside: bool = True
    full: bool = False


KINDS = {
    # An annotation without a picture would end the re-embedding.
    'reembed': Work(2_000, begin_reembed, whole_reembedding, pictures=True, beside=False),
    'change': Work(10_000, begin_change, whole_change),
    'renewal': Work(500, begin_renewal),
    'load': Work(10_000, begin_load, loaded),
    'save': Work(10_000, begin_save, whole_file),
    'flood': Work(500, begin_flood, beside=False),
    'disk': Work(500, begin_save, whole_file, full=True),
}


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """Mount a small disk on a folder; yield what fills it."""
    folder.mkdir(exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], check=True)

    def fill() -> None:
        with contextlib.suppress(OSError), (folder / 'filler').open('wb', buffering=0) as stream:
            while True:
                stream.write(bytes(4096))
    try:
        yield fill
    finally:
        subprocess.run(['umount', '-l', folder], check=True)


class Ends:
    """Rounds of one kind of work.

    Args:
        kind: one of KINDS.
        scratch: folder to work in.
        seed: of the moments.
        samples: of the model; 0: as many as the kind has.
    """

    def __init__(self, kind: str, scratch: Path, seed: int = 1, samples: int = 0) -> None:
        self.work = KINDS[kind]
        self.times: list[float] = []
        self.counts: Counter[str] = Counter()
        self._scratch = scratch
        self._dice = random.Random(seed)
        self._template = taught_folder(
            scratch / 'template', samples or self.work.samples, self.work.pictures)
        self._numbers = list(self._table(self._template).samples)[:10_000]
        self._longest = 0.0

    def run(self, rounds: int) -> str:
        """Let the work end once, then end the node that often; return one line for people."""
        self._round(interrupt=False)
        for number in range(1, rounds + 1):
            self._round(interrupt=True)
            if number % 10 == 0 and number < rounds:
                print(self._report(), flush=True)
        return self._report()

    def _report(self) -> str:
        late = sum(seconds > PROMISED for seconds in self.times)
        return (f'{len(self.times)} ends, {self.counts["interrupted"]} of them amid the work '
                f'({self._longest:.1f} s): median {np.median(self.times):.2f} s, longest '
                f'{max(self.times):.2f} s, {late} later than {PROMISED:g} s; '
                f'{self.counts["acknowledged"]} annotations and {self.counts["done"]} works '
                'acknowledged, none lost')

    def _round(self, interrupt: bool) -> None:
        import rclpy
        with contextlib.ExitStack() as stack:
            scratch = self._scratch / 'round'
            fill = stack.enter_context(full_disk(scratch)) if self.work.full else None
            folder = scratch / 'model'
            shutil.copytree(self._template, folder)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            lives = NodeLives(folder, **{**SETTINGS, 'renewal': 'manual', 'held_annotations': 500,
                                         'max_annotation_rate': 0.0})
            lives.start()
            stack.callback(lives.kill)
            context = rclpy.Context()
            context.init()
            client = Client(context)
            stack.callback(client.close)
            if fill is not None and interrupt:
                fill()
            work = self._let_work(client, interrupt)
            seconds = self._end(lives, client)
            done = work is not None and work.done() and work.result().success
            if interrupt:
                self.times.append(seconds)
                self.counts['interrupted'] += work is None or not work.done() or not done
                self.counts['done'] += done
                self.counts['acknowledged'] += len(client.acknowledged)
            else:
                assert done or work is None, f'the work failed: {work and work.result()}'
            if fill is not None and interrupt:
                (scratch / 'filler').unlink()
            self._check(folder, client.acknowledged, done)

    def _let_work(self, client: Client, interrupt: bool) -> Any:
        """Begin the work and teach beside it, until it ends or for a part of its time."""
        if self.work.beside:
            client.teach()  # Makes its client before the work takes the processor.
        work = self.work.begin(client, self._numbers)
        begun = time.monotonic()
        end = begun + (self._dice.random() * self._longest if interrupt else PATIENCE)
        while time.monotonic() < end and not (
                not interrupt and (work is None or work.done())):
            if self.work.beside:
                client.teach()
            client.spin()
        if not interrupt:
            self._longest = max(time.monotonic() - begun, 0.2)
        return work

    def _end(self, lives: NodeLives, client: Client) -> float:
        """Send SIGTERM; return the seconds until the process has ended."""
        assert lives.process is not None
        lives.process.process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        while lives.process.running:
            client.spin()
            assert time.monotonic() < begun + DEADLINE, lives.output
        seconds = time.monotonic() - begun
        for _ in range(20):  # Answers that are still on their way.
            client.spin()
        code = lives.process.process.returncode
        assert code == 0, f'ended with {code}: {lives.output}'
        return seconds

    @staticmethod
    def _table(folder: Path) -> SampleTable:
        journal = Journal(folder / 'journal', read_only=True)
        return SampleTable().follow(journal.entries())

    def _check(self, folder: Path, acknowledged: list[str], done: bool) -> None:
        durable = open_durable(folder, new_learner, 100_000_000)
        try:
            found = Counter(entry.record.annotator for entry in durable.journal.entries()
                            if isinstance(entry.record, Annotation))
            lost = [tag for tag in acknowledged if not found[tag]]
            assert not lost, f'acknowledged and lost: {lost}'
            assert not [tag for tag in acknowledged if found[tag] > 1], 'learnt twice'
            table = durable.reading()
            assert durable.model.learner.samples == len(table.samples)
            self.work.check(table, done, folder)
        finally:
            durable.directory.close()


async def end_with_pages(folder: Path, pages: int = PAGES) -> float:
    """End a dashboard with open pages by SIGTERM; return the seconds that it took."""
    import aiohttp
    with RosProcess(('classifier_node', '--ros-args', '-p', f'model_directory:={folder}/model'),
                    folder), \
            RosProcess(('dashboard_node', '--ros-args', '-p', 'port:=0', '-p',
                        f'max_pages:={pages}', '-p', f'max_client_connections:={2 * pages}'),
                       folder) as dashboard:
        found = await asyncio.to_thread(dashboard.wait_for, r'Dashboard: (http://\S+)/')
        async with aiohttp.ClientSession(found[1], headers={'Origin': found[1]}) as browser, \
                contextlib.AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(browser.ws_connect('/ws'))
                       for _ in range(pages)]
            for socket in sockets:
                await socket.receive()
            dashboard.process.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            while dashboard.running:
                await asyncio.sleep(0.01)
            seconds = time.monotonic() - begun
        assert dashboard.process.returncode == 0, dashboard.output
        return seconds


def run_pages(rounds: int, scratch: Path, pages: int = PAGES) -> str:
    """End dashboards with open pages; return one line for people."""
    times = [asyncio.run(end_with_pages(scratch, pages)) for _ in range(rounds)]
    return (f'{rounds} ends of a dashboard with {pages} pages: median {np.median(times):.2f} s, '
            f'longest {max(times):.2f} s, {sum(one > PROMISED for one in times)} later than '
            f'{PROMISED:g} s')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', nargs='+', choices=[*KINDS, 'pages'],
                        default=[*KINDS, 'pages'])
    parser.add_argument('--samples', type=int, default=0, help='of the model; 0: by kind')
    arguments = parser.parse_args()
    for kind in arguments.only:
        with tempfile.TemporaryDirectory() as scratch:
            line = (run_pages(arguments.rounds, Path(scratch)) if kind == 'pages' else
                    Ends(kind, Path(scratch), arguments.seed, arguments.samples).run(
                        arguments.rounds))
        print(f'{kind}: {line}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
