# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Labels of pictures or feature vectors by an exported model: needs onnxruntime and NumPy alone.

`proemlc export` copies this file as predict.py beside the ONNX file that it writes:

    python predict.py kitchen.onnx vectors.npy          # one line per vector: labels, as JSON
    python predict.py kitchen.onnx pictures/ one.png    # of an export with --backbone

Feature vectors are rows of a .npy or .csv file. Pictures are .npy (rows, columns, 3, RGB), .ppm or
.png files; other formats are read by OpenCV where it is installed.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PICTURES = ('.npy', '.png', '.ppm', '.jpg', '.jpeg', '.bmp', '.webp', '.tif', '.tiff')
_NODES, _CANDIDATES, _LEAST, _SURE, _SAME = 10, 48, 0.004, 1e-12, 1e-12
# Bounds of L*, u*, v* and bins of the histogram of colours, and its largest picture.
_BOUNDS, _BINS, _COLOUR_SIDE = ((0.0, 100.5), (-84.0, 176.0), (-135.0, 108.0)), (4, 8, 8), 112


class ExportedModel:
    """A model that `proemlc export` has written."""

    def __init__(self, path: Path) -> None:
        import onnxruntime
        self._session = onnxruntime.InferenceSession(str(path), providers=['CPUExecutionProvider'])
        stated = self._session.get_modelmeta().custom_metadata_map
        self.labels = json.loads(stated['labels'])
        self._decision = json.loads(stated['deciding'])
        self._pictures = json.loads(stated.get('pictures') or 'null')
        self._inputs = [one.name for one in self._session.get_inputs()]
        self._shape = self._session.get_inputs()[0].shape

    @property
    def takes_pictures(self) -> bool:
        """Whether it goes from pictures to labels, not from feature vectors."""
        return self._pictures is not None

    def predict(self, rows: NDArray[Any]) -> list[tuple[list[str], dict[str, float]]]:
        """Return labels and probabilities of feature vectors (n, width)."""
        return self._decided({self._inputs[0]: np.ascontiguousarray(rows, np.float32)})

    def predict_picture(self, pixels: NDArray[Any]) -> tuple[list[str], dict[str, float]]:
        """Return labels and probabilities of a picture, (rows, columns, 3), RGB, 8 bits."""
        first = self._shape[1] in (1, 3)
        rows, columns = self._shape[2:4] if first else self._shape[1:3]
        size = self._pictures['size']
        looks = np.array([
            _resized(_middle(np.asarray(pixels, np.float32), share),
                     rows if isinstance(rows, int) else size,
                     columns if isinstance(columns, int) else size)
            for share in self._pictures.get('looks', [1.0])])
        mean, deviation = (np.array(self._pictures[key], np.float32)
                           for key in ('mean', 'deviation'))
        values = (looks - mean * 255) / (deviation * 255)
        given = {self._inputs[0]: np.ascontiguousarray(
            values.transpose(0, 3, 1, 2) if first else values, np.float32)}
        if len(self._inputs) > 1:
            given[self._inputs[1]] = _colours(np.rint(looks[0]))[np.newaxis]
        return self._decided(given)[0]

    def _decided(self, given: dict[str, NDArray[Any]]
                 ) -> list[tuple[list[str], dict[str, float]]]:
        scores, probabilities = self._session.run(['scores', 'probabilities'], given)
        chosen = _choose(self._decision, scores.astype(float), probabilities.astype(float))
        found = []
        for row, those in zip(probabilities, chosen):
            order = np.argsort(-row, kind='stable')
            found.append(([self.labels[place] for place in order if those[place]],
                          dict(zip(self.labels, (round(float(value), 4) for value in row)))))
        return found


def _choose(decision: dict[str, Any], scores: NDArray[Any],
            probabilities: NDArray[Any]) -> NDArray[Any]:
    """Return which labels are predicted (n, labels), as the package decides."""
    if decision['rule'] == 'expected_f1':
        return _best_sets(probabilities, decision)
    by_probability = decision['rule'] == 'probable'
    values = probabilities if by_probability else np.where(probabilities > 0, scores, -np.inf)
    chosen = values > decision['threshold']
    best, rows = values.argmax(axis=1), np.arange(len(values))
    chosen[rows, best] |= (~chosen.any(axis=1) & (decision['at_least'] > 0)
                           & (probabilities[rows, best] > 0))
    return np.asarray(chosen)


