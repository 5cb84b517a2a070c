// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The header, the activity log, the classifier's diagnostics, and the learning curve: Hamming loss
// against samples, with a line where a label was introduced.

import { $, clockTime, make, runs, setText, times } from './dom.js';
import { samples } from './progress.js';
import { on, state } from './state.js';

const WIDTH = 460;
const HEIGHT = 190;
const LEFT = 36;
const BOTTOM = 22;
const TOP = 46;
const MOST_NAMES = 8;

function drawHealth() {
  const { health, online, labels } = state;
  const pill = $('connection');
  if (!online) {
    pill.dataset.state = 'away';
    setText(pill, 'dashboard not reachable, trying again …');
    return;
  }
  if (!health) return;
  pill.dataset.state = health.stopped ? 'lost' : 'live';
  setText(pill, health.stopped || 'connected');
  setText($('classifier'), health.classifier);
  const people = health.operators === 1 ? '1 operator' : `${health.operators} operators`;
  setText($('figures'), `${health.rate.toFixed(1)} Hz · ${samples(labels.samples)} · ${people}`);
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
  const same = (one, other) => one.who === other.who && one.text === other.text;
  $('activity').replaceChildren(...runs(state.activity.toReversed(), same).map((run) => make('li', {},
    make('time', {}, clockTime(run[0].time)),
    make('span', {}, `${run[0].who ? `${run[0].who} ` : ''}${run[0].text}${times(run.length)}`))));
}

// --- learning curve --------------------------------------------------------------------------

function shape(tag, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function drawCurve() {
  const { introductions } = state.curve;
  const points = state.curve.points.filter(([, loss]) => loss !== null);
  const [count, loss] = points.at(-1) ?? [0, null];
  $('curve-words').textContent = loss === null
    ? 'Appears with the first annotations.'
    : `Hamming loss ${loss.toFixed(3)} after ${samples(count)}; lower is better.`;
  $('curve').replaceChildren(...(points.length ? [curveChart(points, introductions)] : []));
}

function curveChart(points, introductions) {
  const first = Math.min(points[0][0], ...introductions.map(([at]) => at));
  const last = Math.max(points.at(-1)[0], first + 1);
  const highest = Math.max(0.05, ...points.map(([, loss]) => loss));
  const x = (count) => LEFT + ((count - first) / (last - first)) * (WIDTH - LEFT - 10);
  const y = (loss) => HEIGHT - BOTTOM - (loss / highest) * (HEIGHT - BOTTOM - TOP);
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-labelledby': 'curve-title', 'aria-describedby': 'curve-words' });
  svg.append(...axes(x, y, first, last, highest), ...introductionMarks(x, introductions));
  svg.append(shape('polyline', { class: 'loss', points: points.map(([count, loss]) => `${x(count)},${y(loss)}`).join(' ') }));
  svg.append(shape('circle', { class: 'dot', cx: x(points.at(-1)[0]), cy: y(points.at(-1)[1]), r: 3.5 }));
  return svg;
}

function axes(x, y, first, last, highest) {
  const parts = [0, highest / 2, highest].flatMap((loss) => [
    shape('line', { class: 'axis', x1: LEFT, x2: WIDTH - 10, y1: y(loss), y2: y(loss) }),
    shape('text', { x: LEFT - 6, y: y(loss) + 4, 'text-anchor': 'end' }, loss.toFixed(2)),
  ]);
  return [...parts,
    shape('text', { x: x(first), y: HEIGHT - 5 }, String(first)),
    shape('text', { x: x(last), y: HEIGHT - 5, 'text-anchor': 'end' }, `${last} samples`)];
}

// Names stand at a slant above their lines; of many, only the newest are named.
function introductionMarks(x, introductions) {
  const named = introductions.slice(-MOST_NAMES);
  return introductions.flatMap((mark) => {
    const at = x(mark[0]);
    const line = shape('line', { class: 'mark', x1: at, x2: at, y1: TOP - 6, y2: HEIGHT - BOTTOM });
    line.append(shape('title', {}, `${mark[1]}, at ${mark[0]} samples`));
    if (!named.includes(mark)) return [line];
    const name = mark[1].length > 14 ? `${mark[1].slice(0, 13)}…` : mark[1];
    const late = at + 6 * name.length > WIDTH;
    return [line, shape('text', {
      class: 'introduced', x: at, y: TOP - 10, 'text-anchor': late ? 'end' : 'start',
      transform: `rotate(${late ? 28 : -28} ${at} ${TOP - 10})`,
    }, name)];
  });
}

on('health labels', drawHealth);
on('activity', drawActivity);
on('curve', drawCurve);
drawCurve();
