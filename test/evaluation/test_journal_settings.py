# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A journal is judged with the settings of its own node."""

import shutil

from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.taught_samples import common_settings, journal_settings
from proemlc_ros.journal.journal import Journal, read_settings, write_settings

OURS = {'hidden_size': 7, 'activation': 'relu', 'scaling': 'none'}


def new_journal(folder, **settings):
    Journal(folder).close()
    if settings:
        write_settings(folder, settings)
    return folder


def test_settings_in_the_journal_or_of_the_snapshot_beside_it(tmp_path):
    assert journal_settings(tmp_path / 'journal') == {}
    journal = new_journal(tmp_path / 'journal')
    assert journal_settings(journal) == {}
    ProEMLC(**OURS).save(tmp_path / 'snapshot.npz')
    assert journal_settings(journal) == ProEMLC(**OURS).options.as_dict()
    assert journal_settings(journal / 'journal_0.db3')['hidden_size'] == 7
    (tmp_path / 'snapshot.npz').write_bytes(b'damaged')
    ProEMLC(hidden_size=6).save(tmp_path / 'snapshot_older.npz')
    assert journal_settings(journal)['hidden_size'] == 6
    write_settings(journal, {'hidden_size': 5})
    for name in ('journal', 'elsewhere'):
        if name != 'journal':
            shutil.copytree(journal, tmp_path / name)
        assert journal_settings(tmp_path / name)['hidden_size'] == 5


def test_a_settings_file_of_another_kind_says_nothing(tmp_path):
    for text in ('', '[]', '3', '{"hidden_size": "many"}', '{"unheard_of": 1}'):
        (tmp_path / 'settings.json').write_text(text)
        assert read_settings(tmp_path) == {}


def test_several_journals(tmp_path):
    for name, size in (('a', 5), ('b', 5), ('c', 9)):
        new_journal(tmp_path / name, hidden_size=size)
    settings, notes = common_settings(
        [tmp_path / name for name in ('none', 'a', 'b', 'c')])
    assert settings['hidden_size'] == 5
    (note,) = notes
    assert 'c had hidden_size = 9' in note


def test_a_snapshot_that_has_learnt_nothing_leaves_its_settings_open(tmp_path):
    journal = new_journal(tmp_path / 'journal')
    factory = LearnerFactory({'seed': 3})
    write_settings(journal, factory.settings_of(factory()))
    factory().save(tmp_path / 'snapshot.npz', {'automatic': True})
    assert journal_settings(journal) == {'seed': 3}
