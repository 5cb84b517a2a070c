# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures are kept with annotations, durably, and never hold one up."""

from __future__ import annotations

import numpy as np
import pytest
from durable_model_stand import MESSAGES, make_annotation, scores_of

from proemlc_ros.classifier.pictures import PictureBuffer, keep_late_picture
from proemlc_ros.classifier.review import Gallery
from proemlc_ros.errors import SampleError
from proemlc_ros.journal.check import check_directory
from proemlc_ros.records import WHOLE, Learnt, Picture, Region, SampleOrder, SampleQuery


class Source:
    """A picture of some bytes."""

    def __init__(self, name: str, nbytes: int = 1000):
        self.name = name
        self.nbytes = nbytes

    def picture(self, region: Region) -> Picture:
        if self.name == 'broken':
            raise ValueError('cut off')
        part = '' if region == WHOLE else f' at {region.center_x:g}'
        return Picture(0, 'jpeg', f'{self.name}{part}'.encode())


def stamp_of(number: int) -> int:
    return 33_000_000 * (1 + number)


def teach(durable, *numbers):
    answers = durable.learn([make_annotation(number, 'cup')._replace(stamp=stamp_of(number))
                             for number in numbers])
    assert all(isinstance(answer, Learnt) for answer in answers), answers
    return [answer.number for answer in answers]


def test_the_picture_of_an_annotation_is_in_the_journal(opened):
    durable = opened()
    durable.pictures.active = True
    for number in (0, 1, 3):
        durable.pictures.add(stamp_of(number), Source(f'picture {number}'))
    first, second, without = teach(durable, 0, 1, 2)
    fourth, = teach(durable, 3)
    assert durable.pictures.missing == 1
    # Late: the annotation is durable by then.
    due, = durable.pictures.add(stamp_of(2), Source('late'))
    assert durable.pictures.missing == 0
    assert due == (without, Picture(0, 'jpeg', b'late'))
    keep_late_picture(durable, *due)
    expected = scores_of(durable)
    again = opened()
    np.testing.assert_array_equal(scores_of(again), expected)
    assert opened.report.rejections == [] and again.position == again.journal.last_number == 8
    gallery = Gallery(again)
    found = {number: gallery.sample(number)[1].data
             for number in (first, second, without, fourth)}
    assert found == {first: b'picture 0', second: b'picture 1', without: b'late',
                     fourth: b'picture 3'}
    with pytest.raises(SampleError):
        gallery.sample(99)
    again.compact()
    report = check_directory(again.directory.path)
    assert report.problems == []


def test_the_bag_has_a_topic_of_pictures(opened):
    from rosbags.highlevel import AnyReader
    durable = opened()
    durable.pictures.active = True
    durable.pictures.add(stamp_of(0), Source('a picture'))
    teach(durable, 0)
    durable.journal.close()
    with AnyReader([durable.directory.journal], default_typestore=MESSAGES.store) as reader:
        (connection, _, data), = (message for message in reader.messages()
                                  if message[0].msgtype == 'sensor_msgs/msg/CompressedImage')
        assert connection.topic == '/proemlc/pictures'
        message = reader.deserialize(data, connection.msgtype)
    assert (message.format, bytes(message.data)) == ('jpeg', b'a picture')


def test_a_broken_or_missing_picture_refuses_nothing(opened):
    durable = opened()
    teach(durable, 0)  # No pictures at all.
    durable.pictures.active = True
    durable.pictures.add(stamp_of(1), Source('broken'))
    number, = teach(durable, 1)
    assert Gallery(durable).sample(number)[1] is None
    assert durable.pictures.missing == 1


def test_the_buffer_is_bounded_and_keeps_old_pictures_small():
    buffer = PictureBuffer(max_bytes=10_000)
    buffer.active = True
    for number in range(2000):
        buffer.add(number * 10**9, Source(f'{number}'))
    region = Region('', 7.0, 1.0, 2.0, 2.0)
    newest = make_annotation(0)._replace(stamp=1999 * 10**9, region=region)
    assert buffer.find(newest).data == b'1999 at 7'
    assert buffer.find(newest._replace(stamp=1900 * 10**9)).data == b'1900'
    assert buffer.find(newest._replace(stamp=0)) is None
    near = newest._replace(stamp=1998 * 10**9 + 2_000_000)
    assert buffer.find(near).data == b'1998 at 7'


def test_lists_by_label_person_time_and_doubt(opened):
    durable = opened()
    rng = np.random.default_rng(0)
    numbers = []
    for number in range(40):
        side = 1.0 if number % 2 else -1.0
        features = (side + 0.1 * rng.normal(size=12)).astype(np.float32)
        label = 'left' if (side < 0) != (number == 17) else 'right'  # One is wrong.
        learnt, = durable.learn([make_annotation(number, label)._replace(
            features=features, annotator='Ada' if number < 10 else 'Bob')])
        numbers.append(learnt.number)
    gallery = Gallery(durable)
    page = gallery.page(SampleQuery(order=SampleOrder.DOUBTFUL, limit=5))
    assert page.total == 40 and page.annotators == ['Ada', 'Bob']
    worst = page.samples[0]
    assert worst.number == numbers[17] and worst.doubt > 0
    assert worst.annotation.labels == ('left',) and worst.expected == ('right',)
    assert all(sample.doubt < worst.doubt for sample in page.samples[1:])
    newest = gallery.page(SampleQuery(label='left', annotator='Ada', limit=2, offset=1))
    assert [sample.number for sample in newest.samples] == [numbers[6], numbers[4]]
    oldest = gallery.page(SampleQuery(order=SampleOrder.OLDEST, limit=1))
    assert oldest.samples[0].number == numbers[0]
