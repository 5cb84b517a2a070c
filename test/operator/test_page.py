# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: led from the first minute on, and told the truth."""

import time

import pytest
from browser import Page
from page_stand import PageStand

from proemlc_ros.operator.classifier_view import Health
from proemlc_ros.operator.web.server import SHOWN


@pytest.fixture
def stand():
    stand = PageStand()
    yield stand
    stand.close()


@pytest.fixture
def page(browser, stand):
    page = Page(browser, stand.address).ready()
    yield page
    page.close()
    assert page.errors == []


def show(stand, page, scene):
    """Put something before the camera, and wait until the page shows it."""
    page.wait_stamp(stand.show(scene) + 1)


def taught(stand, page, **counts):
    """Teach scenes by their own names; the page shows the first one again, and all labels."""
    for name, count in counts.items():
        stand.show(name)
        stand.teach(name, count)
    show(stand, page, next(iter(counts)))
    page.expect('#label-count', f'^{len(counts)}$')


def hold(page, key, what, least=3):
    """Hold a key down until the page has recorded so many samples, or more."""
    def press():
        page.page.keyboard.up(key)  # as it is, unless it was refused before
        page.page.keyboard.down(key)

    page.press(f'Recording: {what}, ([{least}-9]|[1-9][0-9]+) samples', press)
    page.page.keyboard.up(key)


@pytest.mark.parametrize(('width', 'scheme'), [(1400, 'light'), (390, 'dark')])
def test_the_first_minute_by_the_words_of_the_page_and_the_keyboard_alone(
        browser, stand, measured, width, scheme):
    page = Page(browser, stand.address, color_scheme=scheme,
                viewport={'width': width, 'height': 844}).ready()
    begun, presses = time.monotonic(), 0
    page.expect('#lead', '^Show a thing, type its name, hold Enter.$')
    visible = page.page.locator('main :is(button, input, select, h2):visible')
    assert visible.evaluate_all('all => all.map((one) => one.id)') == [
        'draw', 'view-title', 'new-label', 'add', 'load-first']
    for name in ('cup', 'plate', 'plant'):
        show(stand, page, name)
        page.page.keyboard.press('n')
        page.page.keyboard.type(name)
        hold(page, 'Enter', name, 5)
        presses += 2
        page.expect('#sees', f'^{name}$')
        if name == 'cup':
            page.expect('#lead', 'It knows cup. Now show the empty place: hold 0.')
            show(stand, page, 'nothing')
            hold(page, '0', 'none of them', 5)
            presses += 1
            page.expect('#lead', 'Now show a second thing')
    for name, seen in (('cup', 'cup'), ('nothing', 'none of the labels'), ('plate', 'plate')):
        stand.show(name)
        page.expect('#sees', f'^{seen}$')
    page.expect('#truth', '^Would be right on all [0-9]+ pictures taught')
    assert presses <= 12
    measured(f'three things taught on the page in {time.monotonic() - begun:.0f} s')
    assert page.errors == []
    page.close()


def test_the_page_says_what_it_has_shown(page):
    """Else a slow one would get more than it can show, and fall behind more and more."""
    with page.page.expect_websocket() as opened:
        page.page.reload()
    opened.value.wait_for_event('framesent', lambda text: text == SHOWN)


def test_a_burst_of_one_view_asks_for_another_one(stand, page):
    taught(stand, page, cup=5)
    stand.classifier.still = True
    show(stand, page, 'plate')
    page.page.keyboard.press('n')
    page.page.keyboard.type('plate')
    page.press('Recording: plate, [12] samples?; [0-9]+ near copies left out. More of this view '
               'brings nothing: turn it, change the light, or show it in another place.',
               lambda: page.page.keyboard.down('Enter'))
    stand.classifier.still = False  # the thing is turned
    page.expect('#message', r'Recording: plate, ([3-9]|[0-9]{2,}) samples; .* left out\.$')
    page.page.keyboard.up('Enter')
    page.expect('#message', '^Learnt: plate')


def test_an_unknown_picture_is_looked_at_in_boxes(stand, page):
    taught(stand, page, cup=5)
    page.page.keyboard.press('l')
    page.expect('#message', 'In boxes: cup.')
    page.expect('#box-list', 'Box 1: cup · 1.30 m')
    page.page.keyboard.press('Escape')
    show(stand, page, 'plate')
    page.expect('#sees', 'I don’t know')
    page.page.keyboard.press(' ')  # held: it looks by itself
    page.expect('#message', 'In boxes: cup.')
    page.expect('#boxes .seen', 'cup · 1.30 m')


