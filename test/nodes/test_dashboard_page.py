# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, with the real nodes over DDS: annotations and the model."""

import pytest
from browser import Page

pytestmark = pytest.mark.slow


@pytest.fixture
def address(stand):
    return stand.start_dashboard(f'model_directory:={stand.models}')[1]


def show(stand, page, scene):
    """Put things on the table and wait until the page shows them."""
    page.wait_stamp(stand.listener.show(scene))


@pytest.fixture
def page(browser, address, stand):
    opened = Page(browser, address).ready()
    opened.wait_stamp(stand.listener.newest())
    yield opened
    opened.close()
    assert opened.errors == []


def test_labelling_what_was_seen(page, stand):
    listener = stand.listener
    page.page.fill('#who', 'Ann')
    page.page.press('#who', 'Tab')
    teach_typed_and_pressed_labels(page, stand)
    hold_and_mark(page, listener)

    page.press('Learnt: none of them', lambda: page.page.click('#none'))
    none = listener.wait_learnt(5)
    assert (none.labels, none.absent, none.complete) == ((), (), True)

    page.page.check('[name=rest][value=unknown]')
    page.press('Learnt: cup', lambda: page.row('cup').click())
    assert listener.wait_learnt(6).complete is False
    page.page.check('[name=rest][value=absent]')

    with page.message('ook back|undone|undid'):
        page.page.click('#undo')
    page.expect('#activity', r'Ann took back entry \d+')
    page.expect('#figures', ' 5 samples')


def teach_typed_and_pressed_labels(page, stand):
    listener = stand.listener
    # Held while it was typed, then taught at once.
    page.press('Learnt: cup. Now seen as cup', lambda: page.type_label('cup'))
    first = listener.wait_learnt(1)
    assert (first.labels, first.complete, first.annotator) == (('cup',), True, 'Ann')
    listener.wait_vector(first.stamp)

    show(stand, page, 'B')
    page.teach('bowl')
    page.expect('#label-count', '2')
    # Live: one click teaches what is shown now.
    page.press('Learnt: bowl', lambda: page.row('bowl').click())
    one_click = listener.wait_learnt(3)
    assert one_click.labels == ('bowl',)
    listener.wait_vector(one_click.stamp)
    page.expect('#sees', 'bowl')


def hold_and_mark(page, listener):
    page.page.click('#hold')
    page.expect('#view-title', '^Held at')
    held = page.page.inner_text('#view-title')
    later = listener.show('AB')
    page.row('cup').click()
    page.row('bowl').click()
    page.row('bowl').click()
    page.expect('#rest-note', 'stays unknown')
    assert page.page.inner_text('#view-title') == held  # what was held stays on the page
    with page.message('Learnt: cup, not bowl'):
        page.page.click('#teach')
    marked = listener.wait_learnt(4)
    assert (marked.labels, marked.absent, marked.complete) == (('cup',), ('bowl',), False)
    assert marked.stamp < later
    page.expect('#view-title', '^Live')


def test_new_label_warns_of_a_near_duplicate_and_completes(page, stand):
    page.teach('cup')
    page.expect('#label-count', '1')

    def choose(answer):
        page.type_label('cups')
        page.expect('#duplicate', 'nearly the same as “cup”')
        page.page.click(f'#duplicate button:has-text("{answer}")')

    page.press('Learnt: cup', lambda: choose('Use “cup”'))
    assert stand.listener.wait_learnt(2).labels == ('cup',)
    page.press('Learnt: cups', lambda: choose('Add “cups” anyway'))
    page.expect('#label-count', '2')
    options = page.page.locator('#known-labels option').evaluate_all(
        'all => all.map(option => option.value)')
    assert options == ['cup', 'cups']


def test_model_rename_remove_save_load(page, stand):
    page.teach('cup')
    show(stand, page, 'B')
    page.teach('bowl')
    page.expect('#label-count', '2')

    page.page.click('#save')
    page.page.fill('#file-name', 'kitchen')
    with page.message('kitchen'):
        page.page.click('#file-go')
    assert (stand.models / 'kitchen.npz').exists()
    page.page.click('#save')
    page.page.click('#file-go')  # The same name again: it is asked first.
    page.expect('#confirm-title', 'Overwrite kitchen')
    page.page.click('#confirm-dialog button[value=cancel]')

    page.page.click('[aria-label="Rename or remove cup"]')
    page.page.fill('#rename-to', 'mug')
    page.page.click('#label-dialog button[value=rename]')
    page.expect_names('mug', 'bowl')
    page.page.click('[aria-label="Rename or remove bowl"]')
    page.page.click('#label-dialog button[value=remove]')
    page.expect('#confirm-title', 'Remove “bowl”')
    page.page.click('#confirm-go')
    page.expect('#label-count', '^1$')
    page.expect('#activity', "removed 'bowl'")
    back_and_forth(page, "removed 'bowl'", '^2$', '^1$')
    load_a_file(page)
    a_file_goes_to_another_computer_and_back(page, stand)


