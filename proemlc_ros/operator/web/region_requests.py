# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page's requests about boxes, and boxes as JSON."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from proemlc_ros.errors import OperatorRequestError
from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.region_view import ANSWER_TIMEOUT, RegionView
from proemlc_ros.operator.web.request_fields import Content, valid_text
from proemlc_ros.records import WHOLE, Region, StampedPrediction

NUMBERS = ('center_x', 'center_y', 'size_x', 'size_y')
# Pixels; no picture is larger.
LARGEST = 1e6


def region_content(prediction: StampedPrediction) -> Content:
    """Return the answer about a box for JSON; its numbers as they are, since they name it."""
    return {'region': prediction.region._asdict(), 'predicted': list(prediction.predicted),
            'novelty': round(float(prediction.novelty), 3)}


def region_of_request(request: Content) -> Region:
    """Return the box of a request, checked; the whole picture where it names none.

    Raises:
        OperatorRequestError: not a box.
    """
    value = request.get('region')
    if value is None:
        return WHOLE
    if not isinstance(value, dict):
        raise OperatorRequestError("'region' must be a JSON object")
    numbers = [value.get(name) for name in NUMBERS]
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool)
               and math.isfinite(one) and abs(one) <= LARGEST for one in numbers):
        raise OperatorRequestError(f"'region' must have the numbers {', '.join(NUMBERS)}")
    name = valid_text(value.get('id', ''), 'region.id')
    region = Region(name, *(float(one) for one in numbers))  # type: ignore[arg-type]
    if not (region.size_x > 0 and region.size_y > 0):
        raise OperatorRequestError("'region' must have a size")
    return region


async def draw(actions: Actions, view: RegionView, stamp: int, region: Region) -> dict[str, Any]:
    """Have a drawn box cut out and classified; return the answer about it as a reply.

    Raises:
        OperatorRequestError: no answer came.
    """
    answer = view.expect(stamp, region)
    await actions.draw(stamp, region)
    try:
        prediction = await asyncio.wait_for(answer, ANSWER_TIMEOUT)
    except (asyncio.TimeoutError, asyncio.CancelledError):
        raise OperatorRequestError(
            'no answer about the box: is the feature node running, with a camera alone, and is '
            'the picture recent? Its diagnostics say why a box is rejected') from None
    return {'done': True, 'message': '', 'answer': region_content(prediction)}
