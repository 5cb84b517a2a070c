// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The list of labels: how sure, how good, how many samples; press to teach or mark, hold to record.

import { $, make, setText } from './dom.js';
import { beginBurst, recordable } from './burst.js';
import { openLabel } from './dialogs.js';
import { fresh, hold, press, release, say, staleWords } from './draft.js';
import { orderedLabels, placeOfKey } from './label_order.js';
import { factsOf, shareOf, thresholdShare, verdictOf } from './progress.js';
import { change, on, shown, state } from './state.js';

const FIRST = 100;
const FIRST_DRAWN = 20;
let showAll = false;
let rows = [];

// Scores change many times a second; only rows that can be seen are drawn.
const rowOf = new WeakMap();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) rowOf.get(entry.target).visible = entry.isIntersecting;
  drawScores();
}, { rootMargin: '200px' });

function makeRow({ name, index, key }, place) {
  const row = { name, index, keyNumber: key };
  row.key = make('span', { class: 'key', 'aria-hidden': 'true' }, ...(key ? [make('kbd', {}, String(key))] : []));
  row.mark = make('span', { class: 'unseen' });
  row.fill = make('span');
  row.tick = make('span', { class: 'tick' });
  row.facts = make('span', { class: 'facts' });
  row.verdict = make('span', { class: 'verdict' });
  row.button = make('button', { type: 'button', class: 'label-row' },
    row.key, make('span', { class: 'name', title: name }, name, row.mark), row.facts,
    make('span', { class: 'bar', 'aria-hidden': 'true' }, row.fill, row.tick), row.verdict);
  recordable(row.button, { labels: [name] }, (prediction) => press(name, prediction));
  const more = make('button', { type: 'button', class: 'more', 'aria-label': `Rename or remove ${name}`, onclick: () => openLabel(name) }, '⋯');
  row.item = make('li', {}, row.button, ...(index < 0 ? [] : [more]));
  row.visible = place < FIRST_DRAWN;
  rowOf.set(row.item, row);
  watcher.observe(row.item);
  return row;
}

// A number key: live, it teaches and goes on while it is down; held, it marks.
export function pressPlace(place) {
  const name = placeOfKey(place, rows);
  if (!name) return;
  if (state.held) press(name);
  else if (!shown()) say('There is nothing to label: no prediction has come yet.', 'bad');
  else if (!fresh()) say(staleWords(), 'bad');
  else beginBurst({ labels: [name] }, shown());
}

function drawList() {
  const found = orderedLabels();
  const visible = showAll ? found : found.slice(0, FIRST);
  const focused = rows.find((row) => row.button === document.activeElement)?.name;
  const same = rows.length === visible.length && rows.every((row, place) => row.name === visible[place].name
    && row.index === visible[place].index && row.keyNumber === visible[place].key);
  if (!same) {
    watcher.disconnect();
    rows = visible.map(makeRow);
    $('label-list').replaceChildren(...rows.map((row) => row.item));
    rows.find((row) => row.name === focused)?.button.focus({ preventScroll: true });
  }
  const hidden = found.length - visible.length;
  $('label-more').hidden = hidden === 0;
  $('label-more').textContent = `Show the other ${hidden}, or filter above`;
  $('label-empty').hidden = found.length > 0;
  $('label-empty').textContent = state.known.size ? 'No label matches the filter.' : 'No label yet. Type the first one under “New label”.';
  setText($('label-count'), state.known.size ? `${state.known.size}` : '');
  drawScores();
}

function drawScores() {
  const prediction = shown();
  const { labels, held } = state;
  const seen = new Set(prediction?.predicted ?? []);
  for (const row of rows.filter(({ visible }) => visible)) {
    const share = shareOf(prediction, row.index);
    const mark = held?.marks.get(row.name);
    row.fill.style.transform = `scaleX(${share ?? 0})`;
    row.tick.style.left = `${100 * thresholdShare(prediction, labels, row.index)}%`;
    row.button.classList.toggle('seen', seen.has(row.name));
    row.button.dataset.share = share === null ? '' : share.toFixed(3);
    row.button.dataset.mark = mark === undefined ? '' : (mark ? 'present' : 'absent');
    setText(row.mark, mark === undefined ? '' : (mark ? ', marked present' : ', marked absent'));
    setText(row.facts, factsOf(row.index, share));
    const [word, kind] = verdictOf(row.name, row.index);
    setText(row.verdict, word);
    row.verdict.dataset.kind = kind;
  }
}

// --- type a few letters and Enter: the first label that matches ----------------------------------

function takeFirst() {
  const first = rows[0];
  if (!$('label-filter').value.trim() || !first) return;
  const live = state.held?.typing && !state.held.marks.size;
  const { prediction } = state.held ?? {};
  $('label-filter').value = '';
  if (live) {
    release();
    press(first.name, prediction);
    $('label-filter').blur();
  } else {
    press(first.name);
  }
  drawList();
}

// What is typed is about the picture that was there when the typing began.
function holdWhileTyping() {
  const text = $('label-filter').value.trim();
  if (text && !state.held && fresh()) hold({ typing: true });
  drawList();
}

$('label-filter').oninput = holdWhileTyping;
$('label-filter').onblur = () => { if (state.held?.typing && !state.held.marks.size) release(); };
$('label-filter').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  takeFirst();
});
$('label-order').onchange = drawList;
$('label-more').onclick = () => { showAll = true; drawList(); };
on('labels marks order progress', drawList);
on('prediction', drawScores);
change('labels');
