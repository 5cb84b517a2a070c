# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures as files, and sources of pictures to teach from: a folder, a video, a bag, a webcam."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.conversions import IMAGE_TYPES
from proemlc_ros.errors import BadSensorDataError, BagError, DataSetError
from proemlc_ros.features.sensor_arrays import check_pixel_count, jpeg_of, sample_of, scaled_down
from proemlc_ros.files import natural_key
from proemlc_ros.journal.metadata import BagTopic

if TYPE_CHECKING:  # Other sources than bags do without rosbags.
    from proemlc_ros.bags.reader import BagReader

Pixels = NDArray[np.uint8]
SUFFIXES = frozenset({'.jpg', '.jpeg', '.png', '.bmp', '.webp', '.tif', '.tiff', '.ppm', '.pgm'})
# Bytes of a picture file; larger ones are no camera pictures.
MAX_BYTES = 100_000_000


def picture_files(folder: Path) -> list[Path]:
    """Return the picture files in a folder and below, in natural order; hidden ones are left out.

    Raises:
        DataSetError: it is not a folder, or there is no picture in it.
    """
    if not folder.is_dir():
        word = 'is a file, not a folder' if folder.exists() else 'there is no such folder'
        raise DataSetError(f'{folder}: {word}')
    found = [path for path in folder.rglob('*')
             if path.suffix.lower() in SUFFIXES and path.is_file()
             and not any(part.startswith('.') for part in path.relative_to(folder).parts)]
    if not found:
        raise DataSetError(f'{folder}: no picture in it; known are '
                           f'{", ".join(sorted(suffix[1:] for suffix in SUFFIXES))}')
    return sorted(found, key=natural_key)


