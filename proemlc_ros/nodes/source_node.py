# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The source node: publishes pictures of a folder, video, bag, webcam or simulated camera.

A folder, video or bag can be paused, stepped and moved in. While it stands still, the picture is
published again with new stamps, so that it can be predicted and taught. The simulated camera sees
depth, too.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, Image

from proemlc_ros.bags.pictures import PictureSource, Pixels, open_source
from proemlc_ros.classifier.validation import Limits, validate_request
from proemlc_ros.demo.tabletop import FOCAL, TeachableTable, as_message_fields
from proemlc_ros.errors import DataSetError, DemoError, RejectedError
from proemlc_ros.msg import SourceState
from proemlc_ros.nodes.logs import ThrottledLog, warnings_of
from proemlc_ros.nodes.operator.operator_node import LATCHED
from proemlc_ros.nodes.parameters import Declared, ParameterTable
from proemlc_ros.nodes.process import RunnableNode, run
from proemlc_ros.srv import ControlSource

PARAMETERS = (
    Declared('source', 'table', 'kind of source', choices=(
        'camera', 'images', 'video', 'bag', 'table')),
    Declared('path', '', 'folder, video file, bag, or number or device file of the camera'),
    Declared('topic', '', 'topic of the images in a bag; empty: the only one'),
    Declared('rate', 0.0, 'pictures per second; 0: as recorded, 2 for a folder, 10 for a camera',
             0, 100),
    Declared('size', 640, 'longest side of the pictures in pixels', 64, 4096),
    Declared('playing', True, 'start playing'),
    Declared('seed', 0, 'seed of the simulated camera', 0, 2**31 - 1),
)
FOLDER_RATE, LIVE_RATE = 2.0, 10.0
# Pictures per second at least, new or again: so often the page has a new prediction.
AGAIN_RATE = 5.0


class SourceNode(Node, RunnableNode):
    """Publishes camera/image_raw and source/state; source/control pauses, steps and moves.

    The simulated camera has camera/depth/image_raw, aligned to its pictures, and
    camera/camera_info, too.
    """

    def __init__(self) -> None:
        """Open the source.

        Raises:
            DataSetError, BagError: it cannot be opened.
        """
        super().__init__('source', automatically_declare_parameters_from_overrides=True)
        values = ParameterTable(self, PARAMETERS, lambda _: None).values
        self._table = TeachableTable(values.seed) if values.source == 'table' else None
        self._source: PictureSource = self._table or open_source(
            values.source, values.path, values.size, values.topic)
        live = self._source.count == 0
        rate = values.rate or self._source.rate or (LIVE_RATE if live else FOLDER_RATE)
        self._period = 1 / rate
        self._playing = values.playing or live
        self._position = 0
        self._due = 0.0
        self._pixels: Pixels | None = None
        self._broken: set[int] = set()
        self._reported: object = None
        self._warnings = ThrottledLog(warnings_of(self.get_logger()), 10.0)
        self._images = self.create_publisher(Image, 'camera/image_raw', QoSProfile(depth=2))
        if self._table is not None:
            self._depths = self.create_publisher(Image, 'camera/depth/image_raw', 2)
            self._infos = self.create_publisher(CameraInfo, 'camera/camera_info', 2)
        self._states = self.create_publisher(SourceState, 'source/state', LATCHED)
        self._commands: dict[str, Callable[[Any], None]] = {
            'play': lambda _: self._set_playing(True), 'pause': lambda _: self._set_playing(False),
            'step': lambda _: self._pause_at(self._position + 1),
            'back': lambda _: self._pause_at(self._position - 1),
            'seek': lambda request: self._pause_at(request.position), 'show': self._show}
        self.create_service(ControlSource, 'source/control', self._control)
        self.create_timer(1 / max(rate, AGAIN_RATE), self._publish)
        self.get_logger().info(f'{self._source.kind}: {self._source.count or "endless"} pictures')

    def _publish(self) -> None:
        now = time.monotonic()
        live = self._source.count == 0
        if self._pixels is None or live or (self._playing and now >= self._due):
            if self._pixels is not None and not live:
                self._position = (self._position + 1) % self._source.count
            # In step with the clock, unless far behind.
            self._due = max(self._due + self._period, now)
            self._read()
        if self._pixels is None:
            return
        message = Image(**as_message_fields(self._pixels), data=array('B', self._pixels.tobytes()))
        message.header.frame_id = 'camera'
        message.header.stamp = self.get_clock().now().to_msg()
        if self._table is not None and self._table.depth is not None:
            self._publish_depth(self._table.depth, message.header)
        self._images.publish(message)
        self._report()

    def _publish_depth(self, depth: Any, header: Any) -> None:
        """Publish what the simulated camera measures, before the picture that needs it."""
        height, width = depth.shape
        self._infos.publish(CameraInfo(header=header, width=width, height=height, k=[
            FOCAL, 0.0, (width - 1) / 2, 0.0, FOCAL, (height - 1) / 2, 0.0, 0.0, 1.0]))
        self._depths.publish(Image(
            header=header, width=width, height=height, encoding='16UC1', step=2 * width,
            is_bigendian=sys.byteorder == 'big', data=array('B', depth.tobytes())))

    def _read(self) -> None:
        """Read the picture at the position; those that cannot be read are named and passed."""
        for _ in range(max(1, self._source.count)):
            try:
                self._pixels = self._source.read(self._position)
                return
            except DataSetError as error:
                if self._source.count == 0:
                    self._warnings.log('camera', str(error))
                    self._pixels = None
                    return
                if self._position not in self._broken:
                    self._broken.add(self._position)
                    self.get_logger().warning(f'left out: {error}')
                self._position = (self._position + 1) % self._source.count
        self._pixels = None
        self._warnings.log('all', 'no picture can be read')

    def _control(self, request: ControlSource.Request,
                 response: ControlSource.Response) -> ControlSource.Response:
        act = self._commands.get(request.command)
        try:
            validate_request(request, Limits())
            if act is None:
                raise DemoError(f'no command is named {request.command!r}; known are: '
                                f'{", ".join(self._commands)}')
            act(request)
            response.success = True
        except (DemoError, RejectedError) as error:
            response.message = str(error)
        self._report()
        return response

    def _set_playing(self, playing: bool) -> None:
        if self._source.count == 0:
            raise DemoError(f'a {self._source.kind} cannot be paused; hold the picture instead')
        self._playing = playing
        self._due = time.monotonic() + self._period

    def _pause_at(self, position: int) -> None:
        self._set_playing(False)
        self._position = position % self._source.count
        self._read()

    def _show(self, request: ControlSource.Request) -> None:
        if self._table is None:
            raise DemoError('things can be put before the simulated camera only')
        self._table.show(request.things, request.position)

    def _report(self) -> None:
        """Publish the state where it changed."""
        shown = self._table.shown if self._table is not None else ()
        state = (self._source.kind, self._source.name(self._position), self._position,
                 self._source.count, self._playing, shown)
        if state != self._reported:
            self._reported = state
            things = list(self._table.things) if self._table is not None else []
            self._states.publish(SourceState(
                kind=state[0], name=state[1], position=state[2], count=state[3],
                playing=state[4], things=things, shown=list(shown)))


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    return run(SourceNode, args)


if __name__ == '__main__':
    sys.exit(main())
