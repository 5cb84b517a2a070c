// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The source of the pictures: pause, step and scrub folders, videos and bags; things to put before
// the simulated camera.

import { $, make, setText } from './dom.js';
import { say } from './draft.js';
import { ask } from './link.js';
import { on, state } from './state.js';

let parts = null;
let scrubbing = false;
let wanted = null;         // things that were asked for and are not shown yet

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
  if (things.length) {
    parts.things = things.map((name) => make('button', { type: 'button', onclick: () => toggle(name) }, name));
    controls.push(make('div', { class: 'things' }, make('span', { class: 'quiet' }, 'Show'), ...parts.things));
  }
  $('source').replaceChildren(...controls);
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
}

on('source', draw);
