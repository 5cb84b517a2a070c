// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The classifier's newest questions, at most three, each with its picture and how sure it is. A card
// stays in its place while the pointer is over the list or somebody types in it.

import { $, make } from './dom.js';
import { say, take, teach } from './draft.js';
import { ask } from './link.js';
import { namesMeant } from './near_twins.js';
import { percent } from './progress.js';
import { change, on, state } from './state.js';

const SHOWN = 3;
const cards = new Map();
let announced = '';
let over = false;

const predictionOf = (query) => ({
  stamp: query.stamp, predicted: [], scores: [], novelty: query.novelty, version: -1, size: query.size,
});

// Opens a question as the held picture, to mark any labels.
export async function answer(query = state.queries[0]) {
  if (!query) return say('The robot asks nothing at the moment.', 'bad');
  let bitmap = null;
  if (query.picture) {
    const picture = await fetch(`pictures/${query.stamp}.jpg`);
    if (picture.status === 200) bitmap = await createImageBitmap(await picture.blob());
  }
  take({ stamp: query.stamp, prediction: predictionOf(query), bitmap, query });
  $('teach').focus({ preventScroll: true });
}

const skip = (query) => ask('skip', { stamp: query.stamp });
// About one label only: the others stay unknown.
const answerOne = (query, there) => teach(predictionOf(query), there ? [query.label] : [], there ? [] : [query.label], false);

function yesNo(query) {
  return [
    make('button', { type: 'button', class: 'yes', onclick: () => answerOne(query, true) }, 'Yes'),
    make('button', { type: 'button', class: 'no', onclick: () => answerOne(query, false) }, 'No'),
    make('button', { type: 'button', class: 'skip-query', onclick: () => skip(query) }, 'Not sure'),
    make('button', { type: 'button', class: 'answer plain', onclick: () => answer(query) }, 'Other …'),
  ];
}

function nameIt(query) {
  const field = make('input', { type: 'text', 'aria-label': 'What is new here?', placeholder: 'its name', autocomplete: 'off' });
  field.setAttribute('list', 'known-labels');
  const form = make('form', {}, field, make('button', { type: 'submit' }, 'Teach'));
  const twins = make('div', { class: 'duplicate', role: 'alert', hidden: true });
  form.onsubmit = async (event) => {
    event.preventDefault();
    const names = await namesMeant(field.value, twins, say);
    if (names && await teach(predictionOf(query), names, [])) field.value = '';
  };
  const guesses = query.candidates.slice(0, 2).map((name) => make('button', {
    type: 'button', title: `Answer ${name}`, onclick: () => teach(predictionOf(query), [name], []),
  }, name));
  return [form, twins, ...guesses,
    make('button', { type: 'button', class: 'answer plain', onclick: () => answer(query) }, 'Other …'),
    make('button', { type: 'button', class: 'skip-query', onclick: () => skip(query) }, 'Skip')];
}

function card(query) {
  const picture = query.picture
    ? [make('img', { src: `pictures/${query.stamp}.jpg`, alt: 'What the robot saw', loading: 'lazy', onclick: () => answer(query) })] : [];
  const scores = query.shares.map(([name, share]) => `${name} ${percent(share)}`).join(', ');
  const item = make('li', { class: picture.length ? 'pictured' : '' }, ...picture,
    make('p', { class: 'text' }, query.question, make('span', { class: 'quiet scores', title: query.text }, scores || 'no label known yet')),
    make('div', { class: 'row' }, ...(query.label ? yesNo(query) : nameIt(query))));
  item.dataset.stamp = query.stamp;
  return item;
}

const isBusy = () => over || $('queries').contains(document.activeElement);

function draw() {
  const { queries } = state;
  const open = new Map(queries.map((query) => [query.stamp, query]));
  for (const [stamp, item] of cards) {
    if (open.has(stamp)) continue;
    // Its place stays until the pointer has gone, or the next card would come under the finger.
    if (isBusy() && item.isConnected) item.inert = true;
    else { item.remove(); cards.delete(stamp); }
  }
  for (const query of queries) {
    if (cards.size >= SHOWN) break;
    if (!cards.has(query.stamp)) cards.set(query.stamp, card(query));
  }
  if (!isBusy()) $('queries').replaceChildren(...queries.map(({ stamp }) => cards.get(stamp)).filter(Boolean));
  else $('queries').append(...[...cards.values()].filter((item) => !item.isConnected));
  $('queries-card').hidden = !cards.size;
  $('query-count').textContent = queries.length ? `${queries.length}` : '';
  if (queries.length && queries[0].stamp !== announced) {
    announced = queries[0].stamp;
    $('query-said').textContent = `The robot asks: ${queries[0].question}`;
  }
  settleHeld(open);
}

// Answered or skipped by somebody else while it is held here.
function settleHeld(open) {
  const held = state.held?.query;
  if (held && !open.has(held.stamp)) {
    state.held.query = null;
    change('marks');
  }
}

$('queries').addEventListener('pointerenter', () => { over = true; });
$('queries').addEventListener('pointerleave', () => { over = false; draw(); });
$('queries').addEventListener('focusout', () => setTimeout(draw));
on('queries', draw);
