// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The stage: the picture, what is seen in it, and whether it is live or held.

import { $, make, setText, stampTime } from './dom.js';
import { on, shown, state } from './state.js';

const QUIET_FOR = 3000;
let spoken = '';
let spokenAt = 0;

export async function takePicture(data) {
  const jpeg = new Blob([new Uint8Array(data, 8)], { type: 'image/jpeg' });
  const bitmap = await createImageBitmap(jpeg);
  if (state.bitmap && state.bitmap !== state.held?.bitmap) state.bitmap.close();
  state.bitmap = bitmap;
}

function drawPicture() {
  const bitmap = state.held ? state.held.bitmap : state.bitmap;
  $('stage').dataset.picture = bitmap ? 'yes' : 'no';
  if (!bitmap) return;
  const canvas = $('picture');
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    $('stage').style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
  }
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
}

function drawStage() {
  const { held } = state;
  const sight = shown();
  drawPicture();
  $('stage').dataset.mode = held ? (held.asked ? 'asked' : 'held') : 'live';
  const time = sight ? stampTime(sight.stamp) : '';
  setText($('view-title'), held ? `${held.asked ? 'The robot asks about' : 'Held at'} ${time}` : `Live ${time}`);
  $('sees-word').textContent = held ? 'Saw' : 'Sees';
  drawSeen(sight);
  setText($('novelty'), sight ? sight.novelty.toFixed(2) : '–');
  $('novelty-bar').style.transform = `scaleX(${sight ? Math.min(Math.max(sight.novelty, 0), 1) : 0})`;
}

function drawSeen(sight) {
  const names = sight ? sight.predicted.slice(0, 12) : [];
  const chips = $('sees');
  const text = names.length ? names.join('\n') : (sight ? '(none)' : '(wait)');
  if (chips.dataset.text !== text) {
    chips.dataset.text = text;
    const words = { '(none)': 'none of the labels', '(wait)': 'nothing yet' };
    chips.replaceChildren(...(names.length
      ? names.map((name) => make('span', { class: 'chip' }, name))
      : [make('span', { class: 'chip none' }, words[text])]));
    $('picture').setAttribute('aria-label', names.length ? `Camera picture, seen as ${names.join(', ')}` : 'Camera picture');
  }
  speak(names.join(', ') || 'none of the labels');
}

// For screen readers: changes only, and not faster than they can be read.
function speak(text) {
  const now = performance.now();
  if (text === spoken || now - spokenAt < QUIET_FOR) return;
  spoken = text;
  spokenAt = now;
  $('spoken').textContent = `Sees ${text}`;
}

on('sight marks', drawStage);
