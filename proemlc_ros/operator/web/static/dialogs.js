// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Dialogs: one label, a model file, help.

import { $, make } from './dom.js';
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
  $('merge-into').value = '';
  const chosen = await choice($('label-dialog'));
  const newLabel = $('rename-to').value.trim();
  if (chosen === 'rename' && newLabel !== label) report(await ask('rename', { label, new_label: newLabel }));
  if (chosen === 'merge') report(await ask('merge_labels', { label, into: $('merge-into').value.trim() }));
  if (chosen === 'remove' && await confirmed(`Remove “${label}”?`, `${describeLabel(label)} What was learnt of it is forgotten, until an undo brings it back.`, 'Remove')) {
    report(await ask('remove', { label }));
  }
}

// Asks before something is done that changes much.
export async function confirmed(title, text, button) {
  $('confirm-title').textContent = title;
  $('confirm-text').textContent = text;
  $('confirm-go').textContent = button;
  return await choice($('confirm-dialog')) === 'go';
}

const FILES = {
  save: ['Save the model', 'It is written into the classifier’s model directory.', 'Save'],
  load: ['Load a model', 'It replaces what the robot has learnt, for everybody; an undo brings that back.', 'Load …'],
};

export async function openFile(what) {
  const [title, text, button] = FILES[what];
  $('file-dialog-title').textContent = title;
  $('file-dialog-text').textContent = text;
  $('file-go').textContent = button;
  listFiles(what === 'load');
  if (await choice($('file-dialog')) !== 'go') return;
  const name = $('file-name').value.trim();
  if (what === 'save') await save(name);
  else if (await confirmed(`Load ${name || 'the snapshot'}?`, 'It replaces what the robot has learnt, for everybody.', 'Load')) {
    report(await ask('load', { file_name: name }));
  }
}

async function save(name) {
  let answer = await ask('save', { file_name: name, keep_existing: true });
  if (!answer.done && answer.message.includes('exists already')) {
    if (!await confirmed(`Overwrite ${name}?`, 'A file of that name exists already.', 'Overwrite')) return;
    answer = await ask('save', { file_name: name });
  }
  report(answer);
}

async function listFiles(wanted) {
  $('file-list-part').hidden = !wanted;
  if (!wanted) return;
  const answer = await ask('models');
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  $('file-list').replaceChildren(...(answer.files ?? []).map((file) => make('option', { value: file.name },
    `${file.name} · ${size(file.size)} · ${new Date(file.time * 1000).toLocaleString()}`)));
}

$('file-list').onchange = () => { $('file-name').value = $('file-list').value; };

export function openHelp() {
  $('help-dialog').showModal();
}

$('save').onclick = () => openFile('save');
$('load').onclick = () => openFile('load');
$('help').onclick = openHelp;
