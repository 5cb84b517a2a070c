// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Most like these: the taught pictures that are nearest to what is shown, each to be relabelled.

import { $, make } from './dom.js';
import { openSample } from './gallery.js';
import { ask } from './link.js';
import { pictureOf } from './progress.js';
import { on, shown, state } from './state.js';

// Milliseconds between two questions while it is live.
const PAUSE = 2000;
let asked = { stamp: '', at: -Infinity };

async function refresh() {
  const prediction = shown();
  const now = performance.now();
  if (!prediction || !state.labels.samples || prediction.region || prediction.stamp === asked.stamp) return;
  if (!state.held && now - asked.at < PAUSE) return;
  asked = { stamp: prediction.stamp, at: now };
  const answer = await ask('nearest', { stamp: prediction.stamp });
  if (answer.done && prediction.stamp === asked.stamp) draw(answer.samples);
}

function draw(samples) {
  $('like-card').hidden = !samples.length;
  const text = JSON.stringify(samples);
  const list = $('like');
  if (list.dataset.text === text || list.contains(document.activeElement) || list.matches(':hover')) return;
  list.dataset.text = text;
  list.replaceChildren(...samples.map((sample) => {
    const words = sample.labels.join(', ') || 'none of the labels';
    return make('li', {},
      ...sample.picture ? [pictureOf(sample.number, `Taught as ${words}`)] : [],
      make('span', {}, words),
      make('button', { type: 'button', 'aria-label': `Relabel sample ${sample.number}, taught as ${words}`, onclick: () => openSample(sample) }, 'Relabel'));
  }));
}

on('prediction', refresh);
