// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Is it good yet? How sure, how often right lately, what is confused, in words and per cent.

import { $, make, setText } from './dom.js';
import { on, state } from './state.js';

// Samples of a label below which it is too early to judge it.
const FEW = 5;
// Share of right predictions from which a label counts as good.
const GOOD = 0.85;
const MOST_SHOWN = 4;

const clamped = (value) => Math.min(Math.max(value, 0), 1);
// A score of -1 (absent) to +1 (present) as a share.
const ofScore = (score) => clamped((score + 1) / 2);
export const percent = (share) => `${Math.round(100 * share)} %`;
const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;
export const samples = (count) => counted(count, 'sample');

// How sure the classifier is that a label is there, 0 to 1; null where it is not known.
export function shareOf(prediction, index) {
  const { labels } = state;
  // A row may be one of the labels before: it is drawn once more before the list is made again.
  if (!prediction || !(index in labels.names) || prediction.version !== labels.version) return null;
  const { probabilities = [], scores } = prediction;
  if (probabilities.length === labels.names.length) return probabilities[index];
  return scores.length === labels.names.length && scores[index] !== null ? ofScore(scores[index]) : null;
}

// Where a label begins to be predicted, on the same scale.
export function thresholdShare(prediction, labels, index) {
  if (prediction?.by_probability) return clamped(prediction.threshold);
  return ofScore(labels.thresholds[index] ?? 0);
}

export function factsOf(index, share) {
  if (index < 0) return 'new';
  const count = samples(state.labels.counts[index]);
  return share === null ? count : `${percent(share)} · ${count}`;
}

// A word on a label, and its kind: good, more, confused or none.
export function verdictOf(name, index) {
  if (index < 0) return ['', ''];
  const known = state.progress.labels[name];
  if (state.labels.counts[index] < FEW) return ['needs more', 'more'];
  if (!known?.of) return ['', ''];
  if (known.right / known.of >= GOOD) return [`right ${known.right} of ${known.of}`, 'good'];
  if (known.confused) return [`taken for ${known.confused}`, 'more'];
  return [`right ${known.right} of ${known.of}`, 'more'];
}

// All that is known of a label, for its dialog: the figures that the list leaves out.
export function describeLabel(name) {
  const index = state.labels.names.indexOf(name);
  const score = state.prediction?.version === state.labels.version ? state.prediction.scores[index] : null;
  const parts = [`Shown by ${samples(state.labels.counts[index])}.`];
  const known = state.progress.labels[name];
  if (known?.of) parts.push(`Right in ${known.right} of the last ${known.of} annotations about it.`);
  parts.push(`Score ${score === null || score === undefined ? 'not known' : score.toFixed(2)}, predicted above ${(state.labels.thresholds[index] ?? 0).toFixed(2)}.`);
  return parts.join(' ');
}

export function noveltyWord(novelty) {
  if (novelty === null || novelty === undefined) return '–';
  if (novelty < 0.3) return 'well known';
  return novelty < 0.6 ? 'partly new' : 'new to it';
}

function drawProgress() {
  const { right, of, pairs } = state.progress;
  const { names, counts } = state.labels;
  const few = names.filter((name, index) => counts[index] < FEW);
  const line = of ? `Right in ${right} of the last ${counted(of, 'annotation')} (${percent(right / of)}).` : 'Teach something: then it shows how often the robot was right.';
  setText($('good-yet'), line);
  const points = pairs.slice(0, MOST_SHOWN).map(([was, taken, count]) => `${was} was taken for ${taken} ${count === 1 ? 'once' : `${count} times`}.`);
  if (few.length) points.push(`Needs more: ${few.slice(0, MOST_SHOWN).join(', ')}${few.length > MOST_SHOWN ? ` and ${few.length - MOST_SHOWN} more` : ''}.`);
  if (of && !points.length) points.push('Nothing is confused, and no label needs more samples.');
  $('good-points').replaceChildren(...points.map((text) => make('li', {}, text)));
}

on('progress labels', drawProgress);
