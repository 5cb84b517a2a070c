// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The annotation draft: hold a prediction, mark labels, teach. Live, one press teaches; held,
// presses collect marks.

import { $, make } from './dom.js';
import { ask, onConnect } from './link.js';
import { change, on, shown, state } from './state.js';

let sending = null;

export function say(text, kind = 'good') {
  $('message').textContent = text;
  $('message').dataset.kind = text ? kind : '';
}

export function hold(options = {}) {
  if (state.held || !state.prediction) {
    if (!state.prediction) say('There is nothing to hold: no prediction has come yet.', 'bad');
    return;
  }
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

const restAbsent = () => document.querySelector('[name=rest]:checked').value === 'absent';
const corrects = () => [...(state.held?.marks.values() ?? [])].includes(false);

export async function press(name, prediction = shown()) {
  if (!prediction) return say('There is nothing to label: no prediction has come yet.', 'bad');
  if (!state.held) return teach(prediction, [name], []);
  const marks = state.held.marks;
  if (!marks.has(name)) marks.set(name, true);
  else if (marks.get(name)) marks.set(name, false);
  else marks.delete(name);
  change('marks');
}

export function teachMarks() {
  const marks = [...(state.held?.marks ?? [])];
  if (!marks.length) return say('Nothing is marked. Press labels, or “None of them”.', 'bad');
  const named = (wanted) => marks.filter(([, present]) => present === wanted).map(([name]) => name);
  return teach(state.held.prediction, named(true), named(false));
}

export function teachNone() {
  if (!shown()) return say('There is nothing to label: no prediction has come yet.', 'bad');
  return teach(shown(), [], [], true);
}

export async function teach(prediction, labels, absent, complete = restAbsent() && !absent.length) {
  const held = state.held;
  // Pressed twice in a hurry must not teach the same vector twice.
  if (prediction.stamp === sending) return;
  sending = prediction.stamp;
  const answer = await ask('annotate', { stamp: prediction.stamp, labels, absent, complete });
  sending = null;
  if (!answer.done) return say(answer.message, 'bad');
  if (state.held === held && held?.stamp === prediction.stamp) release();
  say(`Learnt: ${words(labels, absent)}.${nowSees(answer.now)}`);
}

const words = (labels, absent) => [...labels, ...absent.map((name) => `not ${name}`)].join(', ') || 'none of them';

function nowSees(prediction) {
  if (!prediction) return '';
  return ` Now seen as ${prediction.predicted.slice(0, 5).join(', ') || 'none of them'}.`;
}

export async function undo() {
  const seen = state.activity.at(-1)?.number ?? 0;
  const answer = await ask('undo', { seen });
  say(answer.message, answer.done ? 'good' : 'bad');
}

// --- new label -------------------------------------------------------------------------------

async function addLabel() {
  const name = $('new-label').value.trim();
  if (!name) return;
  if (!shown()) return say('There is nothing to label: no prediction has come yet.', 'bad');
  if (!state.known.has(name)) {
    const { similar = [] } = await ask('similar', { label: name });
    if (similar.length) return warnOfDuplicate(name, similar);
  }
  await use(name);
}

async function use(name) {
  $('duplicate').hidden = true;
  $('new-label').value = '';
  const held = state.held;
  // Held only for the typing: what was typed is the whole answer.
  if (held?.typing && !held.marks.size) {
    $('new-label').blur();
    await teach(held.prediction, [name], []);
  } else if (held) {
    held.marks.set(name, true);
    change('marks');
    say(`${name} is marked; Enter or “Teach” teaches.`);
  } else {
    await press(name);
  }
}

function warnOfDuplicate(name, similar) {
  const box = $('duplicate');
  box.replaceChildren(
    make('p', {}, `“${name}” is nearly the same as ${similar.map((other) => `“${other}”`).join(', ')}.`),
    make('div', { class: 'row' },
      ...similar.map((other) => make('button', { type: 'button', onclick: () => use(other) }, `Use “${other}”`)),
      make('button', { type: 'button', onclick: () => use(name) }, `Add “${name}” anyway`)));
  box.hidden = false;
  box.querySelector('button').focus();
}

function leaveTyping(event) {
  const goesInside = event.relatedTarget && $('new-form').contains(event.relatedTarget);
  if (goesInside || $('new-label').value.trim()) return;
  if (state.held?.typing && !state.held.marks.size) release();
}

function drawBar() {
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
  $('teach').onclick = teachMarks;
  $('none').onclick = teachNone;
  $('undo').onclick = undo;
  $('new-form').onsubmit = (event) => { event.preventDefault(); addLabel(); };
  $('new-label').onfocus = () => { if (!state.held && state.prediction) hold({ typing: true }); };
  $('new-label').oninput = () => { $('duplicate').hidden = true; };
  $('new-form').addEventListener('focusout', leaveTyping);
  document.querySelectorAll('[name=rest]').forEach((radio) => { radio.onchange = drawBar; });
  on('marks prediction', drawBar);
  drawBar();
}
