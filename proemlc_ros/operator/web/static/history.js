// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The history: who did what, and undo and redo of exactly what the page names.

import { $, clockTime, make, runs, setText, times } from './dom.js';
import { say } from './draft.js';
import { ask, onConnect } from './link.js';
import { on, state } from './state.js';

const LISTED = 200;
// Milliseconds without a change before the history is asked for: a burst is one question.
const QUIET = 120;
let history = { undo: [], redo: [], steps: [], total: 0, you: '' };
let timer = 0;
let asked = Promise.resolve();
let outdated = true;

const mine = () => $('history-mine').checked;
const numbers = (steps) => steps.map(({ number }) => number);
const sameSteps = (one, other) => one.length === other.length && one.every(({ number }, place) => number === other[place].number);

function words(steps) {
  if (!steps.length) return 'nothing';
  const [{ text, who }] = steps;
  return `${text}${times(steps.length)}${who && who !== history.you ? ` (${who})` : ''}`;
}

function refreshSoon() {
  outdated = true;
  clearTimeout(timer);
  timer = setTimeout(refresh, QUIET);
}

function refresh() {
  clearTimeout(timer);
  timer = 0;
  asked = ask('history', { mine: mine(), offset: 0, limit: LISTED }).then((answer) => {
    if (!answer.done) return;
    outdated = false;
    history = answer;
    draw();
  });
  return asked;
}

function draw() {
  setText($('undo-next'), history.undo.length ? `Undo takes back: ${words(history.undo)}` : '');
  $('undo').title = `Takes back: ${words(history.undo)}`;
  for (const [name, steps] of [['undo', history.undo], ['redo', history.redo]]) {
    $(`history-${name}`).disabled = !steps.length;
    setText($(`history-${name}-what`), words(steps));
  }
  $('history-empty').hidden = history.total > 0;
  $('history-list').replaceChildren(...runs(history.steps, sameBurst).map(listed));
}

const sameBurst = (one, other) => one.group !== '' && one.group === other.group && one.undone === other.undone
  && one.text === other.text;

function listed(run) {
  const [step] = run;
  return make('li', { class: step.undone ? 'undone' : '' }, make('time', {}, clockTime(step.time)),
    make('span', {}, `${step.who ? `${step.who} ` : ''}${step.text}${times(run.length)}${step.undone ? ' – undone' : ''}`));
}

// Changes what the page says, and nothing else. It asks first: word of a change may come later than the answer
// to it. Where something came meanwhile, one's own last step is meant, as when U follows a press at once;
// somebody else's is named first.
async function turn(name, tell) {
  const said = history[name];
  await refresh();
  const [next] = history[name];
  if (next && !sameSteps(said, history[name]) && next.who !== history.you) {
    return tell(`Not done: meanwhile ${words(history[name])}. Press again to ${name} that.`, 'bad');
  }
  if (!next) return tell(`There is nothing to ${name}.`, 'bad');
  outdated = true;
  const answer = await working(`${name === 'undo' ? 'Undoing' : 'Redoing'} ${words(history[name])} …`, tell,
    ask(`${name}_change`, { steps: numbers(history[name]), mine: mine() }));
  tell(answer.message, answer.done ? 'good' : 'bad');
  await refresh();
  return answer.done;
}

// What the classifier reports of work that takes long, such as "changing 500 samples: 120 done".
function far() {
  const [, text] = state.health?.values.find(([name]) => name === 'Background work') ?? [];
  return text && text !== 'none' ? ` (${text})` : '';
}

// Says what is going on, for how long and how far it is, until the answer is there.
export async function working(text, tell, answer) {
  const begun = performance.now();
  tell(text);
  const ticker = setInterval(() => tell(`${text} ${Math.round((performance.now() - begun) / 1000)} s${far()}`), 1000);
  try {
    return await answer;
  } finally {
    clearInterval(ticker);
  }
}

export const undoNext = (tell = say) => turn('undo', tell);
export const redoNext = (tell = say) => turn('redo', tell);

$('undo').onclick = $('history-undo').onclick = () => undoNext();
$('history-redo').onclick = () => redoNext();
$('history-mine').onchange = refresh;
on('activity', refreshSoon);
// The classifier may not have been there yet when it was asked first.
on('health', () => { if (outdated && !timer && state.health && !state.health.stopped) refreshSoon(); });
onConnect(refreshSoon);