def _best_sets(probabilities: NDArray[Any], decision: dict[str, Any]) -> NDArray[Any]:
    """Return the sets with the greatest expected F1; see docs/experiments.md of proemlc_ros."""
    order = np.argsort(-probabilities, axis=1, kind='stable')[:, :_CANDIDATES]
    ranked = np.take_along_axis(probabilities, order, axis=1)
    ranked[:, 1:][ranked[:, 1:] < _LEAST] = 0.0
    if decision['exclusive']:
        odds = ranked / np.maximum(1.0 - ranked, _SURE)
        gains = odds.cumsum(axis=1) * (2.0 / np.arange(2, ranked.shape[1] + 2))
        nothing = np.ones(len(ranked))
    else:
        gains, nothing = _expected_gains(ranked, np.maximum(
            probabilities.sum(axis=1) - ranked.sum(axis=1), 0.0))
    enough = (1.0 - decision['tolerance']) * (1.0 - _SAME) * gains.max(axis=1)
    good = gains >= enough[:, np.newaxis]
    likely = (ranked > 0.5).sum(axis=1) - 1
    last = good.shape[1] - 1 - good[:, ::-1].argmax(axis=1)
    best = np.minimum(np.maximum(good.argmax(axis=1), likely), last)
    gain = (1.0 + _SAME) * gains[np.arange(len(gains)), best]
    sizes = np.where((ranked[:, 0] > 0.0) & (gain >= decision['empty'] * nothing), best + 1, 0)
    chosen = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(ranked.shape[1]) < sizes[:, np.newaxis], axis=1)
    full = sizes == _CANDIDATES
    chosen[full] |= probabilities[full] > 0.5
    return np.asarray(chosen)


