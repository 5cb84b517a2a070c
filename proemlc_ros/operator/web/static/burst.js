// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Bursts: while a label's key or button is held down, what is shown is taught again and again.

import { fresh, say, staleWords, teach } from './draft.js';
import { samples } from './progress.js';
import { on, state } from './state.js';

// Milliseconds that a press lasts before it counts as held.
const HELD = 350;
// Samples on their way at once; a slow classifier sets the pace.
const MOST_WAITING = 3;
let burst = null;

const newId = () => [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

// Keys that are down now, by their place on the keyboard.
const down = new Set();
export const isDown = (code) => down.has(code);

// Teaches at once, and goes on if the press is still down a moment later.
export function beginBurst(name, prediction, goesOn = true) {
  endBurst();
  burst = { name, id: newId(), number: 0, learnt: 0, skipped: 0, waiting: 0, stamp: null, at: 0, on: false };
  const mine = burst;
  const sent = send(prediction);
  if (goesOn) mine.timer = setTimeout(() => { if (burst === mine) { mine.on = true; record(); } }, HELD);
  else burst = null;
  return sent;
}

export function endBurst() {
  if (!burst) return;
  const done = burst;
  clearTimeout(done.timer);
  burst = null;
  if (done.on && done.learnt + done.skipped > 1) say(summary(done, 'Learnt'));
}


function summary({ name, learnt, skipped }, word) {
  const copies = skipped ? `; ${skipped} near ${skipped === 1 ? 'copy' : 'copies'} left out` : '';
  return `${word}: ${name}, ${samples(learnt)}${copies}.`;
}

function record() {
  const { prediction } = state;
  if (!burst?.on || state.held || !prediction || prediction.stamp === burst.stamp) return;
  if (!fresh()) return stop(staleWords());
  const period = 1000 / (state.health?.burst_rate ?? 10);
  if (burst.waiting >= MOST_WAITING || performance.now() - burst.at < period) return;
  send(prediction);
}

async function send(prediction) {
  const mine = burst;
  mine.stamp = prediction.stamp;
  mine.at = performance.now();
  mine.waiting += 1;
  mine.number += 1;
  const answer = await teach(prediction, [mine.name], [], undefined, { burst: mine.id, number: mine.number - 1 });
  mine.waiting -= 1;
  if (!answer) {
    if (burst === mine) stop();
    return false;
  }
  if (answer.skipped) mine.skipped += 1;
  else mine.learnt += 1;
  if (mine.on) say(summary(mine, burst === mine ? 'Recording' : 'Learnt'));
  return true;
}

// What failed has been said; or is said here.
function stop(words = '') {
  clearTimeout(burst?.timer);
  burst = null;
  if (words) say(words, 'bad');
}

on('prediction', record);
addEventListener('pointerup', endBurst);
addEventListener('pointercancel', endBurst);
addEventListener('blur', () => { down.clear(); endBurst(); });
document.addEventListener('keydown', ({ code }) => down.add(code), true);
document.addEventListener('keyup', ({ code }) => { down.delete(code); endBurst(); }, true);
document.addEventListener('visibilitychange', endBurst);
