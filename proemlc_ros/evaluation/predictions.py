# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions for pictures and vectors that nobody has labelled, of any source.

The model is that of a file, or of a journal, whose samples in force are learnt again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, find_sources
from proemlc_ros.classifier.versioned_model import extractor_of
from proemlc_ros.core import Classification, ProEMLC
from proemlc_ros.errors import (
    BadSensorDataError,
    BagError,
    DataSetError,
    ExtractorError,
    ParameterError,
)
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.report import Page
from proemlc_ros.evaluation.taught_samples import journal_settings, open_journal
from proemlc_ros.evaluation.training import train
from proemlc_ros.journal.journal import SNAPSHOT
from proemlc_ros.label_text import csv_text
from proemlc_ros.records import StampedVector

if TYPE_CHECKING:
    from proemlc_ros.bags.pictures import PictureSource, Pixels
    from proemlc_ros.features.extractor import Extractor

_FEATURES_FILE = 'features.yaml'
# Pictures of a report, which has them inside it, and their longest side.
MOST_SHOWN, _THUMBNAIL = 2000, 160


class PicturePrediction(NamedTuple):
    """What a picture or a vector shows, by its name; pixels: None of a vector."""

    name: str
    found: Classification
    pixels: Pixels | None = None

    @property
    def sureness(self) -> float:
        """Probability of the best label."""
        return float(self.found.probabilities.max(initial=0.0))

    @property
    def in_words(self) -> str:
        """The labels for people, unsure ones as such."""
        if self.found.unknown:
            return "I don't know"
        return ', '.join(self.found.labels) or 'nothing'

    def as_record(self) -> dict[str, Any]:
        """Return it for JSON."""
        found = self.found
        return {'name': self.name, 'labels': list(found.labels), 'unknown': found.unknown,
                'novelty': round(found.novelty, 6),
                'probabilities': {name: round(value, 6) for name, value in zip(
                    found.names, found.probabilities.tolist(), strict=True)}}


def model_of(folder: Path) -> ProEMLC:
    """Return the model of a folder of `proemlc teach`, a model directory or a journal.

    The samples of the journal that are in force are learnt again. Where it was compacted, the
    newest snapshot has those that are gone.

    Raises:
        BagError: there is neither a journal nor a snapshot.
        ModelFileError: the snapshot is damaged.
    """
    journal = open_journal(folder)
    if journal is not None and not journal.dropped():
        model, _ = train(BagSet([journal.folder]), journal_settings(folder))
        return model
    places = (folder, folder / 'model') if journal is None else (journal.folder.parent,)
    for place in places:
        if (place / SNAPSHOT).is_file():
            return ProEMLC.load(place / SNAPSHOT)
    raise BagError(f'{folder}: no model file (.npz), and no folder with a journal')


def sensors_beside(path: Path) -> Path | None:
    """Return the parameter file of the features of a model, where it is beside it."""
    folder = path if path.is_dir() else path.parent
    return next((file for file in (folder / _FEATURES_FILE, folder.parent / _FEATURES_FILE)
                 if file.is_file()), None)


def picture_extractors(sensors: Path | None = None) -> Iterator[Extractor]:
    """Yield the extractors for pictures that are at hand, the best one first.

    Args:
        sensors: parameter file of a feature node with one camera, which goes first.

    Raises:
        ParameterError: the file has not one sensor with images.
    """
    # Imported late: OpenCV takes its time, and vectors need none of it.
    from proemlc_ros.features.backbone.store import default_backbone
    from proemlc_ros.features.registry import EXTRACTORS, make_extractor
    from proemlc_ros.features.settings import pipeline_from_settings, settings_from_file
    if sensors is not None:
        pipeline = pipeline_from_settings(settings_from_file(sensors))
        found = [one.extractor for one in pipeline.sensors if one.extractor.sensor == 'image']
        if len(found) != 1:
            raise ParameterError(f'{sensors}: not one sensor with images')
        yield found[0]
    backbone = default_backbone()
    if backbone is not None:
        yield make_extractor('onnx_embedding', backbone.extractor_parameters())
    for name, kind in EXTRACTORS.items():
        if kind.sensor == 'image' and name != 'onnx_embedding':
            yield make_extractor(name)


