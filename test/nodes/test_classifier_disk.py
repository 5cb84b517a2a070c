# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A node on a full disk: it starts, predicts, says why it does not learn, and learns again."""

from __future__ import annotations

import subprocess

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import values_of, vector

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path):
    """Return a function that fills the disk of the model directory, and one that frees it."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder],
                      capture_output=True).returncode:
        pytest.skip('no permission to mount a disk')
    filler = folder / 'filler'

    def fill():
        with filler.open('wb', buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(4096))
            except OSError:
                pass
    yield folder, fill, filler.unlink
    subprocess.run(['umount', '-l', folder], check=True)


def test_a_full_disk_at_the_start(classifier, disk):
    folder, fill, free = disk
    directory = f'model_directory:={folder / "model"}'
    node, partner = classifier(directory)
    partner.teach()
    expected = list(partner.call('predict', features=vector(values_of(50))).prediction.scores)
    assert node.stop() == 0
    fill()
    node, partner = classifier(directory)
    assert list(partner.call('predict', features=vector(values_of(50))).prediction.scores) == (
        pytest.approx(expected, abs=1e-5))
    rejected = partner.annotate(labels=['cup'], features=values_of(1))
    assert not rejected.success and 'No space' in rejected.message
    values = partner.diagnostics(lambda v: 'No space' in v['Journal problem'])
    samples = int(values['Samples learnt'])
    assert 'nothing can be learnt now' in node.output
    free()
    partner.diagnostics(lambda v: v['Journal problem'] == 'none')
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    partner.diagnostics(lambda v: int(v['Samples learnt']) == samples + 1)
