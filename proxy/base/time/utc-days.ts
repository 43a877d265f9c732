// The days and months of UTC. All times are Unix milliseconds.

export const DAY_MS = 86_400_000;

/** The midnight before a time, or at it. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

/** When the day of a time ends. */
export const nextDay = (at: number): number => dayOf(at) + DAY_MS;

/** When the month of a time ends. */
export function nextMonth(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