class Predictor:
    """Predicts pictures and vectors one by one.

    Args:
        model: what was taught.
        sensors: parameter file of the feature node; None: found by the model's extractor.
        unknown_above: novelty above which a prediction has no labels; 1: never.

    Attributes:
        notes: what could not be used.
    """

    def __init__(self, model: ProEMLC, sensors: Path | None = None,
                 unknown_above: float = 1.0) -> None:
        self.notes: list[str] = []
        self._model, self._sensors, self._unknown = model, sensors, unknown_above

    def pictures(self, pictures: Iterable[tuple[str, Pixels | DataSetError]]
                 ) -> Iterator[PicturePrediction]:
        """Predict pictures, given by name and pixels, or why there are none.

        Raises:
            ExtractorError: none that is at hand gives the features that the model was taught with.
        """
        wanted = extractor_of(self._model)
        extractor = next((one for one in picture_extractors(self._sensors)
                          if wanted in ('', one.name)), None)
        if extractor is None:
            raise ExtractorError(
                f'the model was taught with {wanted}, which is not available: name the feature '
                "node's parameter file with --sensors, or install the network with "
                '"proemlc backbone install"')
        for name, pixels in pictures:
            try:
                if isinstance(pixels, DataSetError):
                    raise pixels
                found = self._classified(extractor(pixels))
            except (BadSensorDataError, DataSetError) as error:
                self.notes.append(f'left out: {error}')
            else:
                yield PicturePrediction(name, found, pixels)

    def vectors(self, bag: BagReader, topic: str = '') -> Iterator[PicturePrediction]:
        """Predict the feature vectors of a bag.

        Raises:
            BagError: it has none, or those of another extractor.
        """
        wanted = extractor_of(self._model)
        for time, record in find_sources(bag, TopicSelection(topic)).stream(bag):
            if isinstance(record, StampedVector):
                if wanted and record.extractor and record.extractor != wanted:
                    raise BagError(f'{bag.path}: its features are of {record.extractor}, the '
                                   f'model was taught with {wanted}')
                region = '' if record.region.is_whole else f', region {record.region.id}'
                yield PicturePrediction(f'{(time - bag.start) / 1e9:.3f} s{region}',
                                        self._classified(record.data))

    def _classified(self, values: Any) -> Classification:
        return self._model.classify(values).or_unknown(self._unknown)


def pictures_of_bag(bag: BagReader, topic: str = '') -> Iterator[tuple[str, Pixels]]:
    """Yield the pictures of a bag, each with its time since the beginning.

    Raises:
        BagError: there is not one clear topic of images.
    """
    from proemlc_ros.bags.pictures import image_topic
    from proemlc_ros.features.sensor_arrays import sample_of
    chosen = image_topic(bag, topic)
    for _, time, message in bag.messages([chosen]):
        yield f'{(time - bag.start) / 1e9:.3f} s', sample_of(message, chosen.type)


def pictures_of_source(source: PictureSource, step: int = 1, most: int = 0
                       ) -> Iterator[tuple[str, Pixels | DataSetError]]:
    """Yield every so many of the pictures of a source, at most so many; 0: all.

    Args:
        source: a live one has no end.
        step: 1: every picture.
        most: pictures.
    """
    place = given = 0
    while (not source.count or place < source.count) and (not most or given < most):
        try:
            yield source.name(place), source.read(place)
        except DataSetError as error:
            yield source.name(place), error
        place, given = place + step, given + 1


def csv_lines(predictions: Iterable[PicturePrediction]) -> Iterator[str]:
    """Yield lines of CSV: a header, then one per picture."""
    yield 'name,labels,unknown,probability,novelty\n'
    for one in predictions:
        yield csv_text([[one.name, ';'.join(one.found.labels), int(one.found.unknown),
                         f'{one.sureness:.4f}', f'{one.found.novelty:.4f}']])


def json_lines(predictions: Iterable[PicturePrediction]) -> Iterator[str]:
    """Yield a JSON object per picture."""
    for one in predictions:
        yield json.dumps(one.as_record(), ensure_ascii=False) + '\n'


def predictions_page(title: str, note: str, predictions: Iterable[PicturePrediction]) -> Page:
    """Return a report: how many pictures show what, then the pictures, by their labels."""
    shown: dict[str, list[tuple[bytes, str]]] = {}
    counts: Counter[str] = Counter()
    rows: list[list[object]] = []
    for one in predictions:
        counts[one.in_words] += 1
        caption = f'{one.name}: {one.sureness:.0%}'
        if one.pixels is None:
            rows.append([one.name, one.in_words, one.sureness, one.found.novelty])
        elif sum(map(len, shown.values())) < MOST_SHOWN:
            shown.setdefault(one.in_words, []).append((_thumbnail(one.pixels), caption))
    page = Page(title, note)
    total = sum(counts.values())
    page.paragraph(f'{total} {"picture" if shown else "vector"}{"" if total == 1 else "s"}')
    page.table(['labels', 'number'], counts.most_common())
    if rows:
        page.table(['time', 'labels', 'probability', 'novelty'], rows)
    for words, images in sorted(shown.items()):
        page.heading(words)
        page.images(images)
    return page


def _thumbnail(pixels: Pixels) -> bytes:
    from proemlc_ros.features.sensor_arrays import jpeg_of
    return jpeg_of(pixels, _THUMBNAIL)
