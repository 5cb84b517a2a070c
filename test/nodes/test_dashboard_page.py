# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, with the real nodes over DDS: teaching and the model."""

import pytest
from dashboard_stand import Page

pytestmark = pytest.mark.slow


@pytest.fixture
def address(stand):
    return stand.start_dashboard()[1]


@pytest.fixture
def page(browser, address):
    opened = Page(browser, address)
    yield opened.ready()
    opened.close()
    assert opened.errors == []


def test_labelling_what_was_seen(page, stand):
    listener = stand.listener
    page.page.fill('#who', 'Ann')
    page.page.press('#who', 'Tab')

    page.add('cup')  # held while it was typed, then taught at once
    page.expect('#message', 'Learnt: cup. That moment is now seen as cup')
    first = listener.wait_learnt(1)
    assert (first.labels, first.complete, first.annotator) == (('cup',), True, 'Ann')
    assert first.stamp in listener.moments

    listener.show('B')
    page.add('bowl')
    page.expect('#label-count', '2')
    page.row('bowl').click()  # live: one click teaches what is seen now
    page.expect('#message', 'Learnt: bowl')
    one_click = listener.wait_learnt(3)
    assert one_click.labels == ('bowl',) and one_click.stamp in listener.moments
    page.expect('#sees', 'bowl')

    page.page.click('#hold')
    held = page.page.inner_text('#view-title')
    assert held.startswith('Held at')
    listener.show('AB')
    page.row('cup').click()
    page.row('bowl').click()
    page.row('bowl').click()
    page.expect('#rest-note', 'stays unknown')
    assert page.page.inner_text('#view-title') == held  # what was seen stays on the stage
    page.page.click('#teach')
    page.expect('#message', 'Learnt: cup, not bowl')
    marked = listener.wait_learnt(4)
    assert (marked.labels, marked.absent, marked.complete) == (('cup',), ('bowl',), False)
    assert marked.stamp < max(listener.moments) - 300_000_000
    page.expect('#view-title', '^Live')

    page.page.click('#none')
    page.expect('#message', 'Learnt: none of them')
    none = listener.wait_learnt(5)
    assert (none.labels, none.absent, none.complete) == ((), (), True)

    page.page.check('[name=rest][value=unknown]')
    page.row('cup').click()
    assert listener.wait_learnt(6).complete is False
    page.page.check('[name=rest][value=absent]')

    page.page.click('#undo')
    page.expect('#message', 'ook back|undone|undid')
    page.expect('#activity', 'Ann took back the last annotation')
    page.expect('#figures', ' 5 samples')


def test_new_label_warns_of_a_twin_and_completes(page, stand):
    page.add('cup')
    page.expect('#label-count', '1')
    page.add('cups')
    page.expect('#twin', 'nearly the same as “cup”')
    page.page.click('#twin button >> nth=0')
    page.expect('#message', 'Learnt: cup')
    assert stand.listener.wait_learnt(2).labels == ('cup',)
    page.add('cups')
    page.page.click('text=Add “cups” anyway')
    page.expect('#label-count', '2')
    options = page.page.locator('#known-labels option').evaluate_all(
        'all => all.map(option => option.value)')
    assert options == ['cup', 'cups']


def test_model_rename_remove_save_load(page, stand):
    page.add('cup')
    page.expect('#label-count', '1')
    stand.listener.show('B')
    page.add('bowl')
    page.expect('#label-count', '2')

    page.page.click('#save')
    page.page.fill('#file-name', 'kitchen')
    page.page.click('#file-go')
    page.expect('#message', 'kitchen')
    assert (stand.models / 'kitchen.npz').exists()

    page.page.click('[aria-label="Rename or remove cup"]')
    page.page.fill('#rename-to', 'mug')
    page.page.click('#label-dialog button[value=rename]')
    page.expect_names('mug', 'bowl')
    page.page.click('[aria-label="Rename or remove bowl"]')
    page.page.click('#label-dialog button[value=remove]')
    page.expect('#label-count', '^1$')
    page.expect('#activity', 'removed bowl')

    page.page.click('#load')
    page.page.fill('#file-name', 'nothing_here')
    page.page.click('#file-go')
    page.expect('#message', 'nothing_here')
    assert page.page.get_attribute('#message', 'data-kind') == 'bad'
    page.page.click('#load')
    page.page.fill('#file-name', 'kitchen')
    page.page.click('#file-go')
    page.expect('#message', 'loaded kitchen')
    page.expect('#label-count', '^2$')
    page.expect_names('cup', 'bowl')
    page.page.click('#load')
    page.page.click('#file-dialog button[value=cancel]')


