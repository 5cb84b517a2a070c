# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Errors at the command line: each is reported in a line or two that name it; no traceback."""

import zipfile

import pytest

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main
from proemlc_ros.core import ProEMLC

TABLE = 'x,y,label:cup,label:red\n' + '0.5,1.5,1,0\n0.1,0.2,0,1\n' * 10

# The words after `proemlc`, and what the message must name.
ERRORS = {
    'no command': ('', 'COMMAND'),
    'unknown command': ('fly', "'fly'"),
    'unknown option': ('info --colour red.npz', '--colour'),
    'no path': ('info', 'PATH'),
    'missing model': ('info nowhere.npz', 'nowhere.npz'),
    'missing bag': ('info nowhere', 'nowhere'),
    'bag that is a text file': ('info table.csv', 'table.csv'),
    'empty folder as bag': ('info empty', 'empty'),
    'text as model': ('info text.npz', 'text.npz'),
    'foreign archive as model': ('info foreign.npz', 'foreign.npz'),
    'cut model': ('info cut.npz', 'cut.npz'),
    'folder as model': ('info folder.npz', 'folder.npz'),
    'evaluate nothing': ('evaluate', 'BAG'),
    'evaluate a missing bag': ('evaluate nowhere', 'nowhere'),
    'evaluate a model as bag': ('evaluate good.npz', 'good.npz'),
    'evaluate with unknown activation': ('evaluate bag --activation cubic', 'cubic'),
    'evaluate with no neurons': ('evaluate bag --hidden-size 0', 'hidden_size'),
    'evaluate with half a neuron': ('evaluate bag --hidden-size 0.5', '0.5'),
    'evaluate with negative ridge': ('evaluate bag --ridge -1', 'ridge'),
    'evaluate with unknown setting': ('evaluate bag --set colour=red', 'colour'),
    'evaluate with wrong type of setting': ('evaluate bag --set bias=maybe', 'maybe'),
    'evaluate an unknown metric': ('evaluate bag --fail-above beauty=1', 'beauty'),
    'evaluate a limit without value': ('evaluate bag --fail-above hamming', 'METRIC=VALUE'),
    'evaluate against no number': ('evaluate bag --fail-below f1=nan', 'METRIC=VALUE'),
    'evaluate into a missing folder': ('evaluate bag --json no/where.json', 'no'),
    'evaluate with model and settings': ('evaluate bag --model good.npz --seed 1', '--model'),
    'evaluate a model of another width': ('evaluate bag --model good.npz', 'wrong_width'),
    'evaluate an unknown topic': ('evaluate bag --features /nothing', '/nothing'),
    'evaluate with unknown extractor': ('evaluate bag --extract /proemlc/features=magic', 'magic'),
    'evaluate with bad extract': ('evaluate bag --extract laser_profile', 'TOPIC=EXTRACTOR'),
    'evaluate with sensors that are no YAML': ('evaluate bag --sensors bad.yaml', 'bad.yaml'),
    'evaluate more than memory holds': (
        'evaluate bag --activation relu --hidden-size 9999999999999', 'memory'),
    'evaluate onto a folder': ('evaluate bag --html empty', 'empty: '),
    'evaluate with damaged metadata': ('evaluate no_metadata', 'no_metadata'),
    'evaluate with missing sensors': ('evaluate bag --sensors no.yaml', 'no.yaml'),
    'evaluate with a table as sensors': ('evaluate bag --sensors table.csv', 'table.csv'),
    'evaluate with negative tolerance': ('evaluate bag --tolerance -1', 'tolerance'),
    'compare with a missing model': ('evaluate bag --compare nowhere.npz', 'nowhere.npz'),
    'train without output': ('train bag', '--output'),
    'train into a missing folder': ('train bag -o no/model.npz', 'no'),
    'train onto a folder': ('train bag -o empty', 'empty'),
    'train with a scheduler alone': ('train bag -o m.npz --scheduler tcp://x:1', '--engine dask'),
    'train with workers alone': ('train bag -o m.npz --workers 3', '--engine dask'),
    'train with no scheduler': (
        'train bag -o m.npz --engine dask --scheduler nonsense:x', 'nonsense'),
    'train where all is rejected': ('train bag -o m.npz --model good.npz', '10 wrong_width'),
    'train with unknown engine': ('train bag -o m.npz --engine steam', 'steam'),
    'train with no workers': ('train bag -o m.npz --engine dask --workers 0', '--workers'),
    'merge a missing model': ('merge good.npz nowhere.npz -o m.npz', 'nowhere.npz'),
    'merge unlike models': ('merge good.npz other.npz -o m.npz', 'other.npz'),
    'merge into a missing folder': ('merge good.npz good.npz -o no/m.npz', 'no'),
    'select from a missing file': ('select nowhere.csv', 'nowhere.csv'),
    'select from another kind of file': ('select text.npz', 'text.npz'),
    'select from a table without labels': ('select bare.csv', 'bare.csv'),
    'select from an empty table': ('select empty.csv', 'empty.csv'),
    'select from a table with words': ('select words.csv', 'words.csv'),
    'select with bad sizes': ('select table.csv --sizes few', 'few'),
    'select with too many samples': ('select table.csv --samples 999', '999'),
    'select with a negative seed': ('select table.csv --seed -3', '--seed'),
    'select and draw what it cannot': ('select table.csv --plot curve.pdf', 'curve.pdf'),
    'select more labels than columns': ('select table.csv --labels 99', '99'),
    'select from a ragged table': ('select ragged.csv', 'ragged.csv:3'),
    'select unknown labels': ('select table.csv --labels sun,moon', 'sun'),
    'select into a missing folder': ('select table.csv --sizes 5 --json no/s.json', 'no'),
    'paper without its data': ('paper --quick --data empty', 'empty'),
    'paper with an unknown set': ('paper --quick --sets moon', 'moon'),
    'paper with an unknown method': ('paper --quick --methods magic', 'magic'),
    'paper with one fold': ('paper table.csv --methods ours --folds 1', 'folds'),
    'paper with a wrong pattern': ('paper table.csv --methods ours --pattern 4+1+1', '4+1+1'),
    'paper with no pattern at all': ('paper table.csv --methods ours --pattern x', "'x'"),
    'bag without action': ('bag', 'ACTION'),
    'make from a missing file': ('bag make nowhere.csv -o new', 'nowhere.csv'),
    'make onto an existing bag': ('bag make table.csv -o bag', 'bag'),
    'make with a wrong pattern': ('bag make table.csv -o new --pattern 5', "'5'"),
    'make with unknown storage': ('bag make table.csv -o new --storage paper', 'paper'),
    'make with a negative seed': ('bag make table.csv -o new --seed -1', '--seed'),
    'make at no rate': ('bag make table.csv -o new --rate 0', '--rate'),
    'annotate with a missing list': ('bag annotate bag no.csv -o new', 'no.csv'),
    'annotate with another table': ('bag annotate bag table.csv -o new', 'table.csv'),
    'annotate an unknown topic': ('bag annotate bag spans.csv --topic /no -o new', '/no'),
    'annotate the annotations': (
        'bag annotate bag spans.csv --topic /proemlc/annotations -o new', 'of annotations'),
    'annotate into the bag': ('bag annotate bag spans.csv -o bag/new', 'bag/new'),
    'annotate onto an existing bag': ('bag annotate bag spans.csv -o bag', 'bag'),
    'annotate with the end before the start': ('bag annotate bag back.csv -o new', 'back.csv'),
    'play a missing bag': ('bag play nowhere', 'nowhere'),
    'play backwards': ('bag play bag --rate -1', '--rate'),
    'demo at no rate': ('demo --rate 0', '--rate'),
    'demo with a negative seed': ('demo --seed -1', '--seed'),
    'demo without lessons': ('demo --lesson-pictures 0', '--lesson-pictures'),
    'demo at an impossible port': ('demo --dashboard --port 99999', '99999'),
    'demo into a file': ('demo --output table.csv', 'table.csv'),
}


