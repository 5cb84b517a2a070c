# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes on the page: drawn, labelled, and recognised at another place in the next picture."""


import pytest

pytest.importorskip('rclpy')
pytest.importorskip('aiohttp')

from browser import Page, check_with_axe
from dashboard_stand import Listener
from table_camera import RADIUS, SIZE, TableCamera

pytestmark = pytest.mark.slow

FEATURES = """
    sensors: [camera]
    camera:
      topic: camera/image
      extractor: colour_moments
      grid: 1
      regions: proposals
      region_proposals: 12
"""
BEFORE = {'cup': (60, 60), 'plate': (160, 170), 'ball': (260, 80)}
AFTER = {'cup': (250, 180), 'plate': (60, 70), 'ball': (150, 120)}
# The boxes whose labels are those of a thing, by their centres.
SEEN = """name => [...document.querySelectorAll('#boxes g.seen')]
  .filter((group) => group.querySelector('text').textContent.split(', ').includes(name))
  .map((group) => group.querySelector('rect'))
  .map((rect) => ['x', 'y', 'width', 'height'].map((key) => Number(rect.getAttribute(key))))
  .map(([x, y, width, height]) => [x + width / 2, y + height / 2])"""

# A picture comes, and a box is pressed before the page is drawn again; whether it is held with the
# picture that it is a box of.
PRESSED_LATE = """async () => {
  const { state } = await import('./state.js');
  const drawn = document.getElementById('box-list').prediction?.stamp;
  const button = document.querySelector('#box-list button');
  if (!button) return '';  // there is none in some pictures
  state.prediction = { ...state.prediction, stamp: '1', regions: [] };
  button.click();
  return state.held.prediction.stamp === drawn ? 'as drawn' : 'another one';
}"""


@pytest.fixture
def table(start_process, feature_node, browser, ros, tmp_path, request):
    """Return the page of a camera over a table, with classifier, features and dashboard."""
    camera = TableCamera(ros, BEFORE)
    listener = Listener(ros)
    start_process('classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}/models',
                  '-p', 'activation:=rbf', '-p', 'scaling:=none')
    feature_node(getattr(request, 'param', FEATURES))
    dashboard = start_process('dashboard_node', '--ros-args', '-p', 'port:=0')
    address = dashboard.wait_for(r'Dashboard: (http\S+)')[1]
    listener.wait_connected()
    page = Page(browser, address, has_touch=True, bypass_csp=True)
    page.page.wait_for_selector('#camera[data-picture=yes]')
    page.camera, page.listener = camera, listener
    yield page
    page.context.close()
    camera.close()
    listener.close()


def on_screen(page, x, y):
    """Return where a pixel of the picture is on the screen."""
    return page.page.evaluate(
        """([x, y]) => {
          const svg = document.getElementById('boxes');
          const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [point.x, point.y];
        }""", [x, y])


def corners(place):
    (x, y), half = place, RADIUS + 4
    return (x - half, y - half), (x + half, y + half)


def by_mouse(page, place):
    """Draw a box around a place."""
    page.begin_box(lambda: page.page.click('#draw'))
    start, end = (on_screen(page, *corner) for corner in corners(place))
    page.page.mouse.move(*start)
    page.page.mouse.down()
    page.page.mouse.move(*end, steps=4)
    page.page.mouse.up()


def by_touch(page, place):
    """The same with a finger."""
    page.begin_box(lambda: page.page.tap('#draw'))
    start, end = (on_screen(page, *corner) for corner in corners(place))
    session = page.context.new_cdp_session(page.page)

    def touch(kind, *points):
        session.send('Input.dispatchTouchEvent', {
            'type': kind, 'touchPoints': [{'x': x, 'y': y} for x, y in points]})
    touch('touchStart', start)
    for share in (0.3, 0.6, 1.0):
        touch('touchMove', [a + share * (b - a) for a, b in zip(start, end, strict=True)])
    touch('touchEnd')


def by_keys(page, place):
    """The same with keys alone: the box begins in the middle."""
    keys, step = page.page.keyboard, 0.02 * max(SIZE)
    height, width = SIZE
    (left, top), (right, bottom) = corners(place)
    page.begin_box(lambda: keys.press('b'))
    for low, high, first, last, back, on in (
            (left, right, 0.35 * width, 0.65 * width, 'ArrowLeft', 'ArrowRight'),
            (top, bottom, 0.35 * height, 0.65 * height, 'ArrowUp', 'ArrowDown')):
        moves = round((low - first) / step)
        for _ in range(abs(moves)):
            keys.press(on if moves > 0 else back)
        sizes = round(((high - low) - (last - first)) / step)
        for _ in range(abs(sizes)):
            keys.press(f'Shift+{on if sizes > 0 else back}')
    keys.press('Enter')


