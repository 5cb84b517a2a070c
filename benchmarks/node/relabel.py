# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""500 of 2,407 samples relabelled on the page, undone and redone, with the real nodes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from processes import Nodes, processor_seconds

sys.path.insert(0, str(Path(__file__).parents[2] / 'test'))

from browser import Page, chromium

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation

DATA = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
CHANGED, BAR = 500, 1.0
ASK = """async (limit) => {
  const { ask } = await import('./link.js');
  const { samples } = await ask('samples', { label: '', order: 'oldest', offset: 0, limit });
  return ask('change_samples', {
    samples: samples.map((one) => one.number), labels: ['bulk'], remove: false });
}"""
# Every text that the page says of the work.
LISTEN = """() => {
  window.told = [];
  const message = document.getElementById('message');
  new MutationObserver(() => window.told.push(message.textContent))
    .observe(message, { childList: true, characterData: true, subtree: true });
}"""


def relabel() -> None:
    """Print one line per step."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = Path(scratch, 'model')
        teach(folder)
        classifier = nodes.classifier(folder)
        with open(Path(scratch, 'log'), 'w+', encoding='utf-8') as log:
            dashboard = subprocess.Popen(
                [sys.executable, '-m', 'proemlc_ros.nodes.dashboard_node', '--ros-args',
                 '-p', 'port:=0'], stdout=log, stderr=log)
            nodes.running.append(dashboard)
            while not (found := re.search(r'Dashboard: (http\S+)',
                                          Path(log.name).read_text(encoding='utf-8'))):
                time.sleep(0.1)
        page = Page(browser, found[1])
        page.expect('#connection', '^connected')
        page.expect('#undo-next', '^Undo takes back')
        page.page.evaluate(LISTEN)
        processes = {'classifier': classifier.pid, 'dashboard': dashboard.pid}
        for step, act, told in (
                ('relabelled', lambda: page.page.evaluate(ASK, CHANGED), ''),
                ('undone', lambda: page.page.keyboard.press('u'), 'took back: relabelled'),
                ('redone', lambda: page.page.click('#history-redo'), 'made again: relabelled')):
            page.expect('#undo-next', 'relabelled' if step == 'undone' else 'taught')
            before = {name: processor_seconds(pid) for name, pid in processes.items()}
            began = time.perf_counter()
            act()
            if told:
                page.expect('#message', told)
            seconds = time.perf_counter() - began
            used = ', '.join(f'{name} {processor_seconds(pid) - before[name]:.2f} s'
                             for name, pid in processes.items())
            print(f'{CHANGED} samples {step} on the page: {seconds:.2f} s (bar {BAR} s, quiet; '
                  f'load {os.getloadavg()[0]:.1f}); of a processor: {used}', flush=True)
        for text in dict.fromkeys(page.page.evaluate('window.told')):
            print(f'told: {text}')


def teach(folder: Path) -> None:
    """Teach Scene as its node would have, and write a snapshot."""
    data = find_dataset(DATA, 'scene')
    directory = ModelDirectory(folder)
    journal = Journal(directory.journal)
    durable = DurableModel(VersionedModel(ProEMLC()), ProEMLC, directory, journal)
    durable.learn([
        Annotation(place + 1, tuple(data.label_names[one] for one in np.flatnonzero(shown)),
                   features=np.asarray(values, np.float32))
        for place, (values, shown) in enumerate(zip(np.asarray(data.X), np.asarray(data.Y)))])
    durable.snapshot()
    journal.close()
    directory.close()