@pytest.fixture(scope='module')
def folder_of_files(tmp_path_factory, module_samples):
    """Return a folder with good files, and with every kind of bad one."""
    folder = tmp_path_factory.mktemp('files')
    make_bag(folder / 'bag', module_samples)
    for name, seed in (('good', 0), ('other', 1)):
        model = ProEMLC(hidden_size=5, activation='relu', scaling='none', seed=seed)
        model.learn([[0.0, 0.5, 1.0]], [['cup']])
        model.save(folder / f'{name}.npz')
    (folder / 'cut.npz').write_bytes((folder / 'good.npz').read_bytes()[:-100])
    (folder / 'text.npz').write_text('no model')
    with zipfile.ZipFile(folder / 'foreign.npz', 'w') as archive:
        archive.writestr('a.txt', 'nothing')
    for name in ('empty', 'folder.npz', 'no_metadata'):
        (folder / name).mkdir()
    for name, text in {
            'table.csv': TABLE, 'bare.csv': 'x,y\n1,2\n', 'empty.csv': '',
            'words.csv': 'x,label:cup\nmany,1\n', 'spans.csv': 'start,end,labels\n0,1,cup\n',
            'back.csv': 'start,end,labels\n5,1,cup\n', 'bad.yaml': '/**: [\n',
            'ragged.csv': 'x,y,label:cup\n1,2,1\n3,1\n', 'no_metadata/metadata.yaml': '{',
            'no_metadata/no_metadata.mcap': ''}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope='module')
def module_samples():
    """Return ten samples of six values."""
    return [([float(number)] * 6, ('cup',) if number % 2 else ()) for number in range(10)]


@pytest.mark.parametrize('words, named', ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_one_line_or_two(words, named, folder_of_files, monkeypatch, capsys):
    monkeypatch.chdir(folder_of_files)
    before = {path: path.stat().st_mtime_ns for path in folder_of_files.rglob('*')}
    try:
        code = main(words.split())
    except SystemExit as ended:  # by argparse
        code = ended.code
    written = capsys.readouterr().err
    # argparse prints its usage first.
    lines = written.splitlines()
    start = max(at for at, line in enumerate(lines) if line.startswith('proemlc'))
    message = '\n'.join(lines[start:])
    assert code in (1, 2), written
    assert 'Traceback' not in written
    assert len(lines) - start <= 2, written
    assert named in message
    assert {path: path.stat().st_mtime_ns for path in folder_of_files.rglob('*')} == before