def skip_questions_without_picture(page, pictured):
    """Skip what was asked before the dashboard found the camera, and nothing else."""
    bare = page.page.locator('#questions li:not(.pictured) .skip-question')
    for _ in range(100):
        if pictured.count():
            return
        if bare.count():
            bare.first.click()
        page.page.wait_for_timeout(200)
    raise AssertionError('no question has a picture')


def test_questions_are_answered_and_skipped(page, stand):
    page.expect('#question-count', r'\d')
    pictured = page.page.locator('#questions li.pictured')
    skip_questions_without_picture(page, pictured)
    pictured.locator('.answer').first.click()
    page.expect('#view-title', 'The robot asks about')
    page.page.wait_for_selector('#stage[data-picture=yes]')
    page.page.fill('#new-label', 'cup')
    page.page.press('#new-label', 'Enter')
    page.page.click('#teach')
    page.expect('#message', 'Learnt: cup')
    asked = stand.listener.wait_learnt(1)
    assert asked.labels == ('cup',) and asked.stamp in stand.listener.moments
    before = page.page.locator('#questions li').count()
    if before:
        page.page.locator('#questions .skip-question').first.click()
    stand.listener.show('CD')
    page.page.locator('#questions [title="Answer cup"]').first.click()
    page.expect('#message', 'Learnt: cup')
    assert stand.listener.wait_learnt(2).labels == ('cup',)


def test_keys(page, stand):
    page.add('cup')
    page.expect('#label-count', '1')
    keyboard = page.page.keyboard
    page.page.locator('body').click(position={'x': 2, 'y': 2})
    keyboard.press('1')
    assert stand.listener.wait_learnt(2).labels == ('cup',)
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('1')
    keyboard.press('1')
    keyboard.press('Enter')
    assert stand.listener.wait_learnt(3).absent == ('cup',)
    keyboard.press('u')
    page.expect('#activity', 'took back')
    keyboard.press('0')
    assert stand.listener.wait_learnt(4).labels == ()
    keyboard.press(' ')
    keyboard.press('Escape')
    page.expect('#view-title', '^Live')
    keyboard.press('n')
    keyboard.type('spoon')
    keyboard.press('Enter')
    assert stand.listener.wait_learnt(5).labels == ('spoon',)
    keyboard.press('/')
    keyboard.type('spo')
    page.expect_names('spoon')
    keyboard.press('Escape')
    page.expect_names('cup', 'spoon')
    keyboard.press('s')
    page.page.wait_for_selector('#file-dialog[open]')
    keyboard.press('Escape')
    page.page.wait_for_selector('#file-dialog', state='hidden')
    keyboard.press('?')
    page.page.wait_for_selector('#help-dialog[open]')
    page.page.uncheck('#keys-on')
    keyboard.press('Escape')
    page.page.wait_for_selector('#help-dialog', state='hidden')
    keyboard.press(' ')
    page.page.wait_for_timeout(200)
    assert page.page.inner_text('#view-title').startswith('Live')


def test_panels_theme_and_order(page, stand):
    page.add('cup')
    page.expect('#label-count', '^1$')
    stand.listener.show('B')
    page.add('bowl')
    page.expect('#label-count', '^2$')
    page.row('bowl').click()
    page.expect('#curve-words', r'Hamming loss [\d.]+ after \d+ samples')
    assert page.page.locator('#curve .introduced').all_text_contents() == ['cup', 'bowl']
    page.page.select_option('#label-order', 'name')
    page.expect_names('bowl', 'cup')
    page.page.select_option('#label-order', 'count')
    page.expect_names('bowl', 'cup')
    page.expect('.label-row.seen .facts', '2×')
    page.page.click('#diagnostics-title')
    page.expect('#diagnostics', 'Samples learnt')
    for theme, shade in (('light', 245), ('dark', 17), ('', 245)):
        page.page.click('#theme')
        colour = page.page.evaluate('getComputedStyle(document.body).backgroundColor')
        assert colour.startswith(f'rgb({shade},'), (theme, colour)


def test_nothing_leaves_its_panel(page):
    page.add('a name that is as long as some people like their names to be')
    page.expect('#label-count', '1')
    for width in (1440, 1200, 1024, 900, 721, 390, 320):
        page.page.set_viewport_size({'width': width, 'height': 900})
        assert page.page.evaluate(OUTSIDE) == [], width


# Names the visible elements that reach out of the panel they are in.
OUTSIDE = """() => [...document.querySelectorAll('.card')].flatMap((card) => {
  const edge = card.getBoundingClientRect().right;
  return [...card.querySelectorAll('button, input, select, canvas, p, h2, img, svg')]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > edge)
    .map((element) => element.id || element.className);
})"""
