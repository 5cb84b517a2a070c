// Copyright 2026 The proemlc_ros Authors. SPDX-License-Identifier: Apache-2.0
// The connection to the dashboard: signs in, reconnects, sends requests, receives messages.

import { $ } from './dom.js';
import { change, state } from './state.js';

const waiting = new Map();
const greetings = [];
let socket = null;
let number = 0;
let pause = 500;
let inbox = Promise.resolve();

// Called after each connection, the first and every later one.
export const onConnect = (greet) => greetings.push(greet);

export async function connect(receive) {
  try {
    if (!(await admitted())) await signIn();
  } catch {
    retry(receive);
    return;
  }
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  socket = new WebSocket(`${scheme}://${location.host}/ws`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    pause = 500;
    state.online = true;
    change('health');
    greetings.forEach((greet) => greet());
  };
  // One after the other: decoding a picture takes a while, and the order must stay. A message that
  // cannot be read, such as a damaged picture, is left out; the next ones are not.
  socket.onmessage = (event) => {
    inbox = inbox.then(() => take(event, receive)).catch((error) => console.error(error));
  };
  socket.onclose = () => {
    state.online = false;
    change('health');
    waiting.forEach((answer) => answer({ done: false, message:
      'The connection was lost; the activity will show whether it was done.' }));
    waiting.clear();
    retry(receive);
  };
}

function retry(receive) {
  setTimeout(() => connect(receive), pause * (0.75 + Math.random() / 2));
  pause = Math.min(pause * 1.7, 8000);
}

async function take({ data, target }, receive) {
  if (typeof data !== 'string') return receive('picture', data);
  const message = JSON.parse(data);
  if (message.type !== 'reply') {
    try {
      await receive(message.type, message);
    } finally {
      // Only then the next one is sent: a slow page must not show what was there long ago.
      if (message.type === 'prediction' && target.readyState === WebSocket.OPEN) target.send('{"do":"shown"}');
    }
    return undefined;
  }
  waiting.get(message.id)?.(message);
  waiting.delete(message.id);
}

// Sends a request to the dashboard; a reply always comes and says what happened.
export function ask(what, content = {}) {
  if (!state.online) {
    return Promise.resolve({ done: false, message: 'Not connected; nothing was sent.' });
  }
  number += 1;
  const id = number;
  socket.send(JSON.stringify({ id, do: what, ...content }));
  return new Promise((answer) => waiting.set(id, answer));
}

async function admitted() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    // Out of the address bar and the history at once.
    history.replaceState(null, '', location.pathname);
    if (await present(given)) return true;
  }
  const answer = await fetch('sign_in', { cache: 'no-store' });
  return (await answer.json()).admitted;
}

async function present(token) {
  const answer = await fetch('sign_in', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }),
  });
  $('token-error').textContent = answer.ok ? '' : await answer.text();
  return answer.ok;
}

async function signIn() {
  const dialog = $('token-dialog');
  for (let open = false; !open;) {
    if (!dialog.open) dialog.showModal();
    await new Promise((done) => dialog.addEventListener('close', done, { once: true }));
    const token = $('token').value;
    $('token').value = '';
    open = token !== '' && await present(token);
  }
}
