// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Labels that people type: the same grammar as label_text.py, and a test compares the two.

const QUOTES = { '"': '"', '“': '”', '„': '“', '«': '»' };

// The labels that a text names, each once. Commas separate names; a name in double quotes may
// contain commas, and two quotes inside stand for one.
export function splitLabels(text) {
  const names = [];
  for (let place = 0; place <= text.length;) {
    const [name, next] = quotedName(text, place) ?? plainName(text, place);
    names.push(name.trim());
    place = next;
  }
  return [...new Set(names.filter(Boolean))];
}

function plainName(text, place) {
  const comma = text.indexOf(',', place);
  const end = comma < 0 ? text.length : comma;
  return [text.slice(place, end), end + 1];
}

function quotedName(text, place) {
  const start = text.length - text.slice(place).trimStart().length;
  const closing = QUOTES[text[start]];
  for (let end = start + 1; closing && (end = text.indexOf(closing, end)) >= 0;) {
    if (text[end + 1] === closing) {
      end += 2;
      continue;
    }
    const rest = text.slice(end + 1).trimStart();
    if (rest && rest[0] !== ',') return null;
    return [text.slice(start + 1, end).replaceAll(closing + closing, closing), text.length - rest.length + 1];
  }
  return null;
}

export const joinLabels = (names) => names
  .map((name) => (name.includes(',') || name[0] in QUOTES ? `"${name.replaceAll('"', '""')}"` : name)).join(', ');
