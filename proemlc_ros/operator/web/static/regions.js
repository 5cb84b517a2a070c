// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Boxes on the picture: those the robot looks at, and one that is drawn by mouse, touch or keys.

import { $, make, setText } from './dom.js';
import { hold, onRelease, say, take } from './draft.js';
import { addKey } from './keys.js';
import { ask } from './link.js';
import { change, on, shown, state } from './state.js';

const SVG = 'http://www.w3.org/2000/svg';
const LEAST = 0.02; // of the shorter side: a press is no box
const STEP = 0.02;  // of the longer side, for each press of an arrow key
const MOST_LISTED = 30;
const box = { on: false, left: 0, top: 0, right: 0, bottom: 0, from: null };

const size = () => {
  const given = shown()?.size ?? [0, 0];
  return given[0] ? given : [$('picture').width, $('picture').height];
};
const clamp = (value, most) => Math.min(Math.max(value, 0), most);
const regionOf = () => ({
  id: '', center_x: (box.left + box.right) / 2, center_y: (box.top + box.bottom) / 2,
  size_x: box.right - box.left, size_y: box.bottom - box.top,
});
// How far away it is, where a depth camera measures that.
const far = ({ metres }) => (Number.isFinite(metres) ? ` · ${metres.toFixed(metres < 10 ? 2 : 1)} m` : '');
const words = (one) => one.predicted.join(', ') || (one.unknown ? 'I don’t know' : 'none of the labels');

// --- what the robot looks at -----------------------------------------------------------------

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawn({ region, predicted, metres }, kind) {
  const letter = size()[1] / 22;
  const left = region.center_x - region.size_x / 2;
  const top = region.center_y - region.size_y / 2;
  return element('g', { class: kind },
    element('rect', { x: left, y: top, width: region.size_x, height: region.size_y }),
    element('text', { x: left, y: Math.max(top - letter / 4, letter), 'font-size': letter }, predicted.join(', ') + far({ metres })));
}

function drawBoxes() {
  const [width, height] = size();
  const prediction = shown();
  const chosen = prediction?.region ? prediction : null;
  const asked = state.held?.query?.region;
  $('boxes').setAttribute('viewBox', `0 0 ${width} ${height}`);
  const parts = (chosen ? [] : prediction?.regions ?? []).map((one) => drawn(one, one.predicted.length ? 'seen' : 'empty'));
  if (chosen) parts.push(drawn(chosen, 'chosen'));
  if (asked) parts.push(drawn({ region: asked, predicted: [] }, 'chosen'));
  if (box.on) parts.push(drawn({ region: regionOf(), predicted: [] }, 'drawing'));
  // Those with labels last, over the others.
  $('boxes').replaceChildren(...parts.filter((one) => one.classList.contains('empty')),
    ...parts.filter((one) => !one.classList.contains('empty')));
  listBoxes(chosen ? null : prediction);
}

// The same as buttons: for keys and screen readers, and to teach one of them.
function listBoxes(prediction) {
  const listed = [...prediction?.regions ?? []].sort((one, other) => other.predicted.length - one.predicted.length).slice(0, MOST_LISTED);
  const list = $('box-list');
  list.hidden = !listed.length;
  // A button that somebody is about to press stays where it is.
  if (list.children.length !== listed.length) {
    list.replaceChildren(...listed.map((_, place) => make('button', { type: 'button', class: 'chip', onclick: () => choose(place) })));
  }
  listed.forEach((one, place) => setText(list.children[place], `Box ${place + 1}: ${words(one)}${far(one)}`));
  Object.assign(list, { regions: listed, prediction });
}

function choose(place) {
  // Another picture may have come since; the box is one of the picture that the list is of.
  const { regions, prediction } = $('box-list');
  if (regions[place]) takeBox(prediction, regions[place]);
}

// What is taught next is about this box.
function takeBox(prediction, one) {
  const bitmap = state.held ? state.held.bitmap : state.bitmap;
  const held = { ...prediction, regions: [], region: one.region, metres: one.metres, predicted: one.predicted, novelty: one.novelty, unknown: one.unknown, scores: one.scores, probabilities: one.probabilities };
  if (state.held) state.held.bitmap = null; // It is still shown.
  take({ stamp: prediction.stamp, prediction: held, bitmap, query: null });
  say(`Box held, seen as ${words(one)}. Press a label or its number, N for a new name.`);
}

