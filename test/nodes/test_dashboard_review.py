# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The gallery and the history in a real browser, with the real nodes over DDS."""

import pytest
from browser import Page
from dashboard_stand import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def pages(browser, stand):
    """Return two people's pages."""
    address = stand.start_dashboard()[1]
    opened = []
    for name in ('Ada', 'Bob'):
        page = Page(browser, address).ready()
        page.page.fill('#who', name)
        page.page.press('#who', 'Tab')
        opened.append(page)
    yield opened
    for page in opened:
        page.close()
        assert page.errors == []


def test_gallery_and_history_of_two_people(pages, stand):
    ada, bob = pages
    for place, name in enumerate(('cup', 'bowl', 'cup', 'bowl'), 1):
        stand.listener.show('A' if name == 'cup' else 'B')
        ada.wait_stamp(stand.listener.newest())
        ada.teach(name)
        stand.listener.wait_learnt(place)
    undo_names_what_it_takes_back(ada, bob, stand)
    correct_in_the_gallery(ada)
    merge_labels(ada)


def undo_names_what_it_takes_back(ada, bob, stand):
    ada.expect('#undo-next', "^Undo takes back: taught 'bowl'$")
    bob.expect('#undo-next', r"^Undo takes back: taught 'bowl' \(Ada\)$")
    bob.press('Learnt: cup', lambda: bob.row('cup').click())
    stand.listener.wait_learnt(5)
    ada.expect('#undo-next', r"taught 'cup' \(Bob\)")
    an_earlier_list_takes_nothing_back(ada, bob, stand)
    ada.page.check('#history-mine')
    ada.expect('#undo-next', "^Undo takes back: taught 'bowl'$")
    with ada.message("took back: taught 'bowl'"):
        ada.page.keyboard.press('u')
    ada.expect('#history-redo-what', "taught 'bowl'")
    ada.expect('#history-list li.undone', 'undone')
    ada.page.uncheck('#history-mine')
    ada.expect('#undo-next', r"taught 'cup' \(Bob\)")
    with ada.message("made again: taught 'bowl'"):
        ada.page.click('#history-redo')


def an_earlier_list_takes_nothing_back(ada, bob, stand):
    """What one person's page says is taken back, or nothing, while another one goes on."""
    said = ada.page.evaluate(ASK_HISTORY)
    bob.press('Learnt: bowl', lambda: bob.row('bowl').click())
    stand.listener.wait_learnt(6)
    answer = ada.page.evaluate(ASK_UNDO, said)
    assert not answer['done'] and 'the history has changed' in answer['message']
    ada.expect('#undo-next', r"taught 'bowl' \(Bob\)")
    with bob.message("took back: taught 'bowl'"):
        bob.page.keyboard.press('u')
    ada.expect('#undo-next', r"taught 'cup' \(Bob\)")


# What a press of U sends, by a page that has not heard yet of the other person's last step.
ASK_HISTORY = """async () => {
  const { ask } = await import('./link.js');
  const { undo } = await ask('history', { mine: false, offset: 0, limit: 1 });
  return undo.map((step) => step.number);
}"""
ASK_UNDO = """async (steps) => {
  const { ask } = await import('./link.js');
  return ask('undo_change', { steps, mine: false });
}"""


def correct_in_the_gallery(page):
    page.page.click('#open-gallery')
    page.expect('#gallery-count', '^5$')
    cards = page.page.locator('#gallery .sample')
    wait_until(lambda: cards.count() == 5, 'five samples')
    # Their pictures are those of the journal; not all, since a camera's picture may get lost.
    page.page.wait_for_function("""() => {
      const pictures = [...document.querySelectorAll('#gallery img')];
      return pictures.length && pictures.every((one) => one.naturalWidth);
    }""")
    page.page.select_option('#gallery-who', '=Bob')
    page.expect('#gallery-count', '^1$')
    page.page.select_option('#gallery-who', '')
    page.page.select_option('#gallery-label', 'bowl')
    page.expect('#gallery-count', '^2$')
    page.page.locator('#gallery .thumb').first.click()
    page.expect('#gallery-chosen', '1 chosen')
    page.page.fill('#gallery-new', 'plate, red')
    page.page.click('#gallery-relabel')
    page.expect('#gallery-message', "relabelled sample \\d+ as 'plate', 'red'")
    page.expect('#gallery-count', '^1$')
    page.page.select_option('#gallery-label', '')
    page.page.select_option('#gallery-order', 'doubtful')
    page.expect('#gallery-count', '^5$')
    page.page.locator('#gallery .thumb').first.click()
    page.page.click('#gallery-delete')
    page.expect('#gallery-message', 'deleted sample')
    page.expect('#gallery-count', '^4$')
    page.expect('#figures', ' 4 samples')
    page.page.click('#gallery-close')
    page.expect('#undo-next', 'deleted sample')
    with page.message('took back: deleted sample'):
        page.page.keyboard.press('u')
    page.expect('#figures', ' 5 samples')  # the counts of labels come by another way


def merge_labels(page):
    page.page.click('[aria-label="Rename or remove plate"]')
    page.page.fill('#merge-into', 'bowl')
    page.page.click('#label-dialog button[value=merge]')
    page.expect('#confirm-title', 'Merge “plate” into “bowl”')
    page.expect('#confirm-text', '^1 sample of “plate” becomes “bowl”, which has 1')
    with page.message("merged 'plate' into 'bowl'"):
        page.page.click('#confirm-go')
    page.expect('#label-count', '^3$')
