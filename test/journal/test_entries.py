# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Entries are written byte by byte as a library for ROS messages writes them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.conversions import annotation_message, event_message
from proemlc_ros.journal.entries import ENTRY_TYPES, decode, encode
from proemlc_ros.records import Annotation, Event, EventKind, Region

MESSAGES = RosbagsMessages()
TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=9)
NAMES = st.lists(TEXTS, max_size=4, unique=True).map(tuple)
NUMBERS = st.integers(0, 2**53)
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
SIZES = st.floats(0.0, 1e6)


def check(record, message):
    topic, data = encode(record)
    written = MESSAGES.serialize(message(MESSAGES, record), ENTRY_TYPES[topic - 1])
    assert data.rstrip(b'\0') == written.rstrip(b'\0') and abs(len(data) - len(written)) < 4
    return decode(((7, topic, 5, data), None)).record


@given(STAMPS, NAMES, NAMES, st.booleans(), st.integers(0, 9), TEXTS, TEXTS,
       st.builds(Region, TEXTS, SIZES, SIZES, SIZES, SIZES))
def test_annotations(stamp, labels, absent, complete, width, extractor, annotator, region):
    features = np.arange(width, dtype=np.float32) if width else None
    said = Annotation(stamp, labels, absent, complete, features, extractor, annotator, region)
    read = check(said, annotation_message)
    assert read[:4] + read[5:] == said[:4] + said[5:]
    assert np.array_equal(read.features, features) if width else read.features is None


@given(st.builds(Event, st.sampled_from(EventKind), STAMPS, TEXTS, TEXTS, TEXTS, NUMBERS, NAMES,
                 NAMES, st.booleans(), TEXTS, st.just(0)))
def test_events(event):
    assert check(event, event_message) == event
