// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The field for new labels: the picture is held while somebody types, near twins are asked about.

import { $, make } from './dom.js';
import { beginBurst, isDown } from './burst.js';
import { drawBar, fresh, hold, onRelease, press, release, say, teachMarks } from './draft.js';
import { ask } from './link.js';
import { change, shown, state } from './state.js';

// As the classifier's parameter max_label_length.
const LONGEST = 100;

async function addLabel() {
  const name = $('new-label').value.trim();
  if (!name) {
    if (state.held?.marks.size) await teachMarks();
    return;
  }
  const { length } = [...name];
  if (length > LONGEST) {
    return say(`A label has at most ${LONGEST} characters; this one has ${length}. Shorten it.`, 'bad');
  }
  if (!shown()) return say('There is nothing to label: no prediction has come yet.', 'bad');
  const { held } = state;
  if (!state.known.has(name)) {
    const { similar = [] } = await ask('similar', { label: name });
    if (state.held !== held) return say('The picture is no longer held; nothing was taught.', 'bad');
    if (similar.length) return warnOfDuplicate(name, similar);
  }
  await use(name);
}

async function use(name) {
  closeDuplicate();
  const held = state.held;
  // Held only for the typing: what was typed is the whole answer.
  if (held?.typing && !held.marks.size) {
    // The text stays until it is learnt: it may fail, and would have to be typed again. While
    // Enter stays down, it goes on recording.
    if (await beginBurst(name, held.prediction, isDown('Enter') || isDown('NumpadEnter'))) {
      $('new-label').value = '';
      $('new-label').blur();
    }
    return;
  }
  if (!held) {
    if (await press(name)) $('new-label').value = '';
    return;
  }
  $('new-label').value = '';
  held.marks.set(name, true);
  change('marks');
  drawBar();
  $('teach').focus({ preventScroll: true });
  say(`${name} is marked; Enter or “Teach” teaches.`);
}

function warnOfDuplicate(name, similar) {
  const box = $('duplicate');
  box.replaceChildren(
    make('p', {}, `“${name}” is nearly the same as ${similar.map((other) => `“${other}”`).join(', ')}.`),
    make('div', { class: 'row' },
      ...similar.map((other) => make('button', { type: 'button', onclick: () => use(other) }, `Use “${other}”`)),
      make('button', { type: 'button', onclick: () => use(name) }, `Add “${name}” anyway`)));
  box.hidden = false;
  box.querySelector('button').focus({ preventScroll: true });
}

// With the draft that it asked about: its buttons must not teach another moment.
function closeDuplicate() {
  $('duplicate').hidden = true;
  $('duplicate').replaceChildren();
}

function leaveTyping(event) {
  const goesInside = event.relatedTarget && $('new-form').contains(event.relatedTarget);
  if (goesInside || $('new-label').value.trim()) return;
  if (state.held?.typing && !state.held.marks.size) release();
}

export function startTyping() {
  $('new-label').focus({ preventScroll: true });
}

$('new-form').onsubmit = (event) => { event.preventDefault(); addLabel(); };
$('new-label').onfocus = () => { if (!state.held && state.prediction && fresh()) hold({ typing: true }); };
$('new-label').onkeydown = (event) => { if (event.key === 'Enter' && event.repeat) event.preventDefault(); };
$('new-label').oninput = closeDuplicate;
$('new-form').addEventListener('focusout', leaveTyping);
onRelease(closeDuplicate);
