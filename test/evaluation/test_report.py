# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reports: well-formed, self-contained, and safe with foreign words."""

import math
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from proemlc_ros.evaluation.charts import Mark, Series, _ticks, bar_chart, heat_map, line_chart
from proemlc_ros.evaluation.report import Page

SVG = '{http://www.w3.org/2000/svg}'
NASTY = '<img src=x onerror=alert(1)> & "quotes"'


def test_a_curve_goes_through_its_points_and_breaks_at_gaps():
    svg = line_chart([Series('a', [0, 1, 2, 3, 4], [0, 1, math.nan, 1, 0])], 'T', y_range=(0, 1))
    lines = ElementTree.fromstring(svg).findall(f'.//{SVG}polyline')
    points = [[tuple(map(float, p.split(','))) for p in line.get('points').split()]
              for line in lines]
    assert [len(run) for run in points] == [2, 2]
    (x0, y0), (x1, y1) = points[0]
    assert x1 > x0 and y1 < y0          # upwards is a smaller pixel row
    assert points[1][1] == (704.0, y0)  # the last point lies at the right edge


def test_marks_are_named_at_their_place():
    svg = line_chart([Series('a', [0, 10], [0, 1])], 'T', marks=[Mark(5, 'new: cup')])
    root = ElementTree.fromstring(svg)
    (mark,) = [line for line in root.iter(f'{SVG}line') if line.get('class') == 'mark']
    assert float(mark.get('x1')) == pytest.approx((64 + 704) / 2)
    assert any(text.text == 'new: cup' for text in root.iter(f'{SVG}text'))


def test_bars_are_as_long_as_their_values():
    root = ElementTree.fromstring(bar_chart(['a', 'b'], [[1, 2]], 'T'))
    first, second = (float(bar.get('width')) for bar in root.iter(f'{SVG}rect'))
    assert second == pytest.approx(2 * first, rel=0.01)


def test_heat_map_shades_by_value():
    root = ElementTree.fromstring(heat_map(['a', 'b'], ['a', 'b'], [[4, 1], [0, 2]], 'T'))
    shades = [rect.get('fill-opacity', '1') for rect in root.iter(f'{SVG}rect')]
    assert shades == ['1', '0.250', '0.000', '0.500']


@pytest.mark.parametrize('chart', [
    lambda: line_chart([], 'empty'),
    lambda: line_chart([Series('', [], [])], 'empty'),
    lambda: line_chart([Series('', [1], [1])], 'one point'),
    lambda: line_chart([Series('', [1, 2], [math.nan, math.nan])], 'nothing finite'),
    lambda: bar_chart([], [[]], 'empty'),
    lambda: heat_map([], [], [], 'empty'),
    lambda: line_chart([Series(NASTY, [1, 2], [1, 2])], NASTY, NASTY, NASTY, [Mark(1, NASTY)]),
    lambda: bar_chart([NASTY], [[1]], NASTY, NASTY, [NASTY]),
    lambda: heat_map([NASTY], [NASTY], [[1]], NASTY, NASTY, NASTY),
])
def test_charts_are_well_formed_whatever_comes(chart):
    root = ElementTree.fromstring(chart())
    assert root.find(f'.//{SVG}img') is None


def test_long_curves_are_thinned():
    svg = line_chart([Series('a', range(100_000), range(100_000))], 'T')
    assert len(svg) < 40_000


@pytest.mark.parametrize(('low', 'high', 'expected'), [
    (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 2407, [0, 500, 1000, 1500, 2000]), (3, 3, [3])])
def test_ticks_are_round(low, high, expected):
    assert _ticks(low, high) == expected


class _Links(HTMLParser):

    def __init__(self):
        super().__init__()
        self.found, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.found += [value for name, value in attributes if name in ('src', 'href')]


def test_a_page_needs_no_network_and_shows_words_as_words(tmp_path):
    page = Page(NASTY, NASTY)
    page.heading(NASTY)
    page.paragraph(NASTY)
    page.table([NASTY], [[NASTY], [0.123456]])
    page.figure(line_chart([Series('a', [0, 1], [0, 1])], 'T'), NASTY)
    page.images([(b'\x89PNG', NASTY)])
    page.write(tmp_path / 'report.html')
    links = _Links()
    links.feed((tmp_path / 'report.html').read_text())
    assert links.tags.count('img') == 1 and 'script' not in links.tags
    assert [link[:22] for link in links.found] == ['data:image/png;base64,']
    assert '<td>0.1235</td>' in page.html()
