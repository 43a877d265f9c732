// The use of each limit of a key, as bars.
import { count, dollars, span } from '../base/format.js';
import { html } from '../base/html.js';
import { Bar } from './shown.js';

/** @typedef {{ type: string, window: string, max: number, current: number, resetsAt: number | null }} Limit resetsAt: Unix milliseconds */

/** @param {{ id: string, limits: readonly Limit[], now: number }} props */
export function LimitBars({ id, limits, now }) {
  if (limits.length === 0) return html`<span class="hint">unlimited</span>`;
  return html`<div class="bars">${limits.map(({ type, window, max, current, resetsAt }) => {
    const share = max === 0 ? 1 : current / max;
    const name = type === 'concurrent' ? 'turns at a time' : `${type === 'usd' ? '' : `${type} `}per ${window}`;
    const shown = type === 'usd' ? `${dollars(current)} of ${dollars(max)}` : `${count(current)} of ${count(max)}`;
    const frees = resetsAt !== null && resetsAt > now && share >= 1 ? `, more in ${span(resetsAt - now)}` : '';
    return html`<span class="bar-line" key=${name}>
      <${Bar} share=${share} label=${`Used by ${id}: ${name}`} tone=${share >= 1 ? 'bad' : share > 0.8 ? 'warn' : 'good'} />
      <span>${shown} ${name}${frees}</span>
    </span>`;
  })}</div>`;
}
