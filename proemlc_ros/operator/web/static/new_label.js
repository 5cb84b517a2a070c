// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The field for new labels: the picture is held while somebody types, near twins are asked about.

import { $ } from './dom.js';
import { beginBurst, isDown, teachMarks } from './burst.js';
import { drawBar, fresh, hold, onRelease, release, say, staleWords } from './draft.js';
import { dropQuestion, namesMeant } from './near_twins.js';
import { change, shown, state } from './state.js';

async function addLabel() {
  const text = $('new-label').value;
  if (!text.trim()) {
    if (state.held?.marks.size && await teachMarks()) $('new-label').blur();
    return;
  }
  if (!shown()) return say('There is nothing to label: no prediction has come yet.', 'bad');
  const { held } = state;
  const names = await namesMeant(text, $('duplicate'), say);
  if (!names) return;
  if (state.held !== held) return say('The picture is no longer held; nothing was taught.', 'bad');
  await use(names);
}

async function use(names) {
  const held = state.held;
  // Held only for the typing: what was typed is the whole answer.
  if (!held || (held.typing && !held.marks.size)) {
    if (!held && !fresh()) return say(staleWords(), 'bad');
    // The text stays until it is learnt: it may fail, and would have to be typed again. While
    // Enter stays down, it goes on recording.
    if (await beginBurst({ labels: names }, shown(), isDown('Enter') || isDown('NumpadEnter'))) {
      $('new-label').value = '';
      $('new-label').blur();
    }
    return undefined;
  }
  $('new-label').value = '';
  names.forEach((name) => held.marks.set(name, true));
  change('marks');
  drawBar();
  $('teach').focus({ preventScroll: true });
  say(`${names.join(', ')} marked; Enter or “Teach” teaches.`);
  return undefined;
}

const closeQuestion = () => dropQuestion($('duplicate'));

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
$('new-label').oninput = closeQuestion;
$('new-form').addEventListener('focusout', leaveTyping);
onRelease(closeQuestion);