// Small things: the robot looks at boxes of its own, and names what they show. By key, and by itself
// where it does not know what a held picture shows.
async function look() {
  if (!state.held) hold();
  const held = state.held;
  if (!held || held.prediction.region) return undefined;
  say('Looking closer …');
  const answer = await ask('look', { stamp: held.stamp });
  if (state.held !== held) return undefined;
  if (!answer.done) return say(answer.message, 'bad');
  held.prediction = { ...held.prediction, regions: answer.answers };
  change('prediction', 'marks');
  const named = answer.answers.filter((one) => one.predicted.length).map((one) => one.predicted.join(', '));
  return say(named.length ? `In boxes: ${named.join('; ')}.` : 'No box shows a label. Press a box to teach what is in it.');
}

function lookIfUnknown() {
  const { held } = state;
  if (!held || held.looked || held.query || held.typing || !held.prediction.unknown || held.prediction.region || held.prediction.regions.length) return;
  held.looked = true;
  look();
}

// --- drawing ---------------------------------------------------------------------------------

function begin() {
  if (box.on) return end();
  if (!state.held) hold();
  if (!state.held?.bitmap) return say('There is no picture to draw on.', 'bad');
  const [width, height] = size();
  Object.assign(box, { on: true, from: null, left: width * 0.35, right: width * 0.65, top: height * 0.35, bottom: height * 0.65 });
  $('camera').dataset.drawing = 'yes';
  $('draw').setAttribute('aria-pressed', 'true');
  $('boxes').setAttribute('tabindex', '0');
  $('boxes').removeAttribute('aria-hidden'); // The list of buttons says the rest.
  $('boxes').focus({ preventScroll: true });
  say('Draw a box around one thing: drag over the picture, or use the arrow keys, with Shift for the size; Enter takes it.');
  change('marks');
}

function end() {
  box.on = false;
  delete $('camera').dataset.drawing;
  $('draw').setAttribute('aria-pressed', 'false');
  $('boxes').removeAttribute('tabindex');
  $('boxes').setAttribute('aria-hidden', 'true');
  change('marks');
}

async function finish() {
  const [width, height] = size();
  const region = regionOf();
  if (Math.min(region.size_x, region.size_y) < LEAST * Math.min(width, height)) {
    return say('The box is too small; draw it around the thing.', 'bad');
  }
  const held = state.held;
  say('Looking at the box …');
  const answer = await ask('draw', { stamp: held.stamp, region });
  if (state.held !== held) return undefined;
  if (!answer.done) return say(answer.message, 'bad');
  end();
  takeBox(held.prediction, answer.answer);
  // The keys are the page's: numbers mark labels. Without any, a name is all there is to give.
  if (state.known.size) document.activeElement?.blur();
  else $('new-label').focus();
  return undefined;
}

function place(event) {
  // The picture may be shown smaller than its frame.
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform($('boxes').getScreenCTM().inverse());
  const [width, height] = size();
  return [clamp(point.x, width), clamp(point.y, height)];
}

function span([x, y]) {
  const [fromX, fromY] = box.from;
  Object.assign(box, { left: Math.min(x, fromX), right: Math.max(x, fromX), top: Math.min(y, fromY), bottom: Math.max(y, fromY) });
  change('marks');
}

function onPointer(event) {
  if (!box.on || (event.type === 'pointerdown' && event.button)) return;
  event.preventDefault();
  if (event.type === 'pointerdown') {
    box.from = place(event);
    $('boxes').setPointerCapture(event.pointerId);
  }
  if (!box.from) return;
  span(place(event));
  if (event.type === 'pointerup') {
    box.from = null;
    finish();
  }
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function onKey(event) {
  if (!box.on) return;
  const arrow = ARROWS[event.key];
  if (!arrow && !['Enter', 'Escape'].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation(); // The page's own keys do other things.
  if (event.key === 'Enter') finish();
  else if (event.key === 'Escape') end();
  else move(arrow, event.shiftKey);
}

function move([right, down], sizes) {
  const [width, height] = size();
  const step = STEP * Math.max(width, height);
  const shift = (low, high, by, most) => (sizes
    ? [low, clamp(Math.max(high + by, low + step), most)]
    : [low + by, high + by].map((edge) => edge - Math.min(low + by, 0) - Math.max(high + by - most, 0)));
  [box.left, box.right] = shift(box.left, box.right, right * step, width);
  [box.top, box.bottom] = shift(box.top, box.bottom, down * step, height);
  const share = (value, of) => `${Math.round(100 * value / of)} %`;
  say(`Box from ${share(box.left, width)} to ${share(box.right, width)} across, ${share(box.top, height)} to ${share(box.bottom, height)} down.`);
  change('marks');
}

['pointerdown', 'pointermove', 'pointerup'].forEach((kind) => $('boxes').addEventListener(kind, onPointer));
$('boxes').addEventListener('keydown', onKey);
$('draw').onclick = begin;
addKey('b', begin);
addKey('l', look);
on('marks', lookIfUnknown);
onRelease(() => { if (box.on) end(); });
on('prediction marks', drawBoxes);
