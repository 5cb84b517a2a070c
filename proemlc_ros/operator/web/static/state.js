// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// What the page knows, and who wants to hear of changes.

export const state = {
  labels: { names: [], counts: [], thresholds: [], samples: 0, version: 0 },
  known: new Set(),
  sight: null,      // the newest prediction
  bitmap: null,     // the picture that belongs to it
  held: null,       // the frozen moment: {stamp, sight, bitmap, marks, asked, typing}
  questions: [],
  deeds: [],
  curve: { points: [], introductions: [] },
  health: null,
  online: false,
};

const listeners = new Map();
const changed = new Set();

export function on(topics, draw) {
  for (const topic of topics.split(' ')) {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(draw);
  }
}

// Draws once a frame, however many changes there were.
export function change(...topics) {
  if (!changed.size) requestAnimationFrame(drawChanges);
  topics.forEach((topic) => changed.add(topic));
}

function drawChanges() {
  const draws = new Set([...changed].flatMap((topic) => [...(listeners.get(topic) ?? [])]));
  changed.clear();
  draws.forEach((draw) => draw());
}

// The moment on the stage: the held one, or the newest.
export const shown = () => state.held?.sight ?? state.sight;
