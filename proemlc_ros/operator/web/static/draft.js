// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The annotation draft: hold a prediction, mark labels, teach. Live, one press teaches; held,
// presses collect marks.

import { $ } from './dom.js';
import { ask, onConnect } from './link.js';
import { change, on, shown, state } from './state.js';

const sending = new Set();
const releases = [];

// Called whenever a draft ends: taught, dropped, or replaced by another.
export const onRelease = (act) => releases.push(act);

export function say(text, kind = 'good') {
  $('message').textContent = text;
  $('message').dataset.kind = text ? kind : '';
}

export function hold(options = {}) {
  if (state.held || !state.prediction) {
    if (!state.prediction) say('There is nothing to hold: no prediction has come yet.', 'bad');
    return;
  }
  if (!fresh()) say('Held: this picture is old; the robot sees something else by now, or nothing.', 'bad');
  take({
    stamp: state.prediction.stamp, prediction: state.prediction, bitmap: state.bitmap, query: null, ...options,
  });
}

export function take(draft) {
  release();
  state.held = { marks: new Map(), typing: false, ...draft };
  ask('hold', { stamp: draft.stamp });
  change('prediction', 'marks');
}

export function release() {
  if (state.held?.bitmap && state.held.bitmap !== state.bitmap) state.held.bitmap.close();
  state.held = null;
  releases.forEach((act) => act());
  change('prediction', 'marks');
}

// A dashboard that was restarted holds nothing; ask it again.
onConnect(() => { if (state.held) ask('hold', { stamp: state.held.stamp }); });

// Somebody else may rename or remove a label while it is marked here: it must not come back.
export function dropLostMarks(before) {
  if (!state.held) return;
  const lost = [...state.held.marks.keys()].filter((name) => before.has(name) && !state.known.has(name));
  lost.forEach((name) => state.held.marks.delete(name));
  if (lost.length) say(`${lost.join(', ')}: renamed or removed meanwhile, mark dropped.`, 'bad');
  change('marks');
}

// Whether what is shown is what is there now; a held picture was chosen, however old it is.
export const fresh = () => Boolean(state.held) || performance.now() - state.received.at < staleAfter();
export const staleAfter = () => Math.min(Math.max(2000, 4 * state.received.gap), 30000);

export function staleWords() {
  const seconds = Math.round((performance.now() - state.received.at) / 1000);
  const why = Number.isFinite(seconds) ? `what is shown is ${seconds} s old`
    : 'nothing new has come since the page was opened';
  return `Not taught: ${why}. To teach it all the same, hold it first.`;
}

const restAbsent = () => document.querySelector('[name=rest]:checked').value === 'absent';
const corrects = () => [...(state.held?.marks.values() ?? [])].includes(false);

export async function press(name, prediction = shown()) {
  if (!prediction) return say('There is nothing to label: no prediction has come yet.', 'bad');
  if (!state.held) return fresh() ? teach(prediction, [name], []) : say(staleWords(), 'bad');
  const marks = state.held.marks;
  if (!marks.has(name)) marks.set(name, true);
  else if (marks.get(name)) marks.set(name, false);
  else marks.delete(name);
  change('marks');
}

// Returns the answer where it was learnt, or left out of a burst; null where it failed.
export async function teach(prediction, labels, absent, complete = restAbsent() && !absent.length, extra = {}) {
  const held = state.held;
  // Pressed twice in a hurry must not teach the same vector twice.
  if (sending.has(prediction.stamp)) return { done: true, skipped: true };
  sending.add(prediction.stamp);
  const about = prediction.region ? { region: prediction.region } : {};
  const answer = await ask('annotate', { stamp: prediction.stamp, labels, absent, complete, ...about, ...extra });
  sending.delete(prediction.stamp);
  if (!answer.done) {
    say(answer.message, 'bad');
    return null;
  }
  if (state.held === held && held?.stamp === prediction.stamp) release();
  if (!answer.skipped) say(`Learnt: ${said(labels, absent)}.${nowSees(answer.now)}${prediction.region ? whyNoBoxes() : ''}`);
  return answer;
}

export const said = (labels, absent) => [...labels, ...absent.map((name) => `not ${name}`)].join(', ') || 'none of them';

function nowSees(prediction) {
  if (!prediction) return '';
  return ` Now seen as ${prediction.predicted.slice(0, 5).join(', ') || (prediction.unknown ? 'something unknown' : 'none of them')}.`;
}

// A box was taught, but the robot looks at whole pictures: nobody would see why none appears.
function whyNoBoxes() {
  if (state.prediction?.regions?.length) return '';
  return ' No boxes appear by themselves: the robot is asked about whole pictures only. Its owner can set “regions” of the feature node, or draw the next box.';
}

export function drawBar() {
  const held = state.held;
  const marked = held?.marks.size ?? 0;
  $('hold').firstChild.textContent = held ? 'Live ' : 'Hold ';
  $('teach').disabled = !marked;
  $('teach').firstChild.textContent = marked > 1 ? `Teach ${marked} ` : 'Teach ';
  let hint = 'Live: a press on a label teaches at once. Hold to mark several.';
  if (held?.query) hint = `The robot asks: ${held.query.text}. Mark what is there, then teach.`;
  else if (held) hint = 'Held: press once for present, twice for absent, then teach.';
  $('hint').textContent = hint;
  $('rest-note').textContent = restAbsent() && corrects()
    ? 'You marked something as absent: this time the rest stays unknown.' : '';
}

export function start() {
  $('hold').onclick = () => (state.held ? release() : hold());
  document.querySelectorAll('[name=rest]').forEach((radio) => { radio.onchange = drawBar; });
  on('marks prediction', drawBar);
  drawBar();
}
