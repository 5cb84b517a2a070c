# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Looking through what was taught and correcting it, over DDS; pictures come from the camera."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')
cv2 = pytest.importorskip('cv2')

from classifier_partner import seconds_of, values_of, vector
from proemlc_ros.msg import ModelEvent
from proemlc_ros.srv import (
    ListSamples,
)
from rclpy.qos import qos_profile_sensor_data
from ros_process import DEADLINE
from sensor_msgs.msg import CompressedImage, Image

COLOURS = {'red': (200, 20, 20), 'green': (20, 200, 20), 'blue': (20, 20, 200)}
SENSORS = """
/**:
  ros__parameters:
    sensors: [camera]
    camera:
      topic: /camera/image_raw
      extractor: colour_histogram
"""


def image_of(colour: str, number: int) -> np.ndarray:
    pixels = np.full((480, 640, 3), COLOURS[colour], np.uint8)
    pixels[100:140, 10 + 20 * number:40 + 20 * number] = 255
    return pixels


class Camera:
    """Publishes pictures, raw or compressed, and a feature vector of each."""

    def __init__(self, partner, kind):
        self.partner = partner
        self.topic = '/camera/image_raw' if kind is Image else '/camera/image_raw/compressed'
        self.kind = kind
        self.publisher = partner.node.create_publisher(kind, self.topic, qos_profile_sensor_data)

    def show(self, stamp: float, colour: str, number: int) -> None:
        """Publish until the classifier has the vector."""
        self.partner.predict(stamp, values_of(number), source_topic=self.topic)
        if self.publisher.get_subscription_count():
            self.publish(stamp, colour, number)

    def publish(self, stamp: float, colour: str, number: int) -> None:
        pixels = image_of(colour, number)
        if self.kind is Image:
            message = Image(height=480, width=640, step=1920, encoding='rgb8',
                            data=pixels.tobytes())
        else:
            data = cv2.imencode('.png', pixels[:, :, ::-1])[1]
            message = CompressedImage(format='png', data=data.tobytes())
        message.header.stamp.sec = int(stamp)
        self.publisher.publish(message)


@pytest.mark.slow
@pytest.mark.parametrize('kind', [Image, CompressedImage])
def test_pictures_gallery_history_and_another_extractor(classifier, tmp_path, kind):
    _, partner = classifier()
    camera = Camera(partner, kind)
    camera.show(1.0, 'red', 0)
    partner.spin_until(camera.publisher.get_subscription_count, what='the classifier to listen')
    numbers = teach(partner, camera)
    assert_gallery(partner, numbers)
    assert_corrections(partner, numbers)
    assert_files(partner)
    if kind is Image:
        assert_other_extractor(partner, tmp_path)


def teach(partner, camera) -> list[int]:
    numbers = []
    for number, colour in enumerate(['red', 'green', 'blue', 'red', 'green', 'blue'], 1):
        stamp = 10.0 + number
        camera.show(stamp, colour, number)
        answer = partner.annotate(stamp, [colour], annotator='Ada' if number < 4 else 'Bob')
        assert answer.success and answer.entry > 0, answer.message
        numbers.append(answer.entry)
        # The picture may come before or after the annotation; it is kept in both cases.
        deadline = time.monotonic() + DEADLINE
        while not partner.call('get_sample', sample=answer.entry).picture:
            camera.publish(stamp, colour, number)
            assert time.monotonic() < deadline, 'no picture was kept'
    return numbers


def assert_gallery(partner, numbers) -> None:
    found = partner.call('list_samples', order=ListSamples.Request.OLDEST)
    assert found.success and found.total == 6 and list(found.annotators) == ['Ada', 'Bob']
    assert [sample.number for sample in found.samples] == numbers
    first = found.samples[0]
    assert first.has_picture and first.labels == ['red'] and first.annotator == 'Ada'
    assert seconds_of(partner_header(first.stamp)) == 11.0 and np.isnan(first.doubt)
    sample = partner.call('get_sample', sample=numbers[2])
    assert sample.success and sample.format == 'jpeg' and len(sample.picture) < 20_000
    pixels = cv2.imdecode(np.frombuffer(bytes(sample.picture), np.uint8), cv2.IMREAD_COLOR)
    assert max(pixels.shape) == 320
    np.testing.assert_allclose(pixels[200, 160, ::-1], COLOURS['blue'], atol=12)
    by_doubt = partner.call('list_samples', order=ListSamples.Request.DOUBTFUL, label='blue',
                            annotator='Bob', by_annotator=True)
    assert [sample.number for sample in by_doubt.samples] == [numbers[5]]
    assert not np.isnan(by_doubt.samples[0].doubt)
    assert not partner.call('get_sample', sample=4711).success


