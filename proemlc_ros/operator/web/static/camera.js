// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The camera picture, the labels predicted in it, and whether it is live or held.

import { $, make, setText, stampTime } from './dom.js';
import { fresh, say } from './draft.js';
import { bestGuess, isSure, noveltyWord, percent, shareOf } from './progress.js';
import { change, on, shown, state } from './state.js';

const QUIET_FOR = 3000;
const MOST_CHIPS = 12;
const EMPTY = { '(none)': 'none of the labels', '(wait)': 'nothing yet' };
let spoken = '';
let spokenAt = 0;

// A picture comes just before its prediction, and is shown with it: beside another one it would let
// people teach what they do not see. Without a JPEG there is none of that moment.
export async function takePicture(data) {
  const stamp = new DataView(data).getBigInt64(0).toString();
  const jpeg = new Blob([new Uint8Array(data, 8)], { type: 'image/jpeg' });
  const bitmap = jpeg.size ? await createImageBitmap(jpeg) : null;
  state.arriving?.bitmap?.close();
  state.arriving = { stamp, bitmap };
}

export function pairPicture(prediction) {
  if (state.bitmap && state.bitmap !== state.held?.bitmap) state.bitmap.close();
  const paired = prediction.picture && state.arriving?.stamp === prediction.stamp;
  state.bitmap = paired ? state.arriving.bitmap : null;
  if (paired) state.arriving = null;
}

function drawPicture() {
  const bitmap = state.held ? state.held.bitmap : state.bitmap;
  $('camera').dataset.picture = bitmap ? 'yes' : 'no';
  setText($('no-picture-reason'), state.health?.picture || 'There is no picture of this moment.');
  if (!bitmap) return;
  const canvas = $('picture');
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    // The frame keeps its shape: pictures of a folder differ, and nothing may move under the finger.
    $('camera').style.aspectRatio ||= `${bitmap.width} / ${bitmap.height}`;
  }
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
}

function drawCamera() {
  const { held } = state;
  const prediction = shown();
  drawPicture();
  const stale = !held && prediction && !fresh();
  $('camera').dataset.mode = held ? (held.query ? 'asked' : 'held') : (stale ? 'stale' : 'live');
  $('camera').dataset.stamp = prediction?.stamp ?? '';
  const time = prediction ? stampTime(prediction.stamp) : '';
  const word = stale ? 'Stopped at' : 'Live';
  setText($('view-title'), held ? `${held.query ? 'The robot asks about' : 'Held at'} ${time}` : `${word} ${time}`);
  $('sees-word').textContent = held ? 'Saw' : 'Sees';
  drawSeen(prediction);
  // Null where the classifier gave no finite number.
  const novelty = prediction?.novelty ?? null;
  setText($('novelty'), noveltyWord(novelty));
  $('novelty').title = novelty === null ? '' : `novelty ${novelty.toFixed(2)}, 0 to 1`;
  $('novelty-bar').style.transform = `scaleX(${Math.min(Math.max(novelty ?? 0, 0), 1)})`;
}

function drawSeen(prediction) {
  const names = prediction ? prediction.predicted : [];
  const chips = $('sees');
  const unknown = Boolean(prediction?.unknown) && !names.length;
  const guess = unknown ? bestGuess(prediction) : '';
  const none = unknown ? `(unknown)${guess}` : '(none)';
  const share = (name) => shareOf(prediction, state.labels.names.indexOf(name));
  // A label that it is not sure of looks so, and says how sure it is.
  const words = names.map((name) => (isSure(prediction, name) ? name : `${name} ${percent(share(name))}`));
  const text = names.length ? words.join('\n') : (prediction ? none : '(wait)');
  if (chips.dataset.text !== text) {
    chips.dataset.text = text;
    const chip = (word, kind = 'chip none') => make('span', { class: kind, title: word }, word);
    const instead = unknown ? [chip('I don’t know', 'chip unknown'), ...(guess ? [chip(`${guess}?`)] : [])] : [chip(EMPTY[text])];
    chips.replaceChildren(...(names.length ? names.slice(0, MOST_CHIPS).map((name, place) => chip(words[place], isSure(prediction, name) ? 'chip' : 'chip unsure')) : instead));
    markClipped(chips, names);
    $('picture').setAttribute('aria-label', names.length ? `Camera picture, seen as ${names.join(', ')}` : 'Camera picture');
  }
  speak(names.join(', ') || (unknown ? 'something it does not know' : 'none of the labels'));
}

// What does not fit into the line is counted, and named in full by a press.
function markClipped(chips, names) {
  $('sees-more').hidden = true;
  const edge = () => chips.getBoundingClientRect().right + 1;
  const out = [...chips.children].filter((chip) => chip.getBoundingClientRect().right > edge());
  if (!out.length && names.length <= MOST_CHIPS) return;
  $('sees-more').hidden = false;
  const clipped = [...chips.children].filter((chip, place) => place && chip.getBoundingClientRect().right > edge());
  clipped.forEach((chip) => chip.remove());
  const left = names.length - chips.children.length;
  $('sees-more').hidden = left < 1;
  setText($('sees-more'), `+${left}`);
  $('sees-more').setAttribute('aria-label', `${left} more predicted: ${names.slice(-left).join(', ')}`);
  $('sees-more').title = names.slice(-left).join(', ');
}

// For screen readers: changes only, and not faster than they can be read.
function speak(text) {
  const now = performance.now();
  if (text === spoken || now - spokenAt < QUIET_FOR) return;
  spoken = text;
  spokenAt = now;
  $('spoken').textContent = `Sees ${text}`;
}

on('prediction marks health', drawCamera);
$('sees-more').onclick = () => say(`Predicted: ${shown()?.predicted.join(', ')}.`);
addEventListener('resize', () => { $('sees').dataset.text = ''; change('prediction'); });
// A stream that has stopped brings no change that would draw it.
setInterval(() => { if (!state.held && !fresh()) change('prediction'); }, 500);
