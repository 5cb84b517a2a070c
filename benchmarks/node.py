# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Times the classifier node over DDS against a bare rclpy echo node, in one run.

Every line is one measure; round trips are taken in turn, so that both nodes meet the same machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

import numpy as np

WIDTH = 294
BAR = 1.3


def echo_node(labels: int) -> None:
    """Be the bare node: the same messages, and nothing done with them."""
    import rclpy
    from proemlc_ros.msg import FeatureVector, Prediction
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    rclpy.init()
    node = Node('echo')
    scores = array('f', [0.0] * labels)
    publisher = node.create_publisher(Prediction, '~/predictions', qos_profile_sensor_data)

    def reply(message: FeatureVector) -> None:
        publisher.publish(Prediction(header=message.header, scores=scores))
    node.create_subscription(FeatureVector, '~/features', reply, qos_profile_sensor_data)
    print('up', flush=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


def make_model(folder: Path, hidden: int, labels: int, activation: str) -> None:
    """Write a taught model where the node resumes from."""
    from proemlc_ros.core import ProEMLC
    random = np.random.default_rng(0)
    model = ProEMLC(hidden_size=hidden, activation=activation, width=WIDTH)
    names = [f'label {number}' for number in range(labels)]
    count = max(2 * hidden, 2 * labels)
    samples = random.normal(size=(count, WIDTH))
    model.learn(samples, [[names[row % labels], names[(7 * row + 1) % labels]]
                          for row in range(count)])
    folder.mkdir(parents=True)
    model.save(folder / 'snapshot.npz', extra={'position': 0})


class Nodes:
    """The processes of one comparison; ended with the block."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *command: object) -> subprocess.Popen[str]:
        """Start a Python program."""
        process = subprocess.Popen([sys.executable, *map(str, command)], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append(process)
        return process

    def classifier(self, folder: Path, *parameters: str) -> subprocess.Popen[str]:
        """Start the classifier on a model directory."""
        options = [word for entry in (f'model_directory:={folder}', 'query_rate:=0.0',
                                      *parameters) for word in ('-p', entry)]
        return self.start('-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', *options)

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            process.send_signal(signal.SIGINT)
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


class Client:
    """Sends vectors and waits for the answers."""

    def __init__(self) -> None:
        import rclpy
        from proemlc_ros.msg import FeatureVector, Prediction
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        if not rclpy.ok():
            rclpy.init()
        self.node = rclpy.create_node('client')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.message = FeatureVector()
        self.message.data = array('f', np.random.default_rng(1).normal(size=WIDTH))
        self.received = 0
        self.predictions = 0
        self.sent = 0
        self.publishers = {}
        # Room for a burst, so that the rate is the node's and not that of lost messages.
        qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        for name in ('echo', 'proemlc'):
            self.publishers[name] = self.node.create_publisher(
                FeatureVector, f'/{name}/features', qos)
            self.node.create_subscription(
                Prediction, f'/{name}/predictions', self._receive, qos)

    def _receive(self, message: object) -> None:
        self.received = message.header.stamp.sec
        self.predictions += 1

    def listen_to_learnt(self) -> list[object]:
        """Begin the stream; return the list of what is learnt from now on."""
        from proemlc_ros.msg import LabelAnnotation
        learnt: list[object] = []
        self.node.create_subscription(
            LabelAnnotation, '/proemlc/learnt', learnt.append, 1000)
        self.annotations = self.node.create_publisher(
            LabelAnnotation, '/proemlc/annotations', 1000)
        self.annotation = LabelAnnotation(labels=['label 1'])
        while not (self.annotations.get_subscription_count()
                   and self.node.count_publishers('/proemlc/learnt')):
            self.executor.spin_once(0.1)
        self.predictions = 0
        return learnt

    def burst(self, count: int) -> None:
        """Send vectors, the last one annotated, and wait for as many answers."""
        expected = self.predictions + count
        for _ in range(count):
            self.sent += 1
            self.message.header.stamp.sec = self.sent
            self.publishers['proemlc'].publish(self.message)
        self.annotation.header.stamp.sec = self.sent
        self.annotations.publish(self.annotation)
        deadline = time.perf_counter() + 1.0
        while self.predictions < expected and time.perf_counter() < deadline:
            self.executor.spin_once(0.01)

    def drain(self) -> None:
        """Take what is still on its way."""
        deadline = time.perf_counter() + 2.0
        while time.perf_counter() < deadline:
            self.executor.spin_once(0.05)

    def ping(self, name: str, timeout: float = 1.0) -> float | None:
        """Return the seconds of one round trip, None where no answer came."""
        self.sent += 1
        self.message.header.stamp.sec = self.sent
        start = time.perf_counter()
        self.publishers[name].publish(self.message)
        while self.received != self.sent:
            self.executor.spin_once(timeout)
            if time.perf_counter() - start > timeout:
                return None
        return time.perf_counter() - start

    def connect(self, name: str) -> None:
        """Wait until a node answers."""
        deadline = time.time() + 60
        while self.ping(name, 0.2) is None:
            if time.time() > deadline:
                sys.exit(f'{name} does not answer')

    def close(self) -> None:
        """Leave the graph."""
        self.node.destroy_node()


def percentile(values: list[float], which: int) -> float:
    return float(np.percentile(values, which))


def round_trips(rounds: int, activation: str) -> None:
    for hidden in (500, 1000):
        for labels in (6, 400):
            with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch, 'model')
                make_model(folder, hidden, labels, activation)
                processes = {'echo': nodes.start(__file__, '--echo', labels),
                             'proemlc': nodes.classifier(folder)}
                client = Client()
                for name in ('echo', 'proemlc'):
                    client.connect(name)
                times: dict[str, list[float]] = {'echo': [], 'proemlc': []}
                work = {name: -processor_seconds(process.pid)
                        for name, process in processes.items()}
                for _ in range(rounds):
                    for name, taken in times.items():
                        taken.append(client.ping(name) or 1.0)
                for name, process in processes.items():
                    work[name] += processor_seconds(process.pid)
                client.close()
            echo, node = times['echo'][20:], times['proemlc'][20:]
            ratio = percentile(node, 50) / percentile(echo, 50)
            print(f'round trip, {WIDTH} features x {hidden} {activation} x {labels} labels: p50 '
                  f'{percentile(node, 50) * 1e6:.0f} us, echo {percentile(echo, 50) * 1e6:.0f} us,'
                  f' ratio {ratio:.2f} (bar {BAR}); p99 {percentile(node, 99) * 1e6:.0f} us, echo '
                  f'{percentile(echo, 99) * 1e6:.0f} us; processor time '
                  f'{work["proemlc"] / rounds * 1e6:.0f} us, echo '
                  f'{work["echo"] / rounds * 1e6:.0f} us', flush=True)


def stream(seconds: float, activation: str) -> None:
    """Send as fast as answers come, every tenth vector annotated, and watch the memory."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, 'model')
        make_model(folder, 500, 6, activation)
        process = nodes.classifier(folder, 'max_annotation_rate:=0.0', 'held_annotations:=100000',
                                   'features_depth:=100')
        client = Client()
        client.connect('proemlc')
        learnt = client.listen_to_learnt()
        begin = time.perf_counter()
        marks, sent, memory = [begin + share * seconds for share in (0.2, 1.0)], 0, []
        while marks:
            # Ten in flight keep the node busy; best effort loses what does not fit.
            client.burst(10)
            sent += 10
            if time.perf_counter() > marks[0]:
                memory.append(resident_bytes(process.pid))
                del marks[0]
        elapsed = time.perf_counter() - begin
        client.drain()
        client.close()
    print(f'stream of {elapsed:.0f} s, {WIDTH} features x 500 {activation} x 6 labels, 10 % '
          f'annotated: {client.predictions / elapsed:.0f} predictions/s of {sent / elapsed:.0f} '
          f'sent, {len(learnt) / elapsed:.0f} annotations/s learnt durably', flush=True)
    print(f'memory over that stream: {memory[0] / 1e6:.1f} MB after a fifth, '
          f'{memory[1] / 1e6:.1f} MB at the end, growth '
          f'{100 * (memory[1] / memory[0] - 1):.1f} %', flush=True)


def resident_bytes(pid: int) -> int:
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def processor_seconds(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def start_up(times: int) -> None:
    """Time from starting the process to the node being up, and the processor time it takes."""
    taken: dict[str, list[tuple[float, float]]] = {'echo': [], 'proemlc': []}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(times):
            for name, figures in taken.items():
                command = ([__file__, '--echo', '6'] if name == 'echo' else [
                    '-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', '-p',
                    f'model_directory:={scratch}/model'])
                figures.append(one_start(command))
    walls = {name: percentile([wall for wall, _ in figures], 50)
             for name, figures in taken.items()}
    works = {name: percentile([work for _, work in figures], 50)
             for name, figures in taken.items()}
    print(f'start-up: {walls["proemlc"]:.2f} s, bare rclpy node {walls["echo"]:.2f} s, ratio '
          f'{walls["proemlc"] / walls["echo"]:.2f}; processor time {works["proemlc"]:.2f} s, bare '
          f'{works["echo"]:.2f} s, ratio {works["proemlc"] / works["echo"]:.2f}', flush=True)


def one_start(command: list[str]) -> tuple[float, float]:
    """Return the seconds until a node says that it is up, and its processor seconds then."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    for line in process.stdout:
        if line.startswith('up') or 'Model directory' in line:
            break
    wall = time.perf_counter() - begin
    work = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    return wall, work


def main() -> None:
    """Print one line a measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--echo', type=int, help=argparse.SUPPRESS)
    parser.add_argument('--rounds', type=int, default=2000, help='round trips a case')
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the stream')
    parser.add_argument('--starts', type=int, default=7, help='starts of each node')
    parser.add_argument('--activation', default='laplacian', help='of the hidden neurons')
    parser.add_argument('--only', choices=('round-trips', 'stream', 'start-up'))
    arguments = parser.parse_args()
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    if arguments.echo is not None:
        echo_node(arguments.echo)
        return
    if arguments.only in (None, 'start-up'):
        start_up(arguments.starts)
    if arguments.only in (None, 'round-trips'):
        round_trips(arguments.rounds, arguments.activation)
    if arguments.only in (None, 'stream'):
        stream(arguments.seconds, arguments.activation)


if __name__ == '__main__':
    main()
