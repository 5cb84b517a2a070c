// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The gallery: every taught sample with its picture; relabel or delete any of them. Only the cards that
// can be seen exist, and only their pages are asked for: ten thousand samples scroll like a hundred.

import { $, clockTime, make, setText } from './dom.js';
import { ask } from './link.js';
import { on, state } from './state.js';

const PAGE = 100;
const WIDTH = 148;         // of a card, at least
const HEIGHT = 190;
const GAP = 10;
// Milliseconds without scrolling before pictures are loaded.
const PAUSE = 90;
let samples = [];          // by place; holes are not asked for yet
let total = 0;
let waiting = new Set();   // pages that are asked for
let cards = new Map();     // by place
let chosen = new Set();    // numbers
let columns = 1;
let step = WIDTH + GAP;      // from a card to the next, so that they fill the row
let drawing = false;
let pictureTimer = 0;
let edition = 0;           // answers about an earlier list are dropped

const isOpen = () => $('gallery').open;

export function openGallery() {
  if (!isOpen()) $('gallery').showModal();
  fillLabels();
  reload();
}

function fillLabels() {
  const wanted = $('gallery-label').value;
  $('gallery-label').replaceChildren(make('option', { value: '' }, 'all labels'),
    ...state.labels.names.map((name) => make('option', { value: name }, name)));
  $('gallery-label').value = state.known.has(wanted) ? wanted : '';
}

function fillPeople(people) {
  const wanted = $('gallery-who').value;
  $('gallery-who').replaceChildren(make('option', { value: '' }, 'everybody'),
    ...people.map((name) => make('option', { value: `=${name}` }, name || 'not stated')));
  $('gallery-who').value = people.some((name) => `=${name}` === wanted) ? wanted : '';
}

async function reload(keepPlace = false) {
  edition += 1;
  samples = [];
  waiting = new Set();
  chosen = new Set();
  if (!keepPlace) $('gallery-scroll').scrollTop = 0;
  await load(keepPlace ? Math.floor(firstVisible() / PAGE) : 0);
  for (const card of cards.values()) card.item.remove();
  cards = new Map();
  draw();
  drawChosen();
}

async function load(page) {
  if (waiting.has(page)) return;
  waiting.add(page);
  const mine = edition;
  const who = $('gallery-who').value;
  const answer = await ask('samples', {
    label: $('gallery-label').value, order: $('gallery-order').value, offset: page * PAGE, limit: PAGE,
    ...(who ? { who: who.slice(1) } : {}),
  });
  if (mine !== edition) return;
  if (!answer.done) {
    setText($('gallery-message'), answer.message);
    return;
  }
  total = answer.total;
  answer.samples.forEach((sample, place) => { samples[page * PAGE + place] = sample; });
  fillPeople(answer.people);
  setText($('gallery-count'), `${total}`);
  $('gallery-empty').hidden = total > 0;
  drawSoon();
}

const firstVisible = () => Math.max(0, Math.floor($('gallery-scroll').scrollTop / HEIGHT) - 1) * columns;

function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; draw(); });
}

function draw() {
  const scroll = $('gallery-scroll');
  columns = Math.max(1, Math.floor((scroll.clientWidth - GAP) / (WIDTH + GAP)));
  step = (scroll.clientWidth - GAP) / columns;
  $('gallery-grid').style.setProperty('--card-width', `${step - GAP}px`);
  $('gallery-grid').style.height = `${Math.ceil(total / columns) * HEIGHT}px`;
  const first = firstVisible();
  const last = Math.min(total, first + (Math.ceil(scroll.clientHeight / HEIGHT) + 3) * columns);
  for (const [place, card] of cards) {
    if (place < first || place >= last || card.sample !== samples[place]) {
      card.item.remove();
      cards.delete(place);
    }
  }
  for (let place = first; place < last; place += 1) {
    if (!samples[place]) load(Math.floor(place / PAGE));
    else if (!cards.has(place)) addCard(place, samples[place]);
    if (cards.has(place)) moveTo(cards.get(place).item, place);
  }
  loadPicturesSoon();
}