def _expected_gains(ranked: NDArray[Any], rest: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    points = 0.5 * (nodes + 1.0)
    powers = weights * points ** np.arange(1, _CANDIDATES + 1)[:, np.newaxis]
    factors = 1.0 - ranked[..., np.newaxis] * (1.0 - points)
    product = factors.prod(axis=1) * np.exp(-rest[:, np.newaxis] * (1.0 - points))
    shares = (ranked[..., np.newaxis] / factors).cumsum(axis=1)
    gains = np.einsum('nkq,kq,nq->nk', shares, powers[:ranked.shape[1]], product)
    return gains, (1.0 - ranked).prod(axis=1) * np.exp(-rest)


def _middle(image: NDArray[Any], share: float) -> NDArray[Any]:
    """Return the middle of an image, with a share of its sides."""
    rows, columns = (max(1, round(side * share)) for side in image.shape[:2])
    top, left = (image.shape[0] - rows) // 2, (image.shape[1] - columns) // 2
    return image[top:top + rows, left:left + columns]


def _resized(image: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """Return averages over areas of an image; where it grows, values between pixels."""
    return np.asarray(np.einsum('ab,bcd,ec->aed', _averages(image.shape[0], rows), image,
                                _averages(image.shape[1], columns), optimize=True))


def _averages(length: int, wanted: int) -> NDArray[Any]:
    """Return the matrix (wanted, length) of one direction."""
    if wanted > length:
        # As OpenCV's INTER_AREA does where an image grows.
        scale = length / wanted
        start = np.floor(np.arange(wanted) * scale).astype(int)
        share = np.arange(1, wanted + 1) - (start + 1) / scale
        share = np.where(share <= 0, 0.0, share - np.floor(share))
        matrix = np.zeros((wanted, length), np.float32)
        matrix[np.arange(wanted), start] += 1 - share
        matrix[np.arange(wanted), np.minimum(start + 1, length - 1)] += share
        return matrix
    edges = np.arange(wanted + 1) * (length / wanted)
    places = np.arange(length)
    overlaps = (np.minimum(places + 1, edges[1:, np.newaxis])
                - np.maximum(places, edges[:-1, np.newaxis])).clip(0.0)
    return np.asarray(overlaps * (wanted / length), np.float32)


def _colours(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return the square roots of the shares of colours, in cells of the L*u*v* space."""
    rows, columns = (min(side, _COLOUR_SIDE) for side in pixels.shape[:2])
    if pixels.shape[:2] != (rows, columns):
        pixels = np.rint(_resized(pixels.astype(np.float32), rows, columns))
    value = pixels / 255.0
    light = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    x, y, z = np.moveaxis(light @ np.array([[0.412453, 0.212671, 0.019334],
                                            [0.357580, 0.715160, 0.119193],
                                            [0.180423, 0.072169, 0.950227]]), -1, 0)
    lightness = np.where(y > 0.008856, 116 * np.cbrt(y) - 16, 903.3 * y)
    total = x + 15 * y + 3 * z
    total = np.where(total > 0, total, 1)
    luv = (lightness, 13 * lightness * (4 * x / total - 0.19793943),
           13 * lightness * (9 * y / total - 0.46831096))
    counts, _ = np.histogramdd(np.stack([band.ravel() for band in luv], axis=1), _BINS, _BOUNDS)
    return np.asarray(np.sqrt(counts.ravel() / (rows * columns)), np.float32)


def _read_pixels(path: Path) -> NDArray[Any]:
    """Return the pixels of a picture file, (rows, columns, 3), RGB, 8 bits."""
    kind = path.suffix.lower()
    if kind == '.npy':
        return np.asarray(np.load(path, allow_pickle=False))
    data = path.read_bytes()
    if kind == '.ppm':
        return _ppm(data)
    if kind == '.png' and data[24:29] in (b'\x08\x02\0\0\0', b'\x08\x06\0\0\0'):
        return _png(data)
    try:
        import cv2
    except ImportError:
        sys.exit(f'{path}: this kind of picture needs OpenCV; .png, .ppm and .npy do not')
    found = cv2.imread(str(path))
    if found is None:
        sys.exit(f'{path}: not a picture')
    return np.asarray(cv2.cvtColor(found, cv2.COLOR_BGR2RGB))


def _ppm(data: bytes) -> NDArray[Any]:
    words: list[bytes] = []
    place = 0
    while len(words) < 4:
        if data[place:place + 1] == b'#':
            place = data.index(b'\n', place)
        end = place
        while data[end:end + 1].strip():
            end += 1
        if end > place:
            words.append(data[place:end])
        place = end + 1
    if words[0] != b'P6' or words[3] != b'255':
        sys.exit('only PPM files of 8 bits (P6) are read')
    columns, rows = int(words[1]), int(words[2])
    return np.frombuffer(data, np.uint8, rows * columns * 3, place).reshape(rows, columns, 3)


def _png(data: bytes) -> NDArray[Any]:
    """Return the pixels of a PNG file of 8 bits per value, RGB or RGBA, not interlaced."""
    columns, rows = struct.unpack('>II', data[16:24])
    depth = 4 if data[25] == 6 else 3
    place, packed = 8, b''
    while place < len(data):
        length, = struct.unpack('>I', data[place:place + 4])
        if data[place + 4:place + 8] == b'IDAT':
            packed += data[place + 8:place + 8 + length]
        place += 12 + length
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(rows, 1 + columns * depth)
    found = np.zeros((rows + 1, columns + 1, depth), np.uint8)
    for row in range(1, rows + 1):
        kind, line = lines[row - 1, 0], lines[row - 1, 1:].reshape(columns, depth)
        above = found[row - 1]
        if kind < 3:
            found[row, 1:] = (line, line.cumsum(axis=0, dtype=np.uint8), line + above[1:])[kind]
            continue
        for column in range(1, columns + 1):
            left, up, corner = (one.astype(int) for one in (
                found[row, column - 1], above[column], above[column - 1]))
            if kind == 3:
                guess = (left + up) // 2
            else:
                start = left + up - corner
                far = np.abs(np.stack([start - left, start - up, start - corner]))
                guess = np.choose(far.argmin(axis=0), [left, up, corner])
            found[row, column] = line[column - 1] + guess.astype(np.uint8)
    return found[1:, 1:, :3]


def _lines(model: ExportedModel, path: Path
           ) -> Iterator[tuple[str, list[str], dict[str, float]]]:
    """Yield name, labels and probabilities."""
    if not model.takes_pictures:
        rows = (np.load(path, allow_pickle=False) if path.suffix == '.npy'
                else np.loadtxt(path, delimiter=',', ndmin=2))
        for number, found in enumerate(model.predict(np.atleast_2d(rows))):
            yield f'{path}:{number}', *found
        return
    files = sorted(one for one in path.rglob('*') if one.suffix.lower() in _PICTURES
                   ) if path.is_dir() else [path]
    for file in files:
        yield str(file), *model.predict_picture(_read_pixels(file))


def main(words: Sequence[str] | None = None) -> int:
    """Print a line of JSON per picture or vector."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('model', type=Path, help='the ONNX file')
    parser.add_argument('inputs', nargs='+', type=Path,
                        help='pictures and folders of them, or files of feature vectors')
    args = parser.parse_args(words)
    model = ExportedModel(args.model)
    for path in args.inputs:
        for name, labels, probabilities in _lines(model, path):
            print(json.dumps({'name': name, 'labels': labels, 'probabilities': probabilities},
                             ensure_ascii=False))
    return 0


if __name__ == '__main__':
    sys.exit(main())
