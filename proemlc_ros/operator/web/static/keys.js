// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Keys, as listed in the help; off while somebody types, or switched off.

import { $ } from './dom.js';
import { openFile, openHelp } from './dialogs.js';
import { pressPlace } from './labels.js';
import { teachMarks, teachNone } from './burst.js';
import { hold, release } from './draft.js';
import { openGallery } from './gallery.js';
import { redoNext, undoNext } from './history.js';
import { startTyping } from './new_label.js';
import { answer } from './queries.js';
import { state } from './state.js';

const KEYS = {
  ' ': () => (state.held ? release() : hold()),
  Enter: () => teachMarks(),
  Escape: () => { $('new-label').value = ''; release(); },
  n: startTyping,
  u: () => undoNext(),
  r: () => redoNext(),
  g: openGallery,
  a: () => answer(),
  q: () => answer(),
  s: () => openFile('save'),
  '/': () => $('label-filter').focus(),
  '?': openHelp,
  0: () => teachNone(),
};

// For other parts of the page: a further key, a letter in lower case.
export const addKey = (key, act) => { KEYS[key] = act; };

// A field of a dialog that was just closed has the focus until the page is drawn again, but nobody types there.
const types = (element) => element.matches('input:not([type=radio], [type=checkbox], [type=range]), textarea')
  && element.getClientRects().length > 0;
// Space or Enter do nothing to a radio button that is chosen already: they are the page's.
const isPressable = (element) => element.matches('button, summary, a, select, input:not([type=radio]:checked)');

function onKey(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector('dialog[open]')) return;
  if (types(target)) {
    if (key === 'Escape') leaveField(target);
    if (key === 'Enter' && target === $('who')) target.blur();
    return;
  }
  if (key === 'Escape' && target.matches('select')) return target.blur();
  if (!$('keys-on').checked) return;
  // What is focused has its own keys: they come first.
  if (key.startsWith('Arrow') && target.matches('input, select, svg')) return;
  if ((key === ' ' || key === 'Enter') && isPressable(target)) return;
  const act = /^[1-9]$/.test(key) ? () => pressPlace(Number(key) - 1) : KEYS[key.length === 1 ? key.toLowerCase() : key];
  if (!act) return;
  event.preventDefault();
  act();
}

// A name stays as it was before; what is only typed to teach or to filter is dropped.
function leaveField(field) {
  if (field.id === 'who') field.value = localStorage.getItem('who') ?? '';
  else field.value = '';
  field.dispatchEvent(new Event('input'));
  field.blur();
}

// A button that was clicked with a pointer gives the keys back to the page.
function onClick(event) {
  const button = event.target.closest('button');
  if (button && event.detail > 0 && !button.closest('dialog')) button.blur();
}

document.addEventListener('keydown', onKey);
document.addEventListener('click', onClick);
// Chosen with the pointer, it is chosen: the keys are the page's again. Arrow keys may go on.
let pointed = false;
$('label-order').addEventListener('pointerdown', () => { pointed = true; });
$('label-order').addEventListener('keydown', () => { pointed = false; });
$('label-order').addEventListener('change', () => { if (pointed) $('label-order').blur(); });
$('keys-on').checked = localStorage.getItem('keys') !== 'off';
$('keys-on').onchange = () => localStorage.setItem('keys', $('keys-on').checked ? 'on' : 'off');
