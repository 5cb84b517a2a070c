# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Accessibility of every part of the page by axe-core, in light, dark and on a phone."""

import json

import pytest
from browser import Page
from dashboard_stand import DEADLINE, LATCHED, wait_until
from proemlc_ros.msg import SourceState
from proemlc_ros.srv import Annotate

pytestmark = pytest.mark.slow


@pytest.fixture
def address(stand):
    """Return the address of a page that has controls of a recording and of a simulated camera."""
    node = stand.listener.node
    node.create_publisher(SourceState, 'source/state', LATCHED).publish(SourceState(
        kind='images', name='cup/1.jpg', position=3, count=10, playing=True,
        things=['cup', 'plant'], shown=['cup']))
    return stand.start_dashboard(f'model_directory:={stand.models}')[1]


def test_no_violation_of_accessibility(browser, address, stand, axe):
    teach_without_picture(stand)
    for width in (1366, 390):
        page = Page(browser, address, color_scheme='light',
                    viewport={'width': width, 'height': 844}, bypass_csp=True).ready()
        page.where = str(width)
        look_at_all_parts(page, axe)
        page.close()


def teach_without_picture(stand):
    """Teach a vector of another sensor, of which there is no picture."""
    request = Annotate.Request()
    request.annotation.labels = ['cup']
    vector = next(iter(stand.listener.vectors.values()))
    request.annotation.features = vector.data.tolist()
    request.annotation.extractor = vector.extractor
    client = stand.listener.node.create_client(Annotate, 'proemlc/annotate')
    assert client.wait_for_service(DEADLINE)
    future = client.call_async(request)
    wait_until(future.done, 'the answer')
    assert future.result().success, future.result().message


# Again where what the classifier says comes behind it.
CONFUSED = """async () => {
  const { change, state } = await import('./state.js');
  state.progress.confusions = [{ label: 'cup', other: 'bowl', count: 2, pictures: [1, 2] }];
  state.progress.truth = 'Would be right on 8 of 10 pictures like those taught.';
  change('progress');
  return Boolean(document.querySelector('#confusions button'));
}"""


def look_at_all_parts(page, axe):
    page.page.add_script_tag(path=axe)
    page.page.locator('#source-scrub').wait_for()
    page.teach('cup')
    page.expect('#history-list', "taught 'cup'")
    page.page.click('#diagnostics-title')
    page.page.wait_for_function(CONFUSED, polling=100)
    assert page.page.locator('#source-folder').is_visible()
    check(page, 'live')
    page.page.click('#hold')
    page.page.locator('.label-row').first.click()
    check(page, 'held')
    page.page.keyboard.press('Escape')
    page.begin_box(lambda: page.page.click('#draw'))
    page.page.wait_for_selector('#camera[data-drawing]')
    check(page, 'drawing a box')
    page.page.keyboard.press('Escape')
    dialogs(page)
    gallery(page)


def dialogs(page):
    page.page.keyboard.press('?')  # On a phone the button is hidden.
    check(page, 'help')
    page.page.keyboard.press('Escape')
    page.page.click('[aria-label="Rename or remove cup"]')
    check(page, 'label')
    page.page.click('#label-dialog button[value=remove]')
    page.expect('#confirm-title', 'Remove')
    check(page, 'confirmation')
    page.page.keyboard.press('Escape')
    for button in ('#save', '#load'):
        page.page.click(button)
        page.page.wait_for_selector('#file-dialog[open]')
        check(page, button)
        page.page.keyboard.press('Escape')


def gallery(page):
    page.page.click('#open-gallery')
    page.page.locator('#gallery .sample').first.wait_for()
    page.page.locator('#gallery .thumb').first.click()
    check(page, 'gallery')


def check(page, where):
    """Check all rules in light colours; of the dark ones only the contrast can differ."""
    for scheme, options in (('light', {}), ('dark', {'runOnly': ['color-contrast']})):
        page.page.emulate_media(color_scheme=scheme)
        report = page.page.evaluate('options => axe.run(options)',
                                    {'resultTypes': ['violations'], **options})
        found = [(one['id'], one['impact'], [node['html'][:160] for node in one['nodes']])
                 for one in report['violations']]
        assert found == [], f'{scheme} {page.where}, {where}: {json.dumps(found, indent=1)}'
