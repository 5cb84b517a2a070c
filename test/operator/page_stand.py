# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A dashboard before a small classifier inside the test: no ROS, ready in a second."""

import asyncio
import threading
import time

import cv2
import numpy as np
from ros_process import DEADLINE
from web_stand import Stand

from proemlc_ros.features.sensor_arrays import jpeg_of
from proemlc_ros.operator.actions import (
    ActionResult,
    HistoryLine,
    HistoryList,
    SampleList,
    learn_truth,
)
from proemlc_ros.operator.classifier_view import ChainPart, SourceState
from proemlc_ros.operator.recent import CameraPicture
from proemlc_ros.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    QueryReason,
    SampleOrder,
    StampedPrediction,
    StampedVector,
    TaughtSample,
)
from proemlc_ros.regions import OWN_BOXES, Region

COLOURS = {'nothing': (90, 90, 90), 'cup': (200, 40, 40), 'plate': (240, 240, 240),
           'plant': (30, 160, 60)}


class NearestClassifier:
    """Predicts the labels of the nearest taught vector; keeps samples and steps of undo."""

    def __init__(self, view):
        self.view = view
        self.samples_taught, self.steps, self.undone = {}, [], []
        self.scene, self.unsure, self.answering = 'nothing', False, asyncio.Event()
        self.still = False  # whether nothing moves, so that each picture is a copy of the last
        self.flickering = False  # whether another label comes and goes with every picture
        self.answering.set()
        self.asked, self.unpictured = [], set()
        self.taken_for = {}  # by label, the one that it is expected to be
        self.stamp = time.time_ns()
        self._random = np.random.default_rng(0)

    # ----- the stream -----

    def see(self):
        """Return vector, prediction and picture of what is before the camera now."""
        self.stamp += 50_000_000
        values = self._random.normal(0, 0 if self.still else .05, len(COLOURS)).astype(np.float32)
        values[list(COLOURS).index(self.scene)] += 1
        vector = StampedVector(self.stamp, values, 'test/1')
        pixels = np.full((240, 320, 3), 60, np.uint8)
        cv2.circle(pixels, (160, 120), 70, COLOURS[self.scene], -1)
        return vector, self._prediction(vector), CameraPicture(
            self.stamp, jpeg_of(pixels), (320, 240))

    def _prediction(self, vector):
        names = self.names
        near = min(self.samples_taught.values(), default=None, key=lambda one: float(
            np.linalg.norm(one.features - vector.data)))
        far = near is None or float(np.linalg.norm(near.features - vector.data)) > .8
        predicted = () if far else near.labels
        if self.flickering:
            predicted = dict.fromkeys((*predicted, names[vector.stamp // 50_000_000 % 9]))
        shares = [(.43 if self.unsure else .95) if name in predicted else .03 for name in names]
        return StampedPrediction(
            vector.stamp, tuple(predicted), np.array(shares, np.float32) * 2 - 1,
            .99 if far else .1, self.version, unknown=far and bool(names),
            probabilities=np.array(shares, np.float32))

    @property
    def names(self):
        return tuple(dict.fromkeys(name for one in self.samples_taught.values()
                                   for name in one.labels))

    version = 0

    def publish(self):
        self.version += 1
        names = self.names
        counts = tuple(sum(name in one.labels for one in self.samples_taught.values())
                       for name in names)
        self.view.on_labels(LabelState(
            names, counts, (0.0,) * len(names), len(self.samples_taught), self.version,
            judged=len(self.samples_taught), right=1.0, judged_counts=counts,
            recalls=tuple(float(name not in self.taken_for) for name in names)))

    def ask_about(self, label=''):
        vector, _, picture = self.see()
        self.view.on_query(Query(vector, 'new', (), (), .9, QueryReason.NOVEL, label))
        return picture

    # ----- services -----

    async def annotate(self, annotation, request_id=''):
        self.asked.append(annotation)
        number = len(self.steps) + 1
        self.samples_taught[number] = annotation
        burst = request_id.rpartition(':')[0]
        self._step(number, annotation.text, annotation.annotator, burst,
                   lambda: self.samples_taught.pop(number))
        self.view.on_learnt(annotation)
        self.publish()
        return ActionResult(True, 'learnt')

    def _step(self, number, text, who, group, undo):
        self.steps.append((HistoryLine(number, time.time(), text, who, group=group), undo))

    async def change_samples(self, who, numbers, labels, remove):
        await self.answering.wait()
        before = {number: self.samples_taught[number] for number in numbers}
        for number in numbers:
            del self.samples_taught[number]
            if not remove:
                self.samples_taught[number] = before[number]._replace(labels=labels)
        self._step(1000 + len(self.steps), f'changed {len(numbers)} samples', who, '',
                   lambda: self.samples_taught.update(before))
        self.view.on_event(Event(EventKind.RELABEL, sample=numbers[0], labels=labels,
                                 annotator=who))
        self.publish()
        return ActionResult(True, f'changed {len(numbers)} samples')

    async def turn(self, who, undo, steps, mine):
        await self.answering.wait()
        while self.steps and self.steps[-1][0].number in steps:
            self.steps.pop()[1]()
        self.view.on_event(Event(EventKind.UNDO, sample=steps[0], annotator=who))
        self.publish()
        return ActionResult(True, 'took back')

    async def history(self, who, mine, offset, limit):
        lines = [line for line, _ in reversed(self.steps)]
        group = lines[:1] if not lines or not lines[0].group else [
            line for line in lines if line.group == lines[0].group]
        return HistoryList(len(lines), lines[:limit], group, [])

    async def samples(self, choice):
        numbers = [number for number, one in reversed(self.samples_taught.items())
                   if not choice.label or choice.label in one.labels]
        doubt = .1 if choice.order is SampleOrder.DOUBTFUL else float('nan')
        if choice.order is SampleOrder.DOUBTFUL:
            numbers.sort(key=lambda one: self.samples_taught[one].labels[:1] not in [
                (name,) for name in self.taken_for])
        return SampleList(len(numbers), [TaughtSample(
            number, time.time_ns(), self.samples_taught[number].bare(),
            number not in self.unpictured, doubt, ''.join(
                self.taken_for.get(name, '') for name in self.samples_taught[number].labels),
            expected=tuple(self.taken_for.get(name, name)
                           for name in self.samples_taught[number].labels))
            for number in numbers[choice.offset:][:choice.limit]], ['ann'])

    def source_is(self, names, position=0):
        """Have pictures in folders that are named by what they show, as `teach --images`."""
        self.pictures = names
        self.scene = names[position].split('/')[0]
        self.view.on_source(SourceState('images', names[position], position, len(names), False,
                                        since=self.stamp + 1))

    async def control_source(self, command, position, things):
        at = self.view.source.position
        self.source_is(self.pictures, {'step': at + 1, 'back': at - 1, 'seek': position}.get(
            command, at) % len(self.pictures))
        return ActionResult(True, '')

    async def picture(self, number):
        pixels = np.full((300, 100, 3), 200, np.uint8)
        return jpeg_of(pixels) if number in {*self.samples_taught} - self.unpictured else None

    async def predict(self, stamp, region=None):
        vector = self.view.vectors.find(stamp)
        return None if vector is None else self._prediction(vector)

    async def draw(self, stamp, region):
        boxes = [Region('', 80, 120, 60, 60), Region('', 240, 120, 60, 60)]
        if region == OWN_BOXES:  # a label in the first one
            for place, box in enumerate(boxes):
                self.view.regions.on_prediction(StampedPrediction(
                    stamp, () if place else self.names[:1],
                    np.full(len(self.names), -.5, np.float32), .3, self.version,
                    region=box, region_count=len(boxes),
                    probabilities=np.full(len(self.names), .25, np.float32),
                    position=None if place else (.3, .4, 1.2)))
        elif not region.is_whole:
            self.view.regions.on_vector(StampedVector(
                stamp, np.ones(4, np.float32), 'test/1', region=region, region_count=1))
            self.view.regions.on_prediction(StampedPrediction(
                stamp, (), np.full(len(self.names), -.5, np.float32), .3, self.version,
                region=region, region_count=1,
                probabilities=np.full(len(self.names), .25, np.float32)))

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)

        async def act(*arguments):
            self.asked.append((name, *arguments))
            return [] if name == 'models' else ActionResult(True, 'done')
        return act


class PageStand:
    """A dashboard in a thread of its own, and what is before the camera."""

    def __init__(self):
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete,
                                        args=(self._run(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(DEADLINE)

    async def _run(self):
        self._stop = asyncio.Event()
        self.alive = True
        stand = Stand()
        self.view = stand.view
        stand.actions = self.classifier = NearestClassifier(stand.view)
        stand.dashboard._actions = self.classifier
        async with stand.open():
            self.address = stand.origin
            self._ready.set()
            judged = None
            while not self._stop.is_set():
                if self.alive:
                    vector, prediction, picture = self.classifier.see()
                    now = time.monotonic()
                    self.view.streams.note(ChainPart.CAMERA, now)
                    stand.pictures.add(picture)
                    self.view.on_vector(vector, now)
                    self.view.on_prediction(prediction, now)
                if judged != self.view.labels:
                    judged = self.view.labels
                    await learn_truth(self.view, self.classifier)
                await asyncio.sleep(.05)

    def call(self, act, *arguments):
        """Run a function in the dashboard's loop, and return what it returns."""
        async def run():
            return act(*arguments)
        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(DEADLINE)

    def show(self, scene):
        """Put something before the camera, and return the stamp of a picture before it."""
        def act():
            self.classifier.scene = scene
            return self.classifier.stamp
        return self.call(act)

    def teach(self, label, count=1):
        """Teach samples at the classifier, as another operator would."""
        def act():
            for _ in range(count):
                vector, _, _ = self.classifier.see()
                asyncio.ensure_future(self.classifier.annotate(Annotation(
                    vector.stamp, (label,) if label else (), features=vector.data,
                    annotator='bob')))
        self.call(act)

    def close(self):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE)
