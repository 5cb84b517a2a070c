# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's camera: publishes the pictures of the curriculum, once its service is called.

Until then it publishes warm-up pictures with earlier stamps, numbered below zero. A prediction of
one shows that all nodes have found each other; discovery may take seconds, and what is published
before is lost.
"""

from __future__ import annotations

import sys
from array import array

from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from proemlc_ros.demo.curriculum import Curriculum, Timetable
from proemlc_ros.demo.tabletop import as_message_fields
from proemlc_ros.nodes.parameter_table import Declared, ParameterTable
from proemlc_ros.nodes.process import RunnableNode, run

PARAMETERS = (
    Declared('seed', 0, 'seed of the pictures', 0, 2**31 - 1),
    Declared('lesson_pictures', 60, 'pictures of each phase', 1, 10_000),
    Declared('exam_pictures', 200, 'pictures of the exam at the end', 1, 10_000),
    Declared('rate', 20.0, 'pictures per second', 0.1, 1000.0),
    Declared('start', 1_000_000_000_000, 'stamp of the first picture in nanoseconds',
             1_000_000_000_000, 2**63 - 1),
    Declared('endless', False, 'whether to repeat the exam until the process ends'),
)
# Seconds of warm-up pictures, at most.
WARM_UP = 600.0


class DemoCamera(Node, RunnableNode):
    """Publishes ~/image_raw: the lessons when ~/start is called, then the exam at ~/begin_exam."""

    def __init__(self) -> None:
        """Make the publisher and the service; begin with warm-up pictures."""
        super().__init__('camera')
        values = ParameterTable(self, PARAMETERS, lambda _: None).values
        self._curriculum = Curriculum(
            values.seed, phase_pictures=values.lesson_pictures,
            exam_pictures=values.exam_pictures)
        self._timetable = Timetable(values.start, values.rate)
        self._endless = values.endless
        self._number = -round(WARM_UP * values.rate)
        self._publisher = self.create_publisher(Image, '~/image_raw', QoSProfile(depth=10))
        self._timer = self.create_timer(1 / values.rate, self._publish)
        self.create_service(Trigger, '~/start', self._start)
        self.create_service(Trigger, '~/begin_exam', self._begin_exam)
        self._exam = False

    def _start(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._number = 0
        self._timer.reset()
        response.success = True
        response.message = f'{len(self._curriculum.pictures)} pictures'
        return response

    def _begin_exam(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._exam = response.success = True
        return response

    def _publish(self) -> None:
        if self._number == self._curriculum.lessons and not self._exam:
            return  # What was shown before is still being learnt.
        if self._number == -1 or (
                not self._endless and self._number >= len(self._curriculum.pictures)):
            self._timer.cancel()
            return
        picture = self._curriculum.draw(self._shown())
        message = Image(**as_message_fields(picture), data=array('B', picture.tobytes()))
        message.header.frame_id = 'camera'
        seconds, nanoseconds = divmod(self._timetable.stamp(self._number), 1_000_000_000)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
        self._publisher.publish(message)
        self._number += 1

    def _shown(self) -> int:
        """Return the number of the picture to draw: the first for a warm-up, then each in turn."""
        exam, first = self._curriculum.exam_pictures, self._curriculum.lessons
        if self._number < first:
            return max(self._number, 0)
        # After the last picture, for as long as the camera runs, the exam again.
        return first + (self._number - first) % exam


def main() -> int:
    """Run the camera until a signal comes."""
    return run(DemoCamera)


if __name__ == '__main__':
    sys.exit(main())
