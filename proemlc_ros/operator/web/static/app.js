// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Brings the parts together: what comes in goes into the state, and the parts draw it.

import { $, setText } from './dom.js';
import { ask, connect, onConnect } from './link.js';
import { change, on, state } from './state.js';
import { pairPicture, takePicture } from './camera.js';
import { dropLostMarks, start } from './draft.js';
import './new_label.js';
import './labels.js';
import './queries.js';
import './panels.js';
import './source.js';
import './history.js';
import './gallery.js';
import './regions.js';
import './nearest.js';
import './keys.js';

// Until the first label there is one sentence and one field; the rest appears when it has something to say.
function drawStage() {
  document.body.dataset.known = state.known.size || state.labels.samples ? 'some' : 'none';
  const guide = state.health?.guide ?? '';
  $('lead').hidden = !guide;
  setText($('lead'), matchMedia('(pointer: coarse)').matches ? byTouch(guide) : guide);
  $('truth-card').hidden = !state.progress.truth && !state.curve.points.length;
  $('activity-card').hidden = !state.activity.length;
}

// Without a keyboard the same is done with buttons.
const byTouch = (words) => words.replace('hold Enter', 'press Add').replace('hold 0', 'hold None').replace(/hold (\d)/, 'hold its row');

const THEMES = { '': 'Auto', light: 'Light', dark: 'Dark' };

function setLabels(labels) {
  const before = state.known;
  state.labels = labels;
  state.known = new Set(labels.names);
  dropLostMarks(before);
  // The browser's own completion; longer lists only slow it down.
  $('known-labels').replaceChildren(...labels.names.slice(0, 1000).map((name) => {
    const option = document.createElement('option');
    option.value = name;
    return option;
  }));
}

function takePrediction(prediction) {
  const now = performance.now();
  // The one of a new connection may be old: only a newer stamp shows that the stream goes on.
  if (state.prediction && prediction.stamp !== state.prediction.stamp) {
    const gap = now - state.received.at;
    const { gap: usual } = state.received;
    state.received = { at: now, gap: Number.isFinite(gap) ? usual + 0.2 * (Math.min(gap, 5000) - usual) : usual };
  }
  state.prediction = prediction;
}

async function receive(type, message) {
  if (type === 'picture') return takePicture(message);
  if (type === 'prediction') {
    pairPicture(message);
    takePrediction(message);
  }
  if (type === 'labels') setLabels(message);
  if (type === 'queries') state.queries = message.queries;
  if (type === 'activity') state.activity = message.entries;
  if (type === 'curve') state.curve = message;
  if (type === 'progress') state.progress = message;
  if (type === 'source') state.source = message;
  if (type === 'health') state.health = message;
  change(type);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  $('theme').textContent = THEMES[theme];
  $('theme').setAttribute('aria-label', `Colours: ${THEMES[theme]}`);
}

const introduce = () => ask('name', { who: $('who').value });

$('theme').onclick = () => {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(document.documentElement.dataset.theme ?? '') + 1) % names.length]);
};
setTheme(THEMES[localStorage.getItem('theme')] ? localStorage.getItem('theme') : '');
$('who').value = localStorage.getItem('who') ?? '';
$('who').onchange = () => { localStorage.setItem('who', $('who').value); introduce(); };

// A secure context is https, or a page of this very machine, such as through ssh -L.
$('not-encrypted').hidden = $('token-not-encrypted').hidden = window.isSecureContext;

on('labels health progress curve activity', drawStage);
start();
onConnect(introduce);
connect(receive);
