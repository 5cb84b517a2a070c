# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reports: one HTML file that needs no network, with charts drawn as SVG."""

from proemlc_ros.evaluation.report.charts import Mark, Series, bar_chart, line_chart
from proemlc_ros.evaluation.report.heat_map import heat_map
from proemlc_ros.evaluation.report.page import Page

__all__ = ['Mark', 'Page', 'Series', 'bar_chart', 'heat_map', 'line_chart']
