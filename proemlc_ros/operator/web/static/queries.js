// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The classifier's queries: the oldest first, each with its picture and its likeliest labels.

import { $, make } from './dom.js';
import { say, take, teach } from './draft.js';
import { ask } from './link.js';
import { change, on, state } from './state.js';

const SHOWN = 3;
let announced = 0;

const predictionOf = (query) => ({
  stamp: query.stamp, predicted: [], scores: [], novelty: query.novelty, version: -1,
});

export async function answer(query = state.queries[0]) {
  if (!query) return say('The robot asks nothing at the moment.', 'bad');
  let bitmap = null;
  if (query.picture) {
    const picture = await fetch(`pictures/${query.stamp}.jpg`);
    if (picture.ok) bitmap = await createImageBitmap(await picture.blob());
  }
  take({ stamp: query.stamp, prediction: predictionOf(query), bitmap, query });
  $('teach').focus();
}

function skip(query) {
  ask('skip', { stamp: query.stamp });
}

function card(query) {
  const picture = query.picture
    ? [make('img', { src: `pictures/${query.stamp}.jpg`, alt: 'What the robot saw', loading: 'lazy' })] : [];
  const guesses = query.candidates.slice(0, 2).map((name) => make('button', {
    type: 'button', title: `Answer ${name}`, onclick: () => teach(predictionOf(query), [name], []),
  }, name));
  return make('li', { class: picture.length ? 'pictured' : '' }, ...picture,
    make('p', { class: 'text' }, 'What is this?', make('span', { class: 'quiet' }, query.text)),
    make('div', { class: 'row' },
      make('button', { type: 'button', class: 'answer', onclick: () => answer(query) }, 'Answer'),
      ...guesses,
      make('button', { type: 'button', class: 'skip-query', onclick: () => skip(query) }, 'Skip')));
}

function draw() {
  const { queries } = state;
  $('queries').replaceChildren(...queries.slice(0, SHOWN).map(card));
  $('query-empty').hidden = queries.length > 0;
  $('query-count').textContent = queries.length ? `${queries.length}` : '';
  if (queries.length > announced) $('query-said').textContent = `The robot asks: ${queries.at(-1).text}`;
  announced = queries.length;
  // Answered or skipped by somebody else while it is held here.
  const open = state.held?.query;
  if (open && !queries.some(({ stamp }) => stamp === open.stamp)) {
    state.held.query = null;
    change('marks');
  }
}

on('queries', draw);
