// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// What the page knows, and what is drawn when a part of it changes.

export const state = {
  labels: { names: [], counts: [], thresholds: [], samples: 0, version: 0 },
  known: new Set(),
  prediction: null, // the newest prediction
  bitmap: null,     // the picture that belongs to it
  arriving: null,   // the picture of the prediction that comes next: {stamp, bitmap}
  held: null,       // the annotation draft: {stamp, prediction, bitmap, marks, query, typing}
  received: { at: -Infinity, gap: 0 }, // when the newest prediction came, and the usual time between two, in ms
  progress: { right: 0, of: 0, pairs: [], labels: {}, confusions: [] },
  source: null,     // what the source of the pictures reports
  queries: [],
  activity: [],
  curve: { points: [], introductions: [] },
  health: null,
  online: false,
};

const listeners = new Map();
const changed = new Set();

export function on(parts, draw) {
  for (const part of parts.split(' ')) {
    if (!listeners.has(part)) listeners.set(part, new Set());
    listeners.get(part).add(draw);
  }
}

// Draws once per frame, however many changes there were.
export function change(...parts) {
  if (!changed.size) requestAnimationFrame(drawChanges);
  parts.forEach((part) => changed.add(part));
}

function drawChanges() {
  const draws = new Set([...changed].flatMap((part) => [...(listeners.get(part) ?? [])]));
  changed.clear();
  draws.forEach((draw) => {
    try {
      draw();
    } catch (error) {
      console.error(error); // The other parts are still drawn.
    }
  });
}

// The prediction on the page: the held one, or the newest.
export const shown = () => state.held?.prediction ?? state.prediction;
