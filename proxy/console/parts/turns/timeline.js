// The timeline of a turn on one scale: the time before its first attempt, each attempt, its first event and its end.
import { took } from '../../base/format.js';
import { html } from '../../base/html.js';

/** @typedef {{ name: string, tone: string, from: number, ms: number }} Part from: milliseconds since the request arrived */

/** The least duration that is shown. */
const LEAST_MS = 5;

/** @param {{ turn: any, attempts: readonly any[] }} props */
export function Timeline({ turn, attempts }) {
  const whole = Math.max(1, turn.duration_ms);
  return html`<ol class="timeline">
    ${partsOf(turn, attempts).map(
      ({ name, tone, from, ms }, i) => html`<li key=${i}>
        <span class="bar-line"><span>${name}</span><span class="number">${ms === 0 ? `at ${took(from)}` : took(ms)}</span></span>
        <span class="track" aria-hidden="true"><span class=${tone} style=${{
          marginInlineStart: `${Math.min(99, (from / whole) * 100)}%`,
          inlineSize: `${Math.max(1, Math.min(100 - Math.min(99, (from / whole) * 100), (ms / whole) * 100))}%`,
        }}></span></span>
      </li>`,
    )}
  </ol>`;
}

/**
 * @param {any} turn
 * @param {readonly any[]} attempts
 * @returns {readonly Part[]}
 */
function partsOf(turn, attempts) {
  /** @type {Part[]} */
  const parts = [];
  let end = 0;
  for (const [i, attempt] of attempts.entries()) {
    const from = Math.max(0, attempt.at - turn.at);
    if (from - end >= LEAST_MS)
      parts.push({ name: i === 0 ? BEFORE : 'Waited for another account', tone: 'idle', from: end, ms: from - end });
    const result = attempt.error_class ?? attempt.status ?? 'no answer';
    const cause = attempt.cause === 'first' ? '' : `, after ${attempt.cause}`;
    parts.push({
      name: `${attempt.account}: ${result}${cause}`,
      tone: attempt.error_class ? 'bad' : 'good',
      from,
      ms: Math.max(1, attempt.duration_ms),
    });
    end = Math.max(end, from + attempt.duration_ms);
  }
  if (typeof turn.first_event_ms === 'number')
    parts.push({ name: 'First event for the client', tone: 'accent', from: turn.first_event_ms, ms: 0 });
  if (turn.detached_ms)
    parts.push({
      name: 'Went on while the client was away',
      tone: 'idle',
      from: Math.max(0, turn.duration_ms - turn.detached_ms),
      ms: turn.detached_ms,
    });
  if (attempts.length === 0) parts.push({ name: 'No account was asked', tone: 'idle', from: 0, ms: turn.duration_ms });
  else if (turn.duration_ms - end >= LEAST_MS)
    parts.push({ name: 'Until the answer was written', tone: 'idle', from: end, ms: turn.duration_ms - end });
  parts.push({ name: `End: ${turn.outcome.replace('_', ' ')}`, tone: turn.code === null ? 'good' : 'bad', from: turn.duration_ms, ms: 0 });
  return parts;
}

const BEFORE = 'Read, checked, and waited for a slot and an account';
