// Dates and times in ISO 8601.

/** Unix milliseconds; NaN for other text, and for a day that does not exist. `Date.parse` alone reads the 30th of February as the 2nd of March. */
export function msOfIso(text: string): number {
  const [date] = /^\d{4}-\d{2}-\d{2}(?=T|$)/.exec(text) ?? [];
  const day = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return Number.NaN;
  return Date.parse(text);
}

/** The time without a fraction if it is a whole second. @param at Unix milliseconds */
export const isoOfMs = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');
