# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model directory written by an earlier version: its journal reads, and its model resumes.

`data/earlier_model_directory` was left by a killed process: a journal of 42 entries (complete and
partial annotations, undo, rename, remove, load), a saved model file, a snapshot after entry 28 and
the one before it. `expected.json` was written by the same process. These files are never written
again: they stand for those on robots.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import WHOLE, Annotation, Event, EventKind, Region

DATA = Path(__file__).parent / 'data' / 'earlier_model_directory'
EXPECTED = json.loads((DATA / 'expected.json').read_text(encoding='utf-8'))


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the model directory."""
    return shutil.copytree(DATA / 'model_directory', tmp_path / 'model_directory')


def resumed(folder):
    """Resume a model directory as the node does.

    The only function here that knows how the classifier is put together.

    Returns:
        The durable model and the number of replayed entries.
    """
    from proemlc_ros.classifier.durable_model import DurableModel
    from proemlc_ros.classifier.model_directory import ModelDirectory
    from proemlc_ros.classifier.resume import resume
    from proemlc_ros.classifier.versioned_model import VersionedModel
    from proemlc_ros.core import ProEMLC

    def new_learner():
        return ProEMLC(hidden_size=16, seed=3)

    directory = ModelDirectory(folder)
    journal = Journal(directory.journal)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    report = resume(durable)
    assert (report.notes, report.rejected) == ([], 0)
    return durable, report.replayed


def as_expected(entry):
    """Return an entry as it stands in expected.json."""
    record = entry.record
    if isinstance(record, Annotation):
        fields = {**record._asdict(), 'features': record.features.tolist()}
        # Of later versions.
        assert [fields.pop(name) for name in ('request', 'region', 'entry')] == [None, WHOLE, 0]
        return {'number': entry.number, 'annotation': json.loads(json.dumps(fields))}
    fields = {**record._asdict(), 'kind': record.kind.name}
    later = ('sample', 'labels', 'absent', 'complete', 'annotator', 'entry')
    assert [fields.pop(name) for name in later] == [0, (), (), True, '', 0]
    return {'number': entry.number, 'event': fields}


def test_the_journal_reads_entry_by_entry(folder):
    journal = Journal(folder / 'journal')
    assert journal.repairs == []
    assert [as_expected(entry) for entry in journal.entries()] == EXPECTED['entries']
    assert journal.last_number == EXPECTED['position']


def test_the_journal_reads_as_a_bag(folder):
    with BagReader(folder / 'journal') as bag:
        assert bag.count == len(list(bag.messages(bag.topics))) == EXPECTED['position']
        # The metadata is that of the killed process.
        assert bag.notes == ['metadata.yaml counts 28 messages, the files hold 42']


@pytest.mark.parametrize('snapshots', [2, 1, 0])
def test_the_model_resumes(folder, snapshots):
    """From the newest snapshot, from the one before it, and from the journal alone."""
    for name in ['snapshot.npz', 'snapshot_older.npz'][:2 - snapshots]:
        (folder / name).unlink()
    durable, replayed = resumed(folder)
    model = durable.model.learner
    positions = {2: EXPECTED['snapshot_position'], 1: 20, 0: 0}
    assert replayed == EXPECTED['position'] - positions[snapshots]
    assert list(model.labels) == EXPECTED['labels']
    assert list(model.counts) == EXPECTED['counts']
    assert model.samples == EXPECTED['samples']
    # Partial annotations were approximated then, and are exact now; thresholds were found in the
    # order of the stream, and are not any more. So the scores are near, not equal.
    np.testing.assert_allclose(
        model.scores(np.array(EXPECTED['inputs'])), EXPECTED['scores'], atol=0.05)


def test_undo_reaches_behind_the_snapshot(folder):
    durable, _ = resumed(folder)
    undo_entries = EXPECTED['undo_entries']
    assert len(durable.table.samples) >= undo_entries
    for _ in range(undo_entries):
        durable.undo()
    assert durable.model.learner.samples == EXPECTED['samples'] - undo_entries


def test_what_is_appended_begins_a_file_with_the_definitions_of_this_version(folder):
    region = Region('7', 10.5, 20.25, 30.0, 40.0)
    new = [Annotation(5, ('cup',), features=np.ones(3, np.float32), region=region),
           Event(EventKind.RELABEL, 6, sample=3, labels=('cup',), complete=False,
                 annotator='Ada')]
    journal = Journal(folder / 'journal')
    before = [path.name for path in sorted((folder / 'journal').glob('*.db3'))]
    assert journal.append(new) == [43, 44]
    journal.close()

    journal = Journal(folder / 'journal')
    assert journal.repairs == []
    *earlier, annotation, event = journal.entries()
    assert [as_expected(entry) for entry in earlier] == EXPECTED['entries']
    assert (annotation.record.labels, annotation.record.region) == (('cup',), region)
    assert event.record == new[1]
    # The next ones go into the same file.
    assert journal.append([Event(EventKind.RESET, 7)]) == [45]
    journal.close()
    after = [path.name for path in sorted((folder / 'journal').glob('*.db3'))]
    assert len(after) == len(before) + 1
    with BagReader(folder / 'journal') as bag:
        assert bag.count == len(list(bag.messages(bag.topics))) == 45
        assert len(bag.topics) == 3  # Two under the names that they had; pictures are new.
