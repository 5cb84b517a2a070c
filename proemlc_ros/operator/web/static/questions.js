// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// What the robot asks: the oldest first, each with its picture and its likeliest answers.

import { $, make } from './dom.js';
import { ask } from './link.js';
import { change, on, state } from './state.js';
import { say, take, teach } from './teaching.js';

const SHOWN = 3;
let heard = 0;

const sightOf = (question) => ({
  stamp: question.stamp, predicted: [], scores: [], novelty: question.novelty, version: -1,
});

export async function answer(question = state.questions[0]) {
  if (!question) return say('The robot asks nothing at the moment.', 'bad');
  let bitmap = null;
  if (question.picture) {
    const picture = await fetch(`pictures/${question.stamp}.jpg`);
    if (picture.ok) bitmap = await createImageBitmap(await picture.blob());
  }
  take({ stamp: question.stamp, sight: sightOf(question), bitmap, asked: question });
  $('teach').focus();
}

function skip(question) {
  ask('skip', { stamp: question.stamp });
}

function card(question) {
  const picture = question.picture
    ? [make('img', { src: `pictures/${question.stamp}.jpg`, alt: 'What the robot saw', loading: 'lazy' })] : [];
  const guesses = question.candidates.slice(0, 2).map((name) => make('button', {
    type: 'button', title: `Answer ${name}`, onclick: () => teach(sightOf(question), [name], []),
  }, name));
  return make('li', { class: picture.length ? 'pictured' : '' }, ...picture,
    make('p', { class: 'text' }, 'What is this?', make('span', { class: 'quiet' }, question.text)),
    make('div', { class: 'row' },
      make('button', { type: 'button', class: 'answer', onclick: () => answer(question) }, 'Answer'),
      ...guesses,
      make('button', { type: 'button', class: 'skip-question', onclick: () => skip(question) }, 'Skip')));
}

function draw() {
  const { questions } = state;
  $('questions').replaceChildren(...questions.slice(0, SHOWN).map(card));
  $('question-empty').hidden = questions.length > 0;
  $('question-count').textContent = questions.length ? `${questions.length}` : '';
  if (questions.length > heard) $('question-said').textContent = `The robot asks: ${questions.at(-1).text}`;
  heard = questions.length;
  // Answered or skipped by somebody else while it is on the stage here.
  const asked = state.held?.asked;
  if (asked && !questions.some(({ stamp }) => stamp === asked.stamp)) {
    state.held.asked = null;
    change('marks');
  }
}

on('questions', draw);