def partner_header(stamp):
    from std_msgs.msg import Header
    return Header(stamp=stamp)


def assert_corrections(partner, numbers) -> None:
    before = scores(partner)
    changed = partner.call('change_samples', samples=numbers[:2], labels=['purple'],
                           annotator='Ada')
    assert changed.success and len(changed.steps) == 2, changed.message
    several = partner.call('change_sample', samples=numbers[:2], labels=['black'])
    assert (several.success, several.message) == (
        False, 'it changes one sample; change_samples changes several')
    assert partner.call('change_sample', samples=[numbers[4], numbers[4]], remove=True,
                        annotator='Bob').success
    assert partner.call('merge_labels', label='purple', into='blue', annotator='Ada').success
    history = partner.call('list_history', mine=True, annotator='Ada')
    assert history.next_undo[0].text == "merged 'purple' into 'blue'"
    other = partner.call('undo_change', steps=[changed.steps[1]], annotator='Ada')
    assert not other.success and 'the history has changed' in other.message
    for count in (1, 2):  # What was changed by one request is one step.
        steps = partner.call('list_history', mine=True, annotator='Ada').next_undo
        assert len(steps) == count and partner.call(
            'undo_change', steps=[step.number for step in steps], mine=True,
            annotator='Ada').success
    undone = partner.call('undo_change')
    assert undone.success and f'deleted sample {numbers[4]}' in undone.message
    np.testing.assert_allclose(scores(partner), before, atol=1e-6)
    redo, = partner.call('list_history').next_redo
    assert partner.call('redo_change', steps=[redo.number]).success
    assert partner.call('undo_change').success
    partner.spin_until(lambda: len(partner.heard['events']) >= 10, what='ten events')
    kinds = [event.kind for event in partner.heard['events']]
    assert len(kinds) == 10
    assert kinds[:4] == [ModelEvent.RELABEL, ModelEvent.RELABEL, ModelEvent.DELETE,
                         ModelEvent.MERGE_LABELS]
    assert kinds[-2:] == [ModelEvent.REDO, ModelEvent.UNDO]


def assert_files(partner) -> None:
    assert partner.call('save_model', file_name='kitchen', keep_existing=True).success
    again = partner.call('save_model', file_name='kitchen', keep_existing=True)
    assert not again.success and 'exists already' in again.message
    assert 'kitchen.npz' in [file.name for file in partner.call('list_models').files]
    assert partner.call('load_model', file_name='kitchen', annotator='Ada').success
    assert partner.call('undo_change').success
    assert partner.call('list_samples').total == 6


def assert_other_extractor(partner, tmp_path) -> None:
    path = next(tmp_path.rglob('journal')).parent / 'new.yaml'
    path.write_text(SENSORS)
    answer = partner.call('reembed', sensors_file='new.yaml', annotator='Ada')
    assert answer.success and answer.samples == 6 and answer.left_out == 0, answer.message
    found = partner.call('list_samples', order=ListSamples.Request.OLDEST)
    assert [sample.labels for sample in found.samples] == [
        ['red'], ['green'], ['blue']] * 2
    assert all(sample.has_picture for sample in found.samples)
    wrong = partner.call('predict', features=vector(values_of(3)))
    assert not wrong.success  # Vectors of the earlier extractor.
    (tmp_path / 'secret.yaml').write_text('password: [')
    for name in ('', '/etc/shadow', '/nowhere.yaml', '/dev/ptmx', '../secret.yaml',
                 str(tmp_path / 'secret.yaml'), f'{tmp_path}/model/../secret.yaml', 'journal'):
        answer = partner.call('reembed', sensors_file=name)
        assert not answer.success and 'is not a parameter file' in answer.message


def scores(partner) -> np.ndarray:
    """Return the scores of some input; sorted, since a label that comes back comes last."""
    answer = partner.call('predict', features=vector(values_of(50)))
    return np.sort(answer.prediction.scores)
