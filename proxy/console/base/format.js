// Formats numbers, times and durations for display.

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const grouped = new Intl.NumberFormat('en');
const cents = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** @param {readonly string[]} names @param {number} most */
export const firstOf = (names, most) =>
  `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${names.length - most} others` : ''}`;

/** @param {number | null | undefined} value */
export const count = (value) =>
  value === null || value === undefined ? '–' : value < 10_000 ? grouped.format(value) : compact.format(value);

/** @param {number | null | undefined} value */
export const dollars = (value) =>
  value === null || value === undefined ? '–' : `$${value < 0.01 && value > 0 ? value.toFixed(4) : cents.format(value)}`;

/** @param {number} share 0 to 1 */
export const percent = (share) => `${(share * 100).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`;

/** @param {number | null | undefined} ms */
export function took(ms) {
  if (ms === null || ms === undefined) return '–';
  return ms < 1_000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms);
}

/** @type {readonly (readonly [number, string])[]} */
const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** A duration in its two largest units: `2 h 05 min`. @param {number} ms */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const index = Math.max(
    0,
    UNITS.findIndex(([unit]) => Math.max(1, seconds) >= unit),
  );
  const [size, name] = UNITS[index] ?? [1, 's'];
  const next = UNITS[index + 1];
  const whole = `${Math.floor(seconds / size)} ${name}`;
  return next === undefined ? whole : `${whole} ${String(Math.floor((seconds % size) / next[0])).padStart(2, '0')} ${next[1]}`;
}

const zonePart = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' });

/** The time zone of the times that pages show: `Europe/Berlin, GMT+1`. */
export function zone() {
  const offset = zonePart.formatToParts().find(({ type }) => type === 'timeZoneName')?.value;
  return `${zonePart.resolvedOptions().timeZone}, ${offset}`;
}

const clockTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const shortTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const dayTime = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/**
 * The time of day, with the date if it is not today. Only the date if it is in another year.
 * @param {number | string | null | undefined} at
 * @param {{ seconds?: boolean }} [options]
 */
export function time(at, { seconds = false } = {}) {
  if (at === null || at === undefined) return '–';
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '–';
  const today = new Date();
  if (date.getFullYear() !== today.getFullYear()) return dayOfYear.format(date);
  const isToday = date.toDateString() === today.toDateString();
  return isToday ? (seconds ? clockTime : shortTime).format(date) : dayTime.format(date);
}
