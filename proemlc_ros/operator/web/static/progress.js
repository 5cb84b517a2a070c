// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// Is it good yet? How sure, how often right lately, what is confused, in words and per cent.

import { $, make, setText } from './dom.js';
import { openGallery } from './gallery.js';
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

// Whether a predicted label is one to rely on; without a share nothing speaks against it.
export function isSure(prediction, name) {
  const share = shareOf(prediction, state.labels.names.indexOf(name));
  return share === null || share >= (state.labels.sure ?? 0);
}

// The likeliest label, predicted or not; empty where it is not known.
export function bestGuess(prediction) {
  const shares = state.labels.names.map((_, index) => shareOf(prediction, index));
  const best = Math.max(...shares.filter((share) => share !== null));
  return state.labels.names[shares.indexOf(best)] ?? '';
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
  if (state.labels.counts[index] < FEW) return ['needs more', 'more'];
  const [right, of] = state.progress.label_truth?.[name] ?? [0, 0];
  if (!of) return ['', ''];
  if (right / of >= GOOD) return [`right ${right} of ${of}`, 'good'];
  const taken = state.progress.confusions.find(({ label }) => label === name);
  return taken ? [`taken for ${taken.other}`, 'more'] : [`right ${right} of ${of}`, 'more'];
}

// All that is known of a label, for its dialog: the figures that the list leaves out.
export function describeLabel(name) {
  const index = state.labels.names.indexOf(name);
  const score = state.prediction?.version === state.labels.version ? state.prediction.scores[index] : null;
  const parts = [`Shown by ${samples(state.labels.counts[index])}.`];
  const [right, of] = state.progress.label_truth?.[name] ?? [0, 0];
  if (of) parts.push(`Left out in turn, ${right} of ${of} are labelled rightly by the others.`);
  parts.push(`Score ${score === null || score === undefined ? 'not known' : score.toFixed(2)}, predicted above ${(state.labels.thresholds[index] ?? 0).toFixed(2)}.`);
  return parts.join(' ');
}

export function noveltyWord(novelty) {
  if (novelty === null || novelty === undefined) return '–';
  if (novelty < 0.8) return 'well known';
  return novelty < 0.95 ? 'partly new' : 'new to it';
}

function drawProgress() {
  const { right, of, truth, caution = '', advice = [], confusions = [] } = state.progress;
  setText($('truth'), truth ? `${truth} ${caution}` : 'Too early to tell: show each thing a few times more, from other sides.');
  const shown = advice.slice(0, MOST_SHOWN);
  if (advice.length > MOST_SHOWN) shown.push(`${advice.length - MOST_SHOWN} more labels need samples.`);
  const [silent, empty] = state.progress.silence ?? [0, 0];
  if (empty) shown.push(`Silence: ${counted(empty, 'picture')} of “none of them” taught; ${silent} stay without a label, each left out in turn.`);
  if (truth && !advice.length) shown.push('Nothing is confused, and no label needs more samples.');
  $('good-points').replaceChildren(...shown.map((text) => make('li', {}, text)));
  setText($('good-yet'), of ? `Lately: right in ${right} of the last ${counted(of, 'annotation')} (${percent(right / of)}), predicted just before it was taught.` : '');
  drawConfusions(confusions.slice(0, MOST_SHOWN));
}

// Which label is taken for which: a mistake beside the sample that it is taken for. A press lists them.
function drawConfusions(confusions) {
  const text = JSON.stringify(confusions);
  const list = $('confusions');
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  list.replaceChildren(...confusions.map(({ label, other, count, pictures }) => make('li', {}, make('button', {
    type: 'button', title: `Look at the samples of ${label}, the doubtful ones first`,
    onclick: () => openGallery({ label, order: 'doubtful' }),
  }, ...pictures.map((number, place) => make('span', { class: 'one' }, pictureOf(number, ''), place ? other : label)),
  make('span', { class: 'words' }, `${label} taken for ${other}${count > 1 ? `, ${count} times` : ''}`)))));
}

// The picture of a sample that has one; hidden where the sample was deleted meanwhile.
export const pictureOf = (number, alt) => make('img', { src: `samples/${number}.jpg`, alt, loading: 'lazy', onerror: ({ target }) => { target.hidden = true; } });

on('progress labels', drawProgress);