def test_a_predicted_label_rises_while_others_flicker(stand, page):
    things = [f'thing {number}' for number in range(11)]
    for name in things:
        stand.teach(name)
    show(stand, page, 'cup')
    stand.teach('cup')
    page.expect('#label-count', '^12$')
    stand.classifier.flickering = True
    page.page.wait_for_function(
        "() => document.querySelector('#label-list .name').title === 'cup'")
    assert page.names() == ['cup', *things]


def test_the_page_shows_what_silence_was_taught(stand, page):
    taught(stand, page, cup=6)
    assert 'Silence' not in page.page.inner_text('#good-points')
    stand.show('nothing')
    stand.teach('', 3)
    page.expect('#good-points', 'Silence: 3 pictures of “none of them” taught; 3 stay without a '
                                'label, each left out in turn.')


def test_questions_wait_for_a_label_and_are_three_at_most(stand, page):
    for _ in range(5):
        stand.call(stand.classifier.ask_about)
    show(stand, page, 'cup')
    assert page.page.locator('#queries li').count() == 0
    taught(stand, page, cup=5)
    newest = str(list(stand.view.queries)[-1].vector.stamp)
    page.page.wait_for_selector(f'#queries li[data-stamp="{newest}"]')
    stamps = page.page.locator('#queries li').evaluate_all(
        'all => all.map((one) => one.dataset.stamp)')
    assert len(stamps) == 3 and stamps == sorted(stamps, reverse=True)


def test_commas_separate_labels_and_near_twins_are_asked_about(stand, page):
    taught(stand, page, cup=5)
    page.press('Learnt: plate, salt, pepper', lambda: page.type_label('plate, "salt, pepper"'))
    assert stand.classifier.asked[-1].labels == ('plate', 'salt, pepper')
    page.expect('#label-count', '^3$')
    page.page.keyboard.press('n')
    page.page.keyboard.type('Plates')
    page.page.keyboard.press('Enter')
    page.page.click('#duplicate button:has-text("Use “plate”")')
    page.expect('#message', 'Learnt: plate[^,]')


def test_after_a_box_the_keys_are_the_pages_and_the_shares_are_those_of_the_box(stand, page):
    taught(stand, page, cup=5)
    page.expect('.label-row .facts', '^95 %')
    page.page.keyboard.press('b')
    page.page.wait_for_selector('#camera[data-drawing]')
    page.page.keyboard.press('Enter')
    page.expect('#message', '^Box held')
    page.expect('.label-row .facts', '^25 %')
    page.page.keyboard.press('1')
    page.page.wait_for_selector('.label-row[data-mark=present]')
    assert page.page.input_value('#new-label') == ''
    page.page.keyboard.press('Enter')
    page.expect('#message', 'Learnt: cup.*No boxes appear by themselves')


def test_sure_unsure_and_unknown_look_different(stand, page):
    taught(stand, page, cup=5)
    page.expect('#sees .chip:not(.unsure)', '^cup$')
    stand.classifier.unsure = True
    page.expect('#sees .chip.unsure', '^cup 43 %$')
    stand.show('plate')
    page.expect('#sees .chip.unknown', '^I don’t know$')


def test_bulk_relabel_is_one_step_with_shift_all_and_undo_inside(stand, page):
    taught(stand, page, cup=8)
    page.page.keyboard.press('g')
    thumbs = page.page.locator('#gallery .thumb')
    thumbs.nth(1).click()
    thumbs.nth(4).click(modifiers=['Shift'])
    page.expect('#gallery-chosen', '^4 chosen$')
    page.page.fill('#gallery-new', 'cups')
    page.page.press('#gallery-new', 'Enter')
    page.page.click('#gallery-duplicate button:has-text("anyway")')
    page.expect('#gallery-message', 'changed 4 samples. Undo takes it back')
    stand.call(stand.classifier.answering.clear)
    page.page.click('#gallery-undo')
    page.expect('#gallery-message', 'Undoing changed 4 samples … [1-9][0-9]* s')
    stand.call(stand.view.on_health, Health(0, '', (('Background work', 'half done'),)), None, 0)
    page.expect('#gallery-message', r' s \(half done\)$')
    page.page.evaluate("document.querySelector('#gallery .sample').dataset.old = 'yes'")
    stand.call(stand.classifier.answering.set)
    page.expect('#gallery-message', '^took back')
    # The new list begins with none chosen.
    page.page.wait_for_selector('#gallery [data-old]', state='detached')
    assert stand.classifier.names == ('cup',)
    page.page.click('#gallery-all')
    page.expect('#gallery-chosen', '^8 chosen$')
    assert page.page.locator('#gallery .thumb img').first.evaluate(
        'one => getComputedStyle(one).objectFit') == 'contain'


