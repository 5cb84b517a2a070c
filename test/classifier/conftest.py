# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the classifier."""

from __future__ import annotations

import pytest
from durable_model_stand import Opened


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the model directory again and keeps the `report`."""
    opened_models = []

    def make(**limits):
        while opened_models:
            opened_models.pop().drop()
        opened_models.append(Opened(tmp_path / 'model', **limits))
        make.report = opened_models[-1].report
        return opened_models[-1].durable
    yield make
    for model in opened_models:
        model.drop()
