// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Dialogs: one label, a model file, help.

import { $ } from './dom.js';
import { say } from './draft.js';
import { ask } from './link.js';
import { describeLabel } from './progress.js';

const report = ({ done, message }) => say(message, done ? 'good' : 'bad');

// Opens a dialog and gives the value of the button that closed it.
function choice(dialog) {
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener('close', () => done(dialog.returnValue), { once: true }));
}

export async function openLabel(label) {
  $('label-dialog-title').textContent = label;
  $('label-dialog-facts').textContent = describeLabel(label);
  $('rename-to').value = label;
  const chosen = await choice($('label-dialog'));
  const newLabel = $('rename-to').value.trim();
  if (chosen === 'rename' && newLabel !== label) report(await ask('rename', { label, new_label: newLabel }));
  if (chosen === 'remove') report(await ask('remove', { label }));
}

const FILES = {
  save: ['Save the model', 'It is written into the classifier’s model directory.', 'Save'],
  load: ['Load a model', 'It replaces what the robot has learnt, for everybody. Save first to keep that.', 'Load'],
};

export async function openFile(what) {
  const [title, text, button] = FILES[what];
  $('file-dialog-title').textContent = title;
  $('file-dialog-text').textContent = text;
  $('file-go').textContent = button;
  if (await choice($('file-dialog')) === 'go') report(await ask(what, { file_name: $('file-name').value.trim() }));
}

export function openHelp() {
  $('help-dialog').showModal();
}

$('save').onclick = () => openFile('save');
$('load').onclick = () => openFile('load');
$('help').onclick = openHelp;
