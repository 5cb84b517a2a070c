// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The gallery: every taught sample with its picture; relabel or delete any of them. Only the cards that
// can be seen exist, and only their pages are asked for: ten thousand samples scroll like a hundred.

import { $, clockTime, make, setText } from './dom.js';
import { undoNext, working } from './history.js';
import { ask } from './link.js';
import { dropQuestion, namesMeant } from './near_twins.js';
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
let lastPressed = null;    // place, for Shift
let edition = 0;           // answers about an earlier list are dropped

const isOpen = () => $('gallery').open;

// All samples as they were chosen last, or those of one label in an order.
export function openGallery({ label = '', order = '' } = {}) {
  if (!isOpen()) $('gallery').showModal();
  fillLabels();
  if (label) {
    $('gallery-label').value = label;
    $('gallery-order').value = order;
    $('gallery-who').value = '';
  }
  reload();
}

// One sample alone, chosen already: what is typed next is its right label.
export function openSample(sample) {
  if (!isOpen()) $('gallery').showModal();
  fillLabels();
  edition += 1;
  show([sample], 1);
  chosen = new Set([sample.number]);
  redraw();
  $('gallery-new').focus();
}

function show(list, count) {
  samples = list;
  total = count;
  waiting = new Set();
  lastPressed = null;
  setText($('gallery-count'), `${total}`);
  $('gallery-empty').hidden = total > 0;
}

function redraw() {
  for (const card of cards.values()) card.item.remove();
  cards = new Map();
  draw();
  drawChosen();
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
  show([], total);
  chosen = new Set();
  if (!keepPlace) $('gallery-scroll').scrollTop = 0;
  await load(keepPlace ? Math.floor(firstVisible() / PAGE) : 0);
  redraw();
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
    'aria-label': `Sample ${sample.number}: ${said(sample)}${sample.picture ? '' : ', no picture'}`, onclick: (event) => press(event, place, sample.number) }, picture);
  const facts = `${clockTime(sample.taught)}${sample.who ? ` · ${sample.who}` : ''}`;
  const item = make('li', { class: 'sample' }, choose,
    make('span', { class: 'said', title: said(sample) }, said(sample)), make('span', { class: 'quiet facts', title: facts }, facts));
  if (sample.doubtful) item.append(suggestion(sample));
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

// With Shift, all from the one pressed before to this one.
async function press(event, place, number) {
  if (event.shiftKey && lastPressed !== null) {
    const [from, to] = [Math.min(lastPressed, place), Math.max(lastPressed, place)];
    await loadAll(from, to);
    for (let one = from; one <= to; one += 1) if (samples[one]) chosen.add(samples[one].number);
  } else if (chosen.has(number)) chosen.delete(number);
  else chosen.add(number);
  lastPressed = place;
  drawChosen();
}

// A second press chooses none.
async function selectAll() {
  if (chosen.size === total) chosen.clear();
  else {
    await loadAll(0, total - 1);
    samples.forEach((sample) => chosen.add(sample.number));
  }
  drawChosen();
}

async function loadAll(from, to) {
  for (let page = Math.floor(from / PAGE); page * PAGE <= to; page += 1) if (!samples[page * PAGE]) await load(page);
}

function drawChosen() {
  for (const { item, sample } of cards.values()) item.firstChild.setAttribute('aria-pressed', String(chosen.has(sample.number)));
  setText($('gallery-all'), total && chosen.size === total ? 'Select none' : 'Select all');
  setText($('gallery-chosen'), chosen.size ? `${chosen.size} chosen` : 'Press pictures to choose them; Shift chooses a row.');
  for (const id of ['gallery-relabel', 'gallery-delete']) $(id).disabled = !chosen.size;
}

async function change(numbers, labels, remove) {
  const what = `${remove ? 'Deleting' : 'Relabelling'} ${numbers.length === 1 ? 'a sample' : `${numbers.length} samples`} …`;
  const answer = await working(what, complain, ask('change_samples', { samples: numbers, labels, remove }));
  complain(answer.done ? `${answer.message}. Undo takes it back.` : answer.message, answer.done ? 'good' : 'bad');
  $('gallery-new').value = '';
  await reload(true);
}

async function relabel() {
  const numbers = [...chosen];
  const typed = $('gallery-new').value;
  const labels = typed.trim() ? await namesMeant(typed, $('gallery-duplicate'), complain) : [];
  if (labels) await change(numbers, labels, false);
}

function complain(text, kind = 'good') {
  $('gallery-message').dataset.kind = kind;
  setText($('gallery-message'), text);
}

$('open-gallery').onclick = () => openGallery();
$('gallery-close').onclick = () => $('gallery').close();
$('gallery-scroll').addEventListener('scroll', drawSoon, { passive: true });
addEventListener('resize', () => { if (isOpen()) drawSoon(); });
for (const id of ['gallery-order', 'gallery-label', 'gallery-who']) $(id).onchange = () => reload();
$('gallery-all').onclick = selectAll;
$('gallery-undo').onclick = async () => { if (await undoNext(complain)) await reload(true); };
$('gallery-relabel').onclick = relabel;
$('gallery-new').oninput = () => dropQuestion($('gallery-duplicate'));
$('gallery').addEventListener('close', () => dropQuestion($('gallery-duplicate')));
$('gallery-delete').onclick = () => change([...chosen], [], true);
$('gallery-new').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  if (chosen.size) relabel();
});
on('labels', () => { if (isOpen()) fillLabels(); });
