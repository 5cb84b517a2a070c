// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The source of the pictures: pause, step and scrub folders, videos and bags; things to put before
// the simulated camera.

import { $, make, setText } from './dom.js';
import { say } from './draft.js';
import { ask } from './link.js';
import { on, state } from './state.js';

let parts = null;
let scrubbing = false;

async function control(command, content = {}) {
  const { done, message } = await ask('source', { command, ...content });
  if (!done) say(message, 'bad');
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
    controls.push(button('source-back', '◀', 'One picture back', () => 'back'), parts.play,
      button('source-step', '▶', 'One picture on', () => 'step'), parts.scrub, parts.where);
  }
  if (things.length) {
    parts.things = things.map((name) => make('button', { type: 'button', onclick: () => toggle(name) }, name));
    controls.push(make('div', { class: 'things' }, make('span', { class: 'quiet' }, 'Show'), ...parts.things));
  }
  $('source').replaceChildren(...controls);
}

// The simulated camera: a thing is put on the table, or taken away.
function toggle(name) {
  const { shown } = state.source;
  control('show', { things: shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name] });
}

function draw() {
  const { source } = state;
  $('source').hidden = !source || !(source.count > 0 || source.things.length);
  if ($('source').hidden) return;
  if (parts?.key !== `${source.things.join('\n')} ${source.count > 0}`) build(source);
  parts.things.forEach((button) => button.setAttribute('aria-pressed', String(source.shown.includes(button.textContent))));
  if (!parts.scrub) return;
  setText(parts.play, source.playing ? '❚❚' : '►');
  parts.play.setAttribute('aria-label', source.playing ? 'Pause' : 'Play');
  parts.scrub.max = String(source.count - 1);
  if (!scrubbing) parts.scrub.value = String(source.position);
  setText(parts.where, `${source.position + 1} of ${source.count}${source.name ? ` · ${source.name}` : ''}`);
  parts.where.title = source.name;
}

on('source', draw);
