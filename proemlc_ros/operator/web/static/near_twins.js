// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// What somebody typed as labels: one grammar, and one question where a name is nearly a known one.

import { make } from './dom.js';
import { splitLabels } from './label_text.js';
import { ask } from './link.js';
import { state } from './state.js';

// As the classifier's parameter max_label_length.
const LONGEST = 100;
const open = new Map(); // by box: ends its question without an answer

// Asks in `box`, gives the names that are meant. Null: none is typed, one is too long, or the question was dropped.
export async function namesMeant(text, box, say) {
  dropQuestion(box);
  const names = splitLabels(text);
  const long = names.find((name) => [...name].length > LONGEST);
  if (long) {
    say(`A label has at most ${LONGEST} characters; “${long.slice(0, 20)}…” has ${[...long].length}. Shorten it.`, 'bad');
    return null;
  }
  const unknown = names.filter((name) => !state.known.has(name));
  const { similar = {} } = unknown.length ? await ask('similar', { labels: unknown }) : {};
  const meant = [];
  for (const name of names) {
    const one = name in similar ? await choice(name, similar[name], box) : name;
    if (one === null) return null;
    meant.push(one);
  }
  return names.length ? [...new Set(meant)] : null;
}

function choice(name, similar, box) {
  return new Promise((done) => {
    const settle = (chosen) => {
      open.delete(box);
      box.hidden = true;
      box.replaceChildren();
      done(chosen);
    };
    open.set(box, () => settle(null));
    box.replaceChildren(
      make('p', {}, `“${name}” is nearly the same as ${similar.map((other) => `“${other}”`).join(', ')}.`),
      make('div', { class: 'row' },
        ...similar.map((other) => make('button', { type: 'button', onclick: () => settle(other) }, `Use “${other}”`)),
        make('button', { type: 'button', onclick: () => settle(name) }, `Add “${name}” anyway`)));
    box.hidden = false;
    box.querySelector('button').focus({ preventScroll: true });
  });
}

// With the draft that it asked about: its buttons must not teach another picture.
export const dropQuestion = (box) => open.get(box)?.();