def read_picture(path: Path) -> Pixels:
    """Return the RGB pixels (rows, columns, 3) of a picture file.

    Raises:
        DataSetError: it cannot be read, or is no picture.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataSetError(f'{path}: too large for a picture')
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise DataSetError(f'{path}: {error.strerror}') from error
    try:
        check_pixel_count(data.tobytes())
        pixels = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    except BadSensorDataError as error:
        raise DataSetError(f'{path}: {error}') from error
    except cv2.error as error:  # Of more pixels than OpenCV takes, in another format.
        raise DataSetError(f'{path}: cannot be decoded ({error.err})') from error
    if pixels is None:
        raise DataSetError(f'{path}: not a whole picture')
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


# Pictures of a bag that are kept, as JPEG, to go back and forth in; of more, every n-th.
MOST_OF_A_BAG = 2000
JPEG_QUALITY = 90


class PictureSource(Protocol):
    """Pictures by number; a live one has no end.

    Attributes:
        kind: camera, images, video, bag or table.
        count: number of pictures; 0: live, the position means nothing.
        rate: pictures per second as recorded; 0 where nothing says so.
    """

    kind: str
    count: int
    rate: float

    def name(self, position: int) -> str:
        """Return the name of a picture, for people."""

    def read(self, position: int) -> Pixels:
        """Return the RGB pixels of a picture.

        Raises:
            DataSetError: this one cannot be read; others may.
        """


class _FolderSource:
    """The pictures of a folder, in natural order.

    Raises:
        DataSetError: there is no such folder, or no picture in it.
    """

    kind = 'images'
    rate = 0.0

    def __init__(self, folder: Path, longest: int) -> None:
        self._folder = folder
        self._longest = longest
        self._files = picture_files(folder)
        self.count = len(self._files)

    def name(self, position: int) -> str:
        """Return the path of a picture in the folder."""
        return self._files[position].relative_to(self._folder).as_posix()

    def read(self, position: int) -> Pixels:
        """Return the pixels of a picture."""
        return scaled_down(read_picture(self._files[position]), self._longest)


class _VideoSource:
    """The pictures of a video file.

    Raises:
        DataSetError: there is no such file, or it is no video that OpenCV reads.
    """

    kind = 'video'

    def __init__(self, path: Path, longest: int) -> None:
        self._path = path
        self._longest = longest
        if not path.is_file():
            raise DataSetError(f'{path}: there is no such file')
        self._video = _capture(str(path))
        self.count = int(self._video.get(cv2.CAP_PROP_FRAME_COUNT))
        if not self._video.isOpened() or self.count < 1 or not self._video.grab():
            raise DataSetError(f'{path}: not a video that OpenCV can read')
        self._video.set(cv2.CAP_PROP_POS_FRAMES, 0)
        self._next = 0
        rate = self._video.get(cv2.CAP_PROP_FPS)
        self.rate = rate if math.isfinite(rate) and 0 < rate < 1000 else 0.0

    def name(self, position: int) -> str:
        """Return the time in the video."""
        return f'{position / self.rate:.1f} s' if self.rate else self._path.name

    def read(self, position: int) -> Pixels:
        """Return the pixels of a picture; going on by one is fast, a jump takes longer."""
        if position != self._next:
            self._video.set(cv2.CAP_PROP_POS_FRAMES, position)
        done, pixels = self._video.read()
        self._next = position + 1
        if not done:
            raise DataSetError(f'{self._path}: picture {position} cannot be read')
        rgb = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)
        return scaled_down(rgb, self._longest)


class _BagSource:
    """The pictures of one topic of a bag, kept as JPEG.

    Args:
        path: the bag.
        longest: longest side of the pictures in pixels.
        topic: empty: the only one with images.

    Raises:
        BagError: there is no such bag, or not one clear topic of images in it.
    """

    kind = 'bag'

    def __init__(self, path: Path, longest: int, topic: str = '') -> None:
        self._path = path
        self._pictures: list[bytes] = []
        self._times: list[float] = []
        from proemlc_ros.bags.reader import BagReader
        with BagReader(path) as bag:
            chosen = image_topic(bag, topic)
            self._read(bag, chosen, longest)
        self.count = len(self._pictures)
        if not self.count:
            raise BagError(f'{path}: no picture of {chosen.name} can be read')
        span = self._times[-1] - self._times[0]
        self.rate = (self.count - 1) / span if span > 0 else 0.0

    def _read(self, bag: BagReader, topic: BagTopic, longest: int) -> None:
        step = math.ceil(max(1, topic.count) / MOST_OF_A_BAG)
        for number, (_, time, message) in enumerate(bag.messages([topic])):
            if number % step:
                continue
            try:
                pixels = sample_of(message, topic.type)
            except BadSensorDataError:
                continue
            self._pictures.append(jpeg_of(pixels, longest, JPEG_QUALITY))
            self._times.append(time / 1e9)

    def name(self, position: int) -> str:
        """Return the time in the bag."""
        return f'{self._times[position] - self._times[0]:.1f} s'

    def read(self, position: int) -> Pixels:
        """Return the pixels of a picture."""
        data = np.frombuffer(self._pictures[position], np.uint8)
        pixels = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def image_topic(bag: BagReader, name: str = '') -> BagTopic:
    """Return the topic of a bag whose images are meant.

    Args:
        bag: the bag.
        name: of the topic; empty: the only one with images.

    Raises:
        BagError: there is no such topic, or not one clear one.
    """
    images = bag.of_type(*IMAGE_TYPES)
    names = ', '.join(topic.name for topic in images) or 'none'
    if name:
        found = bag.topic(name)
        if found.type not in IMAGE_TYPES:
            raise BagError(f'{bag.path}: {name} has {found.type}, not images; topics with '
                           f'images: {names}')
        return found
    if not images:
        raise BagError(f'{bag.path}: there are no images in it')
    if len(images) > 1:
        raise BagError(f'{bag.path}: several topics have images: {names}; choose one with --topic')
    return images[0]


class _WebcamSource:
    """A webcam, by number or by device file.

    Raises:
        DataSetError: it cannot be opened.
    """

    kind = 'camera'
    count = 0
    rate = 0.0

    def __init__(self, device: str, longest: int) -> None:
        self._device = device
        self._longest = longest
        self._video = _capture(int(device) if device.isdigit() else device)
        if not self._video.isOpened() or not self._video.grab():
            found = ', '.join(sorted(map(str, Path('/dev').glob('video*'))))
            raise DataSetError(
                f'camera {device} cannot be opened: is it plugged in, free, and readable by this '
                f'user (group video)? Devices found: {found or "none"}')

    def name(self, position: int) -> str:
        """Return the device."""
        return f'camera {self._device}'

    def read(self, position: int) -> Pixels:
        """Return the newest picture."""
        done, pixels = self._video.read()
        if not done:
            raise DataSetError(f'camera {self._device}: gives no picture')
        rgb = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)
        return scaled_down(rgb, self._longest)


def _capture(source: int | str) -> cv2.VideoCapture:
    """Open a camera or a video; what OpenCV warns of is said by our own errors."""
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        return cv2.VideoCapture(source)
    finally:
        cv2.utils.logging.setLogLevel(level)


def open_source(kind: str, path: str, longest: int, topic: str = '') -> PictureSource:
    """Open a source: images, video, bag or camera.

    Raises:
        DataSetError, BagError: it cannot be opened; the text says why.
    """
    if kind == 'images':
        return _FolderSource(Path(path), longest)
    if kind == 'video':
        return _VideoSource(Path(path), longest)
    if kind == 'bag':
        return _BagSource(Path(path), longest, topic)
    return _WebcamSource(path, longest)
