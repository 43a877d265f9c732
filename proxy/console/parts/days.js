// A bar for each day of a month. It is drawn with elements of the page, and states the sum in words for people who do not see it.
import { html } from '../base/html.js';

const DAY_MS = 86_400_000;

/** @param {number} at Unix milliseconds */
const nameOf = (at) => new Date(at).toISOString().slice(0, 10);

/**
 * The days up to today in UTC, including those without an amount.
 * @param {ReadonlyMap<string, number>} amounts by day, such as `2026-11-24`
 * @param {number} count
 * @param {number} now Unix milliseconds
 */
export const lastDays = (amounts, count, now) =>
  Array.from({ length: count }, (_, i) => nameOf(now - (count - 1 - i) * DAY_MS)).map((day) => ({ day, amount: amounts.get(day) ?? 0 }));

/** @param {{ label: string, days: readonly { day: string, amount: number }[], shown: (amount: number) => string }} props */
export function Days({ label, days, shown }) {
  const most = Math.max(...days.map(({ amount }) => amount), 0);
  const first = days[0]?.day ?? '';
  const last = days.at(-1)?.day ?? '';
  const highest = days.find(({ amount }) => amount === most);
  const words = most === 0 ? `${label}: none` : `${label}, ${first} to ${last}: at most ${shown(most)}, on ${highest?.day}`;
  return html`<figure class="days">
    <div class="day-bars" role="img" aria-label=${words}>
      ${days.map(
        ({ day, amount }) =>
          html`<span key=${day} title=${`${day}: ${shown(amount)}`}><span style=${{ blockSize: most === 0 ? '0' : `${(amount / most) * 100}%` }}></span></span>`,
      )}
    </div>
    <figcaption><span>${first}</span><span>at most ${shown(most)}</span><span>${last}</span></figcaption>
  </figure>`;
}
