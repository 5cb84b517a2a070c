// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The list of labels: scores, thresholds, counts; press to teach or mark. Its order never follows
// the scores, so that no label moves away under the finger.

import { $, make, setText } from './dom.js';
import { openLabel } from './dialogs.js';
import { press } from './draft.js';
import { on, shown, state } from './state.js';

const FIRST = 100;
const FIRST_DRAWN = 20;
let showAll = false;
let rows = [];
let pressed = null;

// Scores change many times a second; only rows that can be seen are drawn.
const rowOf = new WeakMap();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) rowOf.get(entry.target).visible = entry.isIntersecting;
  drawScores();
}, { rootMargin: '200px' });

const plain = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

function order() {
  const { names, counts } = state.labels;
  const wanted = plain($('label-filter').value.trim());
  const typed = [...(state.held?.marks.keys() ?? [])].filter((name) => !state.known.has(name));
  let found = names.map((name, index) => ({ name, index })).filter(({ name }) => plain(name).includes(wanted));
  if ($('label-order').value === 'name') found.sort((a, b) => a.name.localeCompare(b.name));
  if ($('label-order').value === 'count') found.sort((a, b) => counts[b.index] - counts[a.index]);
  return [...typed.map((name) => ({ name, index: -1 })), ...found];
}

function makeRow({ name, index }, place) {
  const row = { name, index };
  row.key = make('span', { class: 'key', 'aria-hidden': 'true' }, ...(place < 9 ? [make('kbd', {}, String(place + 1))] : []));
  row.mark = make('span', { class: 'unseen' });
  row.fill = make('span');
  row.tick = make('span', { class: 'tick' });
  row.facts = make('span', { class: 'facts' });
  row.button = make('button', { type: 'button', class: 'label-row', onclick: () => pressRow(name) },
    row.key, make('span', { class: 'name', title: name }, name, row.mark), row.facts,
    make('span', { class: 'bar', 'aria-hidden': 'true' }, row.fill, row.tick));
  const more = make('button', { type: 'button', class: 'more', 'aria-label': `Rename or remove ${name}`, onclick: () => openLabel(name) }, '⋯');
  row.item = make('li', {}, row.button, ...(index < 0 ? [] : [more]));
  row.visible = place < FIRST_DRAWN;
  rowOf.set(row.item, row);
  watcher.observe(row.item);
  return row;
}

// What was shown when the finger went down, not when it came up.
function pressRow(name) {
  const prediction = pressed && performance.now() - pressed.at < 1000 ? pressed.prediction : shown();
  pressed = null;
  press(name, prediction);
}

export function pressPlace(place) {
  if (rows[place]) press(rows[place].name);
}

function drawList() {
  const found = order();
  const visible = showAll ? found : found.slice(0, FIRST);
  const focused = rows.find((row) => row.button === document.activeElement)?.name;
  const same = rows.length === visible.length
    && rows.every((row, place) => row.name === visible[place].name && row.index === visible[place].index);
  if (!same) {
    watcher.disconnect();
    rows = visible.map(makeRow);
    $('label-list').replaceChildren(...rows.map((row) => row.item));
    rows.find((row) => row.name === focused)?.button.focus();
  }
  const hidden = found.length - visible.length;
  $('label-more').hidden = hidden === 0;
  $('label-more').textContent = `Show the other ${hidden}, or filter above`;
  $('label-empty').hidden = found.length > 0;
  $('label-empty').textContent = state.known.size ? 'No label matches the filter.' : 'No label yet. Type the first one under “New label”.';
  setText($('label-count'), state.known.size ? `${state.known.size}` : '');
  drawScores();
}

// A score of -1 (absent) to +1 (present) as the share of the bar that is filled.
const share = (score) => Math.min(Math.max((score + 1) / 2, 0), 1);

function drawScores() {
  const prediction = shown();
  const { labels, held } = state;
  const current = prediction && prediction.version === labels.version && prediction.scores.length === labels.names.length;
  const seen = new Set(prediction?.predicted ?? []);
  for (const row of rows.filter(({ visible }) => visible)) {
    const score = current && row.index >= 0 ? prediction.scores[row.index] : null;
    const mark = held?.marks.get(row.name);
    row.fill.style.transform = `scaleX(${score === null ? 0 : share(score)})`;
    row.tick.style.left = `${100 * share(labels.thresholds[row.index] ?? 0)}%`;
    row.button.classList.toggle('seen', seen.has(row.name));
    row.button.dataset.mark = mark === undefined ? '' : (mark ? 'present' : 'absent');
    setText(row.mark, mark === undefined ? '' : (mark ? ', marked present' : ', marked absent'));
    setText(row.facts, factsOf(row, score));
  }
}

function factsOf(row, score) {
  if (row.index < 0) return 'new';
  const count = `${state.labels.counts[row.index]}×`;
  return score === null ? count : `${score.toFixed(2)} · ${count}`;
}

$('label-filter').oninput = drawList;
$('label-order').onchange = drawList;
$('label-more').onclick = () => { showAll = true; drawList(); };
$('label-list').addEventListener('pointerdown', () => { pressed = { prediction: shown(), at: performance.now() }; });
on('labels marks', drawList);
on('prediction', drawScores);
