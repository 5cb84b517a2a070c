// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Dialogs: one label, a model file (save, load, download, upload), help.

import { $, make } from './dom.js';
import { say } from './draft.js';
import { working } from './history.js';
import { ask } from './link.js';
import { splitLabels } from './label_text.js';
import { describeLabel, samples } from './progress.js';
import { state } from './state.js';

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
  sayChange(label);
  $('rename-to').oninput = $('merge-into').oninput = () => sayChange(label);
  const chosen = await choice($('label-dialog'));
  const [name] = splitLabels($('rename-to').value);
  const [into] = splitLabels($('merge-into').value);
  if (chosen === 'rename' && name && name !== label) await rename(label, name);
  if (chosen === 'merge' && into) await merge(label, into);
  if (chosen === 'remove') await remove(label);
}

const countOf = (label) => state.labels.counts[state.labels.names.indexOf(label)] ?? 0;
const samplesOf = (label, one, several) => `${samples(countOf(label))} ${countOf(label) === 1 ? one : several}`;
const becoming = (label, into) => `${samplesOf(label, `of “${label}” becomes`, `of “${label}” become`)} “${into}”, which has ${countOf(into)}`;

// What a change will do, before it is done.
function sayChange(label) {
  const [name] = splitLabels($('rename-to').value);
  const [into] = splitLabels($('merge-into').value);
  const parts = [];
  if (into && !state.known.has(into)) parts.push(`There is no label “${into}” to merge into.`);
  else if (into) parts.push(`Merge: ${becoming(label, into)}; “${label}” is gone.`);
  else if (name && name !== label && state.known.has(name)) parts.push(`“${name}” exists already: merge into it instead.`);
  else if (name && name !== label) parts.push(`Rename: ${samplesOf(label, `of “${label}” is`, `of “${label}” are`)} called “${name}” from then on.`);
  $('label-dialog-change').textContent = parts.join(' ');
}

// A new name that is nearly another label is asked about, as everywhere.
async function rename(label, name) {
  const { similar = {} } = state.known.has(name) ? {} : await ask('similar', { labels: [name] });
  const others = (similar[name] ?? []).filter((other) => other !== label);
  if (others.length && !await confirmed(`Rename to “${name}”?`, `It is nearly the same as ${others.map((other) => `“${other}”`).join(', ')}; to make the two one, merge instead.`, `Rename to “${name}”`)) return;
  report(await ask('rename', { label, new_label: name }));
}

async function merge(label, into) {
  const what = `${becoming(label, into)}. “${label}” is gone, until an undo brings it back.`;
  if (await confirmed(`Merge “${label}” into “${into}”?`, what, 'Merge')) report(await ask('merge_labels', { label, into }));
}

async function remove(label) {
  const what = `${samplesOf(label, 'loses', 'lose')} the label; what was learnt of it is forgotten, until an undo brings it back.`;
  if (await confirmed(`Remove “${label}”?`, what, 'Remove')) report(await ask('remove', { label }));
}

// Enter in a field means its own button.
$('merge-into').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  $('label-dialog').querySelector('[value=merge]').click();
});

// Asks before something is done that changes much.
export async function confirmed(title, text, button) {
  $('confirm-title').textContent = title;
  $('confirm-text').textContent = text;
  $('confirm-go').textContent = button;
  return await choice($('confirm-dialog')) === 'go';
}

// Of a model file that the dashboard takes; as server.py has it.
const MOST_BYTES = 2 ** 28;
const FILES = {
  save: ['Save the model', 'It is written into the classifier’s model directory.', 'Save'],
  load: ['Load a model', 'It replaces what the robot has learnt, for everybody; an undo brings that back.', 'Load …'],
};

export async function openFile(what) {
  const [title, text, button] = FILES[what];
  $('file-dialog-title').textContent = title;
  $('file-dialog-text').textContent = text;
  $('file-go').textContent = button;
  const here = Boolean(state.health?.transfers);
  $('file-too-part').hidden = !here || what !== 'save';
  $('file-transfer').hidden = !here || what !== 'load';
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
  if (answer.done && $('file-too').checked && !$('file-too-part').hidden) download(name);
}

const address = (name) => `models/${encodeURIComponent(name)}`;

function download(typed) {
  const name = /\.npz$/.test(typed) ? typed : `${typed || 'snapshot'}.npz`;
  make('a', { href: address(name), download: name }).click();
}

// It is loaded at once, for everybody, as a file that is there already.
async function upload(file) {
  $('file-dialog').close('cancel');
  if (file.size > MOST_BYTES) return say(`${file.name} is larger than ${MOST_BYTES / 2 ** 20} MB.`, 'bad');
  if (!await confirmed(`Load ${file.name} of this computer?`, 'It replaces what the robot has learnt, for everybody; an undo brings that back.', 'Load')) return undefined;
  const who = new URLSearchParams({ who: $('who').value.trim() });
  const sent = fetch(`${address(file.name)}?${who}`, { method: 'POST', body: file })
    .then(async (answer) => (answer.ok ? answer.json() : { done: false, message: await answer.text() }))
    .catch(() => ({ done: false, message: `${file.name} was not taken: the connection was lost.` }));
  return report(await working(`Uploading ${file.name} …`, say, sent));
}

async function listFiles(wanted) {
  $('file-list-part').hidden = !wanted;
  if (!wanted) return;
  const answer = await ask('models');
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  $('file-list').replaceChildren(...(answer.files ?? []).map((file) => make('option', { value: file.name },
    `${file.name} · ${size(file.size)} · ${new Date(file.time * 1000).toLocaleString()}`)));
}

$('file-download').onclick = () => download($('file-name').value.trim());
$('file-upload').onclick = () => $('file-chosen').click();
$('file-chosen').onchange = ({ target }) => {
  const [file] = target.files;
  if (file) upload(file);
  target.value = '';
};
$('file-list').onchange = () => { $('file-name').value = $('file-list').value; };

export function openHelp() {
  $('help-dialog').showModal();
}

$('save').onclick = () => openFile('save');
$('load').onclick = $('load-first').onclick = () => openFile('load');
$('help').onclick = openHelp;
