// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Keys, as listed in the help; off while somebody types, or switched off.

import { $ } from './dom.js';
import { openFile, openHelp } from './dialogs.js';
import { pressPlace } from './labels.js';
import { hold, release, teachMarks, teachNone, undo } from './draft.js';
import { answer } from './queries.js';
import { state } from './state.js';

const KEYS = {
  ' ': () => (state.held ? release() : hold()),
  Enter: teachMarks,
  Escape: release,
  n: () => $('new-label').focus(),
  u: undo,
  q: () => answer(),
  s: () => openFile('save'),
  '/': () => $('label-filter').focus(),
  '?': openHelp,
  0: teachNone,
};

const types = (element) => element.matches('input:not([type=radio], [type=checkbox]), select, textarea');
const isPressable = (element) => element.matches('button, summary, a, input');

function onKey(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector('dialog[open]')) return;
  if (types(target)) {
    if (key === 'Escape') { target.value = ''; target.dispatchEvent(new Event('input')); target.blur(); }
    return;
  }
  if (!$('keys-on').checked) return;
  // The focused button's own key comes first.
  if ((key === ' ' || key === 'Enter') && isPressable(target)) return;
  const act = /^[1-9]$/.test(key) ? () => pressPlace(Number(key) - 1) : KEYS[key.length === 1 ? key.toLowerCase() : key];
  if (!act) return;
  event.preventDefault();
  act();
}

// A button that was clicked with a pointer gives the keys back to the page.
function onClick(event) {
  const button = event.target.closest('button');
  if (button && event.detail > 0 && !button.closest('dialog')) button.blur();
}

document.addEventListener('keydown', onKey);
document.addEventListener('click', onClick);
$('keys-on').checked = localStorage.getItem('keys') !== 'off';
$('keys-on').onchange = () => localStorage.setItem('keys', $('keys-on').checked ? 'on' : 'off');
