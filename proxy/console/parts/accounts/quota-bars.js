// The remaining quota of an account as bars, with the reset, and the time at which it would be used up at its present rate.
import { percent, span, time } from '../../base/format.js';
import { html } from '../../base/html.js';
import { clock } from '../../base/live.js';
import { Bar } from '../shown.js';

/** @param {{ account: any }} props */
export function QuotaBars({ account }) {
  const { windows } = account.quota;
  if (windows.length === 0) return html`<span class="hint">not stated</span>`;
  return html`<div class="bars">${windows.map((/** @type {any} */ window) => html`<${Window} key=${window.class} id=${account.id} window=${window} />`)}</div>`;
}

/** @param {{ id: string, window: any }} props */
function Window({ id, window }) {
  const left = 1 - window.used_percent / 100;
  const reset = window.resets_at === null ? undefined : Date.parse(window.resets_at) - clock.value;
  const name = span(window.length_seconds * 1_000).replace(/ 00 .*/, '');
  const ends = reset === undefined || reset <= 0 ? '' : `, resets in ${span(reset)}`;
  // Earlier versions have no forecast.
  const usedUp = window.used_up_at ? Date.parse(window.used_up_at) : undefined;
  return html`<span class="bar-line">
      <${Bar} share=${left} label=${`Quota left of ${id} in its window of ${name}`} tone=${left <= 0 ? 'bad' : left < 0.15 ? 'warn' : 'good'} />
      <span>${percent(Math.max(0, left))} of ${name}${ends}</span>
    </span>
    ${usedUp !== undefined && usedUp > clock.value && html`<small class="warn">at this rate the ${name} window is used up at ${time(usedUp)}</small>`}`;
}
