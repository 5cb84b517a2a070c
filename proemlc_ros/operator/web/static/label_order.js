// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The order of the labels and their number keys. Nothing moves away under the finger: while a
// picture is held the order stays, and a predicted label comes first only once it has stayed.

import { $ } from './dom.js';
import { change, on, state } from './state.js';

// Milliseconds that a label is predicted before it moves to the top.
const STAYS = 1500;
// A key pressed so soon after the order changed was aimed at the order before.
const AIMED = 600;
const KEYS = 9;
let before = { names: [], at: -Infinity };
let current = [];
// Since when each label is predicted without a break: others may come and go beside it.
let since = new Map();
let first = [];
let over = false;

const plain = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

// Labels that begin with the text first, then those that contain it.
function matching(wanted, names) {
  const all = names.map((name, index) => ({ name, index, text: plain(name) })).filter(({ text }) => text.includes(wanted));
  return wanted ? [...all.filter(({ text }) => text.startsWith(wanted)), ...all.filter(({ text }) => !text.startsWith(wanted))] : all;
}

export function orderedLabels() {
  const { names, counts } = state.labels;
  const wanted = plain($('label-filter').value.trim());
  const order = $('label-order').value;
  const found = matching(wanted, names);
  if (order === 'name') found.sort((a, b) => a.name.localeCompare(b.name));
  if (order === 'count') found.sort((a, b) => counts[b.index] - counts[a.index]);
  if (order === 'seen' && names.length > KEYS) {
    const rank = new Map(first.map((name, place) => [name, place - first.length]));
    found.sort((a, b) => (rank.get(a.name) ?? 0) - (rank.get(b.name) ?? 0));
  }
  if (state.held && current.length) keepPlaces(found);
  // Newly typed ones stand on top without a key: the keys of the others stay.
  const typed = [...(state.held?.marks.keys() ?? [])].filter((name) => !state.known.has(name));
  const list = [...typed.map((name) => ({ name, index: -1, key: 0 })),
    ...found.map(({ name, index }, place) => ({ name, index, key: place < KEYS ? place + 1 : 0 }))];
  note(found.map(({ name }) => name));
  return list;
}

function keepPlaces(found) {
  const places = new Map(current.map((name, place) => [name, place]));
  found.sort((a, b) => (places.get(a.name) ?? Infinity) - (places.get(b.name) ?? Infinity) || 0);
}

function note(names) {
  const changed = names.slice(0, KEYS).some((name, place) => name !== current[place]) && current.length;
  if (changed && !state.held && !$('label-filter').value) before = { names: current, at: performance.now() };
  if (!$('label-filter').value) current = names;
}

// The label that a number key means; just after a change, the one that was there before.
export function placeOfKey(place, rows) {
  const old = before.names[place];
  if (!state.held && performance.now() - before.at < AIMED && old && state.known.has(old)) return old;
  return rows.find(({ keyNumber }) => keyNumber === place + 1)?.name;
}

function watch() {
  if ($('label-order').value !== 'seen' || state.labels.names.length <= KEYS || !state.prediction) return;
  const now = performance.now();
  const { predicted } = state.prediction;
  since = new Map(predicted.map((name) => [name, since.get(name) ?? now]));
  const stayed = predicted.filter((name) => now - since.get(name) > STAYS).slice(0, KEYS);
  const leading = first.slice(0, stayed.length);
  const onTop = stayed.every((name) => leading.includes(name));
  if (onTop || state.held || over || $('label-list').contains(document.activeElement)) return;
  first = stayed;
  change('order');
}

$('label-list').addEventListener('pointerenter', () => { over = true; });
$('label-list').addEventListener('pointerleave', () => { over = false; });
on('prediction', watch);