// Each picture is a question to the classifier: only those that are looked at are asked for.
function loadPicturesSoon() {
  clearTimeout(pictureTimer);
  pictureTimer = setTimeout(() => {
    for (const picture of $('gallery-grid').querySelectorAll('img:not([src])')) picture.src = `samples/${picture.dataset.number}.jpg`;
  }, PAUSE);
}

function moveTo(item, place) {
  const x = GAP + (place % columns) * step;
  item.style.transform = `translate(${x}px, ${Math.floor(place / columns) * HEIGHT}px)`;
}

const said = (sample) => [...sample.labels, ...(sample.complete ? [] : sample.absent.map((name) => `not ${name}`))].join(', ') || 'none';

function addCard(place, sample) {
  const picture = sample.picture
    ? make('img', { alt: '', width: WIDTH, height: 100, decoding: 'async', 'data-number': sample.number })
    : make('span', { class: 'no-thumb quiet' }, 'no picture');
  const choose = make('button', { type: 'button', class: 'thumb', 'aria-pressed': String(chosen.has(sample.number)),
    'aria-label': `Sample ${sample.number}: ${said(sample)}${sample.picture ? '' : ', no picture'}`, onclick: () => toggle(sample.number, choose) }, picture);
  const facts = `${clockTime(sample.taught)}${sample.who ? ` · ${sample.who}` : ''}`;
  const item = make('li', { class: 'sample' }, choose,
    make('span', { class: 'said', title: said(sample) }, said(sample)), make('span', { class: 'quiet facts', title: facts }, facts));
  if (sample.doubt > 0 && sample.doubtful) item.append(suggestion(sample));
  item.setAttribute('aria-setsize', total);
  item.setAttribute('aria-posinset', place + 1);
  cards.set(place, { item, sample });
  moveTo(item, place);
  $('gallery-grid').append(item);
}

// One press takes what the other samples say.
function suggestion(sample) {
  // That no label fits is no advice: the sample may be hard, or worth deleting.
  if (!sample.expected.length) return make('span', { class: 'unlike', title: 'The other samples say that none of the labels is there.' }, 'unlike the others');
  const words = sample.expected.join(', ');
  return make('button', { type: 'button', class: 'suggest', title: `The other samples say: ${words}`,
    onclick: () => change([sample.number], sample.expected, false) }, `→ ${words}`);
}

function toggle(number, button) {
  if (chosen.has(number)) chosen.delete(number);
  else chosen.add(number);
  button.setAttribute('aria-pressed', String(chosen.has(number)));
  drawChosen();
}

function drawChosen() {
  setText($('gallery-chosen'), chosen.size ? `${chosen.size} chosen` : 'Press pictures to choose them.');
  for (const id of ['gallery-relabel', 'gallery-delete']) $(id).disabled = !chosen.size;
}

async function change(numbers, labels, remove) {
  setText($('gallery-message'), '');
  const answer = await ask('change_samples', { samples: numbers, labels, remove });
  $('gallery-message').dataset.kind = answer.done ? 'good' : 'bad';
  setText($('gallery-message'), answer.done ? `${answer.message}. Undo in the history takes it back.` : answer.message);
  $('gallery-new').value = '';
  await reload(true);
}

function relabel() {
  const labels = $('gallery-new').value.split(',').map((name) => name.trim()).filter(Boolean);
  change([...chosen], labels, false);
}

$('open-gallery').onclick = openGallery;
$('gallery-close').onclick = () => $('gallery').close();
$('gallery-scroll').addEventListener('scroll', drawSoon, { passive: true });
addEventListener('resize', () => { if (isOpen()) drawSoon(); });
for (const id of ['gallery-order', 'gallery-label', 'gallery-who']) $(id).onchange = () => reload();
$('gallery-relabel').onclick = relabel;
$('gallery-delete').onclick = () => change([...chosen], [], true);
$('gallery-new').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  if (chosen.size) relabel();
});
on('labels', () => { if (isOpen()) fillLabels(); });