def back_and_forth(page, what, before, after):
    """Undo the last step and make it again, by keys."""
    page.expect('#undo-next', f'^Undo takes back: {what}')
    with page.message(f'took back: {what}'):
        page.page.keyboard.press('u')
    page.expect('#label-count', before)
    page.expect('#history-redo-what', what)
    with page.message(f'made again: {what}'):
        page.page.keyboard.press('r')
    page.expect('#label-count', after)


def load_a_file(page):
    page.page.click('#load')
    page.page.fill('#file-name', 'nothing_here')
    with page.message('nothing_here'):
        page.page.click('#file-go')
        page.page.click('#confirm-go')
    assert page.page.get_attribute('#message', 'data-kind') == 'bad'
    page.page.click('#load')
    page.page.select_option('#file-list', 'kitchen.npz')
    with page.message('loaded kitchen'):
        page.page.click('#file-go')
        page.page.click('#confirm-go')
    page.expect('#label-count', '^2$')
    page.expect_names('cup', 'bowl')
    back_and_forth(page, 'loaded kitchen.npz', '^1$', '^2$')
    page.page.click('#load')
    page.page.click('#file-dialog button[value=cancel]')


def a_file_goes_to_another_computer_and_back(page, stand):
    page.page.click('#save')
    page.page.fill('#file-name', 'house')
    page.page.check('#file-too')
    with page.page.expect_download() as download:
        page.page.click('#file-go')
    path = stand.models.parent / 'mine.npz'
    download.value.save_as(path)
    assert download.value.suggested_filename == 'house.npz'
    assert path.read_bytes() == (stand.models / 'house.npz').read_bytes()
    page.page.click('[aria-label="Rename or remove bowl"]')
    page.page.fill('#rename-to', 'dish')
    page.page.click('#label-dialog button[value=rename]')
    page.expect_names('cup', 'dish')
    upload(page, path, 'loaded mine.npz: 2 labels')
    page.expect_names('cup', 'bowl')
    broken = stand.models.parent / 'broken.npz'
    broken.write_bytes(b'no model')
    upload(page, broken, 'this is not a model file')
    assert page.page.get_attribute('#message', 'data-kind') == 'bad'
    assert not (stand.models / 'broken.npz').exists()
    page.expect_names('cup', 'bowl')


def upload(page, path, message):
    page.page.click('#load')
    with page.page.expect_file_chooser() as chooser:
        page.page.click('#file-upload')
    chooser.value.set_files(path)
    page.expect('#confirm-title', f'Load {path.name} of this computer')
    with page.message(rf'^(?!Uploading).*{message}'):
        page.page.click('#confirm-go')


def skip_all(page, cards):
    """Skip queries one by one, as long as the list has such; each must go, and it alone."""
    while stamps := cards.evaluate_all('cards => cards.map(card => card.dataset.stamp)'):
        card = page.page.locator(f'#queries li[data-stamp="{stamps[0]}"]')
        # Already gone where the model has become sure meanwhile.
        card.locator('.skip-query').evaluate_all('buttons => buttons.forEach(one => one.click())')
        card.wait_for(state='detached')


def test_queries_are_answered_and_skipped(page, stand):
    page.teach('bowl')  # Nothing is asked before the first label is known.
    stand.listener.show('CD')
    page.expect('#query-count', r'\d')
    pictured = page.page.locator('#queries li.pictured')
    bare = page.page.locator('#queries li:not(.pictured)')
    pictured.or_(bare).first.wait_for()
    skip_all(page, bare)  # What was asked before the dashboard found the camera.
    page.open_question('#queries li.pictured')
    page.page.wait_for_selector('#camera[data-picture=yes]')
    page.type_label('cup')
    with page.message('Learnt: cup'):
        page.page.click('#teach')
    asked = stand.listener.wait_learnt(2)
    assert asked.labels == ('cup',)
    if asked.stamp >= min(stand.listener.vectors):  # Else it was asked before we listened.
        stand.listener.wait_vector(asked.stamp)
    skip_one_and_answer_another(page, stand)


