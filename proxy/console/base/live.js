// Keeps the page up to date. The feed of the gateway names topics that changed, and the data of those is requested again.
import { effect, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { ask } from './api.js';
import { readSession, session } from './session.js';

/** @typedef {'accounts' | 'requests' | 'configuration'} Topic */

/** The state of the feed: `connecting` at first, `live`, or `lost` while the gateway cannot be reached. */
export const connection = signal(/** @type {'connecting' | 'live' | 'lost'} */ ('connecting'));

/** Whether the operator has stopped the updates. */
export const paused = signal(false);

/** The number of changes of each topic since the page was opened. */
const versions = signal({ accounts: 0, requests: 0, configuration: 0 });

/** @type {EventSource | undefined} */
let source;

/** Connects to the feed. The browser reconnects by itself, with the id of the last event. */
export function listen() {
  source?.close();
  source = new EventSource('/api/events');
  source.addEventListener('open', () => {
    connection.value = 'live';
  });
  source.addEventListener('error', () => {
    connection.value = 'lost';
    if (source?.readyState !== EventSource.CLOSED) return;
    // A refusal ends the browser's own attempts. If the sign-in has ended, the page asks for a token, and listens again after that.
    readSession()
      .catch(() => undefined)
      .finally(() => session.value && setTimeout(listen, 2_000));
  });
  source.addEventListener('changed', (event) => {
    /** @type {readonly Topic[]} */
    const topics = JSON.parse(event.data).topics;
    const next = { ...versions.value };
    for (const topic of topics) if (topic in next) next[topic] += 1;
    versions.value = next;
  });
}

/** The time in which changes are gathered, so that they cause one request. */
const GATHER_MS = 300;

/**
 * The answer for a path, which is requested again when a topic changes. Until then the former answer is shown.
 * @param {string} path empty if nothing can be requested yet
 * @param {readonly Topic[]} topics
 * @returns {{ data: any, error: import('./api.js').ApiError | undefined, refresh: () => void }}
 */
export function useLive(path, topics) {
  const [state, setState] = useState({ path: '', data: /** @type {any} */ (undefined), error: /** @type {any} */ (undefined) });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (path === '') return undefined;
    let isCurrent = true;
    ask(path).then(
      (data) => isCurrent && setState({ path, data, error: undefined }),
      (error) => isCurrent && setState((before) => ({ path, data: before.path === path ? before.data : undefined, error })),
    );
    return () => {
      isCurrent = false;
    };
  }, [path, asked]);
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let seen = '';
    const stop = effect(() => {
      const now = `${topics.map((topic) => versions.value[topic]).join()} ${connection.value}`;
      const isFirst = seen === '';
      const isChanged = now !== seen && !paused.value && connection.value === 'live';
      if (isFirst || isChanged) seen = now;
      if (isFirst || !isChanged) return;
      clearTimeout(timer);
      timer = setTimeout(() => setAsked((count) => count + 1), GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [path]);
  return { data: state.path === path ? state.data : undefined, error: state.error, refresh: () => setAsked((count) => count + 1) };
}

/** The current time, updated every second, for countdowns. */
export const clock = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') clock.value = Date.now();
}, 1_000);
