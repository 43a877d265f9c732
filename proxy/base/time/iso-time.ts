// Reads an ISO 8601 date or time, and checks that its day exists.

/** Unix milliseconds; NaN for other text. `Date.parse` alone reads the 30th of February as the 2nd of March. */
export function msOfIso(text: string): number {
  const [date] = /^\d{4}-\d{2}-\d{2}(?=T|$)/.exec(text) ?? [];
  const day = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return Number.NaN;
  return Date.parse(text);
}