def test_the_names_of_folders_are_labels_and_confusions_lead_to_the_gallery(stand, page):
    names = [f'{kind}/{number}.jpg' for kind in ('cup', 'plate') for number in range(5)]
    stand.call(stand.classifier.source_is, names)
    page.expect('.where', '^1 of 10')
    for key, place in (('ArrowRight', 2), ('ArrowRight', 3), ('ArrowLeft', 2)):
        page.page.keyboard.press(key)
        page.expect('.where', f'^{place} of 10')
    page.expect('#source-folder', 'Teach “cup”')
    page.page.keyboard.press('f')  # teaches it, and goes on
    page.expect('.where', '^3 of 10')
    page.expect('#message', '^Learnt: cup')
    page.page.click('#source-folders')
    page.expect('#message', '^Taught by the names of folders: 10 of 10')
    page.expect('#source-folders', '^Teach all')
    assert [one.labels for one in stand.classifier.asked] == 4 * [('cup',)] + 5 * [('plate',)]
    page.expect('#truth', r'^Would be right on all 9 pictures taught, each left out in turn\. $')
    stand.classifier.taken_for = {'cup': 'plate'}
    stand.call(stand.classifier.publish)
    page.expect('#confusions', 'cup taken for plate, 4 times')
    page.page.wait_for_function("""() => [...document.querySelectorAll('#confusions img')].filter(
        (one) => one.naturalWidth).length === 2""")
    page.page.click('#confusions button')
    page.expect('#gallery-count', '^4$')
    page.expect('#gallery .sample:first-child .suggest', 'plate')


def test_enter_in_merge_into_merges_after_saying_what_will_change(stand, page):
    taught(stand, page, cup=5, plate=6)
    page.page.click('[aria-label="Rename or remove cup"]')
    page.page.fill('#merge-into', 'plate')
    page.expect('#label-dialog-change', 'Merge: 5 samples of “cup” become “plate”, which has 6')
    page.page.press('#merge-into', 'Enter')
    page.expect('#confirm-text', '5 samples of “cup” become “plate”')
    page.page.click('#confirm-go')
    page.expect('#message', 'done')
    assert stand.classifier.asked[-1] == ('merge_labels', 'operator 1', 'cup', 'plate')


def test_several_marks_and_none_are_recorded_while_the_key_is_down(stand, page):
    taught(stand, page, cup=5, plate=6)
    page.page.keyboard.press('Space')
    page.expect('#view-title', '^Held')
    for key in '12':
        page.page.keyboard.press(key)
    hold(page, 'Enter', 'cup, plate')
    assert sum(one.labels == ('cup', 'plate') for one in stand.classifier.asked
               if hasattr(one, 'labels')) > 2


def test_a_classifier_that_goes_and_comes_back(stand, page):
    taught(stand, page, cup=5)
    page.expect('#connection', '^connected$')
    stand.alive = False
    page.expect('#connection', '^the classifier is gone; waiting for it to come back$')
    stand.alive = True
    page.expect('#connection', '^connected$')


def test_what_is_most_like_a_picture_can_be_relabelled(stand, page):
    taught(stand, page, cup=5)
    page.expect('#like li:first-child span', '^cup$')
    assert page.page.locator('#like li').count() == 3
    # A picture that the journal has not is not asked for: the browser would tell of an error.
    stand.classifier.unpictured.add(max(stand.classifier.samples_taught))
    page.page.wait_for_function("() => document.querySelectorAll('#like img').length === 2")
    page.page.locator('#like button').first.click()
    page.expect('#gallery-chosen', '^1 chosen$')
    page.page.keyboard.type('mug')
    page.page.keyboard.press('Enter')
    page.expect('#gallery-message', 'changed 1 samples')


def test_the_picture_of_a_sample_that_was_deleted_on_its_way_is_no_error(stand, page):
    async def deleted(number):
        return None
    stand.classifier.picture = deleted  # before any is shown: a browser asks once for each
    taught(stand, page, cup=5)
    page.page.keyboard.press('g')
    page.page.wait_for_function("""() => {
      const asked = [...document.querySelectorAll('#gallery img[src]')];
      return asked.length === 5 && asked.every((one) => one.complete && !one.naturalWidth);
    }""")


def test_long_names_of_many_labels_are_whole(stand, page):
    names = [f'a rather long name of a thing, number {number}' for number in range(64)]
    stand.show('cup')
    for name in names:
        stand.teach(name)
    page.expect('#label-count', '64')
    cut = page.page.locator('#label-list .name').evaluate_all(
        'all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length')
    assert cut == 0
    assert page.page.get_attribute('#activity', 'tabindex') == '0'
