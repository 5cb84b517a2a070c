// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Small helpers; all text goes through textContent, so that a label is never read as HTML.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Writes only what differs: rows are redrawn many times a second.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function clockTime(seconds, digits = 0) {
  const date = new Date(seconds * 1000);
  const base = [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0')).join(':');
  return digits ? `${base}.${String(date.getMilliseconds()).padStart(3, '0').slice(0, digits)}` : base;
}

// Stamps are nanoseconds as text; a simulation's clock starts near zero and has no time of day.
export function stampTime(stamp) {
  const seconds = Number(BigInt(stamp) / 1000000n) / 1000;
  return seconds > 1e9 ? clockTime(seconds, 2) : `${seconds.toFixed(2)} s`;
}

// Neighbours that are the same, put together: a burst is one line.
export function runs(entries, same) {
  const found = [];
  for (const entry of entries) {
    if (found.length && same(found.at(-1)[0], entry)) found.at(-1).push(entry);
    else found.push([entry]);
  }
  return found;
}

export const times = (count) => (count > 1 ? `, ${count} times` : '');