def first_since(page, stamp):
    """Return the stamp of the first question that was asked since a stamp; older are skipped.

    The model may become sure of the older ones at any time, and they are the first in the list.
    """
    cards = page.page.locator('#queries li')
    while True:
        cards.first.wait_for()
        stamps = cards.evaluate_all('cards => cards.map(card => card.dataset.stamp)')
        if since := [one for one in stamps if int(one) >= stamp]:
            return since[0]
        for one in stamps:
            skip_all(page, page.page.locator(f'#queries li[data-stamp="{one}"]'))


def skip_one_and_answer_another(page, stand):
    stamp = first_since(page, stand.listener.show('EF'))
    card = page.page.locator(f'#queries li[data-stamp="{stamp}"]')
    card.locator('.skip-query').click()
    # It stays in its place, without effect, while the pointer is over the list.
    page.page.wait_for_selector(f'#queries li[data-stamp="{stamp}"][inert]')
    page.page.mouse.move(2, 2)
    card.wait_for(state='detached')
    page.page.reload()
    page.ready()
    show(stand, page, 'GH')
    # A guess at something new, or a question about the one label that there is.
    guess = page.page.locator('#queries li:has([title="Answer cup"], .yes)')
    guess.first.wait_for()
    assert card.count() == 0  # Skipped for everybody.
    with page.message('Learnt: cup'):
        guess.first.locator('[title="Answer cup"], .yes').first.click()
    assert stand.listener.wait_learnt(3).labels == ('cup',)


def test_keys(page, stand):
    page.teach('cup')
    page.page.locator('body').click(position={'x': 2, 'y': 2})
    annotate_by_keys(page, stand.listener)
    keyboard = page.page.keyboard
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
    page.wait_stamp(stand.listener.show('B'))  # live, or this prediction would not be shown
    page.expect('#view-title', '^Live')


def annotate_by_keys(page, listener):
    keyboard = page.page.keyboard
    page.press('Learnt: cup', lambda: keyboard.press('1'))
    assert listener.wait_learnt(2).labels == ('cup',)
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('1')
    keyboard.press('1')
    with page.message('Learnt: not cup'):
        keyboard.press('Enter')
    assert listener.wait_learnt(3).absent == ('cup',)
    keyboard.press('u')
    page.expect('#activity', 'took back')
    page.press('Learnt: none of them', lambda: keyboard.press('0'))
    assert listener.wait_learnt(4).labels == ()
    keyboard.press(' ')
    page.expect('#view-title', '^Held')
    keyboard.press('Escape')
    page.expect('#view-title', '^Live')
    page.press('Learnt: spoon', lambda: type_by_keys(keyboard, 'spoon'))
    assert listener.wait_learnt(5).labels == ('spoon',)


def type_by_keys(keyboard, name):
    keyboard.press('Escape')  # leaves the field, where it was refused before
    keyboard.press('n')
    keyboard.type(name)
    keyboard.press('Enter')


def test_panels_theme_and_order(page, stand):
    page.teach('cup')
    show(stand, page, 'B')
    page.teach('bowl')
    page.expect('#label-count', '^2$')
    page.press('Learnt: bowl', lambda: page.row('bowl').click())
    page.expect('#curve-words', r'Hamming loss [\d.]+ after \d+ samples')
    assert page.page.locator('#curve .introduced').all_text_contents() == ['cup', 'bowl']
    page.page.select_option('#label-order', 'name')
    page.expect_names('bowl', 'cup')
    page.page.select_option('#label-order', 'count')
    page.expect_names('bowl', 'cup')
    page.expect('.label-row.seen .facts', '· 2 samples')
    page.page.click('#diagnostics-title')
    page.expect('#diagnostics', 'Samples learnt')
    for theme, shade in (('light', 245), ('dark', 17), ('', 245)):
        page.page.click('#theme')
        colour = page.page.evaluate('getComputedStyle(document.body).backgroundColor')
        assert colour.startswith(f'rgb({shade},'), (theme, colour)


def test_nothing_leaves_its_panel(page):
    page.teach('a name that is as long as some people like their names to be')
    page.expect('#label-count', '1')
    for width in (1440, 1200, 1024, 900, 721, 390, 320):
        page.resize(width, 900)
        assert page.page.evaluate(OUTSIDE) == [], width


# Names the visible elements that reach out of the panel they are in.
OUTSIDE = """() => [...document.querySelectorAll('.card')].flatMap((card) => {
  // On a phone a panel may leave its parts to the page.
  const edge = card.getClientRects().length ? card.getBoundingClientRect().right : innerWidth;
  return [...card.querySelectorAll('button, input, select, canvas, p, h2, img, svg')]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > edge)
    .map((element) => element.id || element.className);
})"""
