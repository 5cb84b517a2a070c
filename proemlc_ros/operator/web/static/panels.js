// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The header's figures, the activity of everybody, and the classifier's diagnostics.

import { $, clockTime, make, setText } from './dom.js';
import { on, state } from './state.js';

function drawHealth() {
  const { health, online, labels } = state;
  const pill = $('connection');
  if (!online) {
    pill.dataset.state = 'away';
    setText(pill, 'dashboard not reachable, trying again …');
    return;
  }
  if (!health) return;
  pill.dataset.state = health.live ? 'live' : 'lost';
  setText(pill, health.live ? 'connected' : `classifier: ${health.connection}`);
  setText($('classifier'), health.classifier);
  const people = health.operators === 1 ? '1 operator' : `${health.operators} operators`;
  setText($('figures'), `${health.rate.toFixed(1)} Hz · ${labels.samples} samples · ${people}`);
  setText($('diagnostics-word'), health.message);
  drawDiagnostics(health.values);
}

function drawDiagnostics(values) {
  const body = $('diagnostics');
  if (body.rows.length !== values.length || [...body.rows].some((row, place) => row.cells[0].textContent !== values[place][0])) {
    body.replaceChildren(...values.map(([name]) => make('tr', {}, make('th', { scope: 'row' }, name), make('td'))));
  }
  values.forEach(([, value], place) => setText(body.rows[place].cells[1], value));
}

function drawActivity() {
  $('activity-empty').hidden = state.deeds.length > 0;
  $('activity').replaceChildren(...state.deeds.toReversed().map((deed) => make('li', {},
    make('time', {}, clockTime(deed.time)), make('span', {}, `${deed.who ? `${deed.who} ` : ''}${deed.text}`))));
}

on('health labels', drawHealth);
on('activity', drawActivity);