def draw(page, way, place):
    """Draw a box in some way, and wait for the answer about it.

    There is none where the feature node did not know of the page yet when the picture was taken,
    or where it was lost; then it is drawn again, on a new picture.
    """
    while True:
        way(page, place)
        page.expect('#message', '^Box held, seen as|^no (answer about the box|feature node)')
        if page.page.text_content('#message').startswith('Box held'):
            return
        for _ in ('the box', 'the picture'):
            page.page.keyboard.press('Escape')


def label(page, name):
    """Give the box that was just drawn a label, with keys."""
    if page.page.evaluate('document.activeElement.id') != 'new-label':
        page.page.keyboard.press('n')  # Numbers mark the labels that are known.
    page.page.keyboard.type(name)
    page.page.keyboard.press('Enter')
    page.expect('#message', f'^{name} marked')
    page.page.keyboard.press('Enter')
    page.expect('#message', f'^Learnt: {name}')


def wait_seen(page, places):
    """Wait until every thing is seen where it is, and the label of none where another is."""
    for name, (x, y) in places.items():
        page.page.wait_for_function(
            f"""([name, x, y]) => ({SEEN})(name).some(
              ([seenX, seenY]) => Math.hypot(seenX - x, seenY - y) < 12)""", arg=[name, x, y])


def test_boxes_are_drawn_labelled_and_recognised_elsewhere(table):
    ways = {'cup': by_mouse, 'plate': by_touch, 'ball': by_keys}
    for count, (name, place) in enumerate(BEFORE.items(), start=1):
        draw(table, ways[name], place)
        label(table, name)
        learnt = table.listener.wait_learnt(count)
        assert learnt.labels == (name,)
        (x, y), region = place, learnt.region
        assert abs(region.center_x - x) < 10 and abs(region.center_y - y) < 10
        assert 40 < region.size_x < 80 and 40 < region.size_y < 80
    # Nothing was taught at these places.
    table.camera.places = AFTER
    wait_seen(table, AFTER)
    check_access(table)
    table.page.keyboard.press('Escape')
    assert table.page.wait_for_function(PRESSED_LATE, polling=100).json_value() == 'as drawn'
    assert not table.errors


WHOLE_PICTURES = FEATURES.partition('      regions:')[0]


@pytest.mark.parametrize('table', [WHOLE_PICTURES], indirect=True, ids=['whole pictures'])
def test_small_things_are_named_in_boxes_of_the_nodes_own(table):
    """The node cuts nothing by itself; asked for a picture, it finds the things in it."""
    for name, place in BEFORE.items():
        draw(table, by_mouse, place)
        label(table, name)
    while True:  # as in draw()
        table.page.wait_for_selector('#camera[data-picture=yes]')
        with table.message('^In boxes|^no box came|^No box shows'):
            table.page.keyboard.press('l')
        if table.page.text_content('#message').startswith('In boxes'):
            break
        table.page.keyboard.press('Escape')
    wait_seen(table, BEFORE)
    assert not table.errors


def test_no_serious_violation_where_boxes_are_shown_and_drawn(table, axe):
    def check(what):
        for scheme in ('light', 'dark'):
            table.page.emulate_media(color_scheme=scheme)
            check_with_axe(table, f'{what}, {scheme}')
    draw(table, by_mouse, BEFORE['cup'])
    label(table, 'cup')
    table.page.locator('#boxes g.seen').first.wait_for()
    table.page.add_script_tag(path=axe)
    check('boxes')
    table.begin_box(lambda: table.page.keyboard.press('b'))
    table.page.get_by_role('application').wait_for()
    check('drawing')
    for _ in ('the box', 'the picture'):
        table.page.keyboard.press('Escape')
    draw(table, by_keys, BEFORE['cup'])
    check('drawn')


def check_access(table):
    """Names and roles of what is new, as a screen reader gets them."""
    page = table.page
    buttons = page.get_by_role('group', name='Boxes that the robot looks at').get_by_role('button')
    buttons.filter(has_text='cup').first.wait_for()  # the list changes with each picture
    button = page.get_by_role('button', name='Box B', exact=True)
    assert button.get_attribute('aria-pressed') == 'false'
    assert page.get_by_role('application').count() == 0
    table.begin_box(lambda: button.press('Enter'))
    box = page.get_by_role('application')
    assert 'arrow keys' in box.get_attribute('aria-label')
    assert box.evaluate('element => element === document.activeElement')
    page.keyboard.press('Escape')
    assert button.get_attribute('aria-pressed') == 'false'
