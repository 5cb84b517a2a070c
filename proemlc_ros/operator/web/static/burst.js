// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Bursts: while a key or a button is held down, what is shown is taught again and again. Also
// "none of them" and several marks: an empty table needs many samples, as a thing does.

import { $ } from './dom.js';
import { fresh, said, say, staleWords, teach } from './draft.js';
import { samples } from './progress.js';
import { on, shown, state } from './state.js';

// Milliseconds that a press lasts before it counts as held.
const HELD = 350;
// Samples on their way at once; a slow classifier sets the pace.
const MOST_WAITING = 3;
let burst = null;

const newId = () => [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

// Keys that are down now, by their place on the keyboard.
const down = new Set();
export const isDown = (code) => down.has(code);

// Teaches at once, and goes on if the press is still down a moment later. `what` has labels, and
// may have absent ones and whether that is all.
export function beginBurst(what, prediction, goesOn = true) {
  endBurst();
  burst = { absent: [], ...what, id: newId(), number: 0, learnt: 0, skipped: 0, advice: '', waiting: 0, stamp: null, at: 0, on: false };
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

function summary({ labels, absent, learnt, skipped, advice }, word) {
  const copies = skipped ? `; ${skipped} near ${skipped === 1 ? 'copy' : 'copies'} left out` : '';
  return `${word}: ${said(labels, absent)}, ${samples(learnt)}${copies}. ${advice}`.trim();
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
  const answer = await teach(prediction, mine.labels, mine.absent, mine.complete, { burst: mine.id, number: mine.number - 1 });
  mine.waiting -= 1;
  if (!answer) {
    if (burst === mine) stop();
    return false;
  }
  mine.advice = answer.skipped ? answer.message ?? mine.advice : '';
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

// What is marked on the held picture; while Enter stays down, it goes on live.
export function teachMarks() {
  const marks = [...(state.held?.marks ?? [])];
  if (!marks.length) return say('Nothing is marked. Press labels, or “None of them”.', 'bad');
  const named = (wanted) => marks.filter(([, present]) => present === wanted).map(([name]) => name);
  return beginBurst({ labels: named(true), absent: named(false) }, state.held.prediction, isDown('Enter') || isDown('NumpadEnter'));
}

const NONE = { labels: [], complete: true };

export function teachNone(prediction = shown()) {
  if (!prediction) return say('There is nothing to label: no prediction has come yet.', 'bad');
  if (state.held?.marks.size) {
    return say('Labels are marked: Enter teaches them; Esc drops them, then “None of them” can be taught.', 'bad');
  }
  if (!fresh()) return say(staleWords(), 'bad');
  return beginBurst(NONE, prediction, isDown('Digit0') || isDown('Numpad0'));
}

// A button that teaches by a press, and records while it is held down. What was shown when the
// finger went down is taught, not what is there when it comes up.
let pointer = null;

export function recordable(button, what, press) {
  let mine = null;
  button.addEventListener('pointerdown', (event) => {
    const now = { prediction: shown(), at: performance.now(), recorded: false };
    mine = now;
    pointer = event.button === 0 ? now : null;
    setTimeout(() => {
      if (pointer !== now || state.held || !now.prediction) return;
      if (!fresh()) return void say(staleWords(), 'bad');
      now.recorded = true;
      beginBurst(what, now.prediction);
    }, HELD);
  });
  button.addEventListener('click', (event) => {
    const was = event.detail > 0 ? mine : null;
    mine = null;
    if (!was?.recorded) press(was && performance.now() - was.at < 1000 ? was.prediction : shown());
  });
  button.addEventListener('contextmenu', (event) => event.preventDefault()); // A long touch records.
}

for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => { pointer = null; });
recordable($('none'), NONE, teachNone);
$('teach').onclick = teachMarks;
on('prediction', record);
addEventListener('pointerup', endBurst);
addEventListener('pointercancel', endBurst);
addEventListener('blur', () => { down.clear(); endBurst(); });
document.addEventListener('keydown', ({ code }) => down.add(code), true);
document.addEventListener('keyup', ({ code }) => { down.delete(code); endBurst(); }, true);
document.addEventListener('visibilitychange', endBurst);
