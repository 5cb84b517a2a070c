// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The source of the pictures: pause, step and scrub folders, videos and bags; the names of folders as
// labels; things to put before the simulated camera.

import { $, make, setText } from './dom.js';
import { say, teach } from './draft.js';
import { addKey } from './keys.js';
import { ask } from './link.js';
import { on, state } from './state.js';

// Milliseconds within which a picture that was asked for is seen.
const SEEN_WITHIN = 20000;

let parts = null;
let scrubbing = false;
let wanted = null;         // things that were asked for and are not shown yet
let teaching = false;      // by the names of folders, picture after picture
let busy = false;          // with one of them

async function control(command, content = {}) {
  const { done, message } = await ask('source', { command, ...content });
  if (!done) say(message, 'bad');
  return done;
}

function build({ things, count }) {
  const button = (id, text, label, command) => make('button', {
    id, type: 'button', 'aria-label': label, title: label, onclick: () => control(command()),
  }, text);
  parts = { key: `${things.join('\n')} ${count > 0}`, things: [] };
  const controls = [];
  if (count > 0) {
    parts.play = button('source-play', '❚❚', 'Pause', () => (state.source.playing ? 'pause' : 'play'));
    parts.where = make('span', { class: 'where quiet' });
    parts.scrub = make('input', { type: 'range', id: 'source-scrub', min: '0', 'aria-label': 'Which picture',
      oninput: () => { scrubbing = true; control('seek', { position: Number(parts.scrub.value) }); },
      onchange: () => { scrubbing = false; } });
    controls.push(button('source-back', '‹', 'One picture back', () => 'back'), parts.play,
      button('source-step', '›', 'One picture on', () => 'step'), parts.scrub, parts.where);
  }
  if (count > 0) {
    parts.name = make('span');
    parts.folder = make('button', { id: 'source-folder', type: 'button', onclick: teachFolder }, parts.name, ' ', make('kbd', {}, 'F'));
    parts.all = make('button', { id: 'source-folders', type: 'button', onclick: teachFolders });
    parts.folders = make('div', { class: 'things', role: 'group', 'aria-label': 'The folder names as labels' }, make('span', { class: 'quiet' }, 'Folder names'), parts.folder, parts.all);
    controls.push(parts.folders);
  }
  if (things.length) {
    parts.things = things.map((name) => make('button', { type: 'button', onclick: () => toggle(name) }, name));
    controls.push(make('div', { class: 'things' }, make('span', { class: 'quiet' }, 'Show'), ...parts.things));
  }
  $('source').replaceChildren(...controls);
}

// The label that a picture has by its folder, as `train` takes it; empty: it is in none.
const folderOf = ({ kind, name }) => (kind === 'images' && name.includes('/') ? name.split('/')[0] : '');

// Waits until a picture of what the source says is seen, other than the one at a place; null: none comes.
async function seenAfter(place) {
  const end = performance.now() + SEEN_WITHIN;
  while (performance.now() < end) {
    const { source, prediction } = state;
    if (source.position !== place && !source.playing && prediction && BigInt(prediction.stamp) >= BigInt(source.since)) return prediction;
    await new Promise((done) => setTimeout(done, 20));
  }
  say('The next picture does not come.', 'bad');
  return null;
}

// Teaches the picture that is seen by the name of its folder, if it is in one; whether it may go on.
async function teachNext(place) {
  const prediction = await seenAfter(place);
  const label = folderOf(state.source);
  return Boolean(prediction && (!label || await teach(prediction, [label], [])));
}

async function teachFolder() {
  if (busy) return;
  busy = true;
  if ((!state.source.playing || await control('pause')) && await teachNext(null)
    && state.source.position + 1 < state.source.count) await control('step');
  busy = false;
}

// From the picture that is shown to the last one; a second press ends it.
async function teachFolders() {
  teaching = !teaching && !busy;
  draw();
  if (!teaching) return;
  busy = true;
  let place = null;
  let on = !state.source.playing || await control('pause');
  while (on && teaching && await teachNext(place)) {
    place = state.source.position;
    say(`Taught by the names of folders: ${place + 1} of ${state.source.count}.`);
    on = place + 1 < state.source.count && await control('seek', { position: place + 1 });
  }
  teaching = busy = false;
  draw();
}

// The simulated camera: a thing is put on the table, or taken away. A second press builds on the first,
// whose effect may not have been told yet.
function toggle(name) {
  const shown = wanted ?? state.source.shown;
  wanted = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
  control('show', { things: wanted }).then((done) => { if (!done) wanted = null; });
  draw();
}

const sameThings = (some, others) => some.length === others.length && some.every((name) => others.includes(name));

function draw() {
  const { source } = state;
  $('source').hidden = !source || !(source.count > 0 || source.things.length);
  if ($('source').hidden) return;
  if (parts?.key !== `${source.things.join('\n')} ${source.count > 0}`) build(source);
  if (wanted && sameThings(wanted, source.shown)) wanted = null;
  const shown = wanted ?? source.shown;
  parts.things.forEach((button) => button.setAttribute('aria-pressed', String(shown.includes(button.textContent))));
  if (!parts.scrub) return;
  setText(parts.play, source.playing ? '❚❚' : '▶');
  parts.play.setAttribute('aria-label', source.playing ? 'Pause' : 'Play');
  parts.scrub.max = String(source.count - 1);
  if (!scrubbing) parts.scrub.value = String(source.position);
  setText(parts.where, `${source.position + 1} of ${source.count}${source.name ? ` · ${source.name}` : ''}`);
  parts.where.title = source.name;
  const folder = folderOf(source);
  parts.folders.hidden = !folder && !teaching;
  setText(parts.name, `Teach “${folder}”`);
  parts.folder.disabled = teaching;
  parts.all.title = 'Teach this picture and all that follow by the names of their folders';
  setText(parts.all, teaching ? 'Stop' : 'Teach all');
}

on('source', draw);
const turned = (command) => () => { if (state.source?.count > 0 && !teaching) control(command); };
addKey('ArrowLeft', turned('back'));
addKey('ArrowRight', turned('step'));
addKey('f', () => { if (state.source && folderOf(state.source)) teachFolder(); });
