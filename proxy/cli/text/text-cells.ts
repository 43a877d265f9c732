// Texts for the cells of a terminal: shortened to a width, without control characters, and durations in a readable form.

/** The text with at most `width` characters. A cut is marked. Control characters are removed, so that a label cannot move the cursor. */
export function cell(text: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, '?');
  return plain.length > width ? `${plain.slice(0, width - 1)}…` : plain;
}

const UNITS: readonly (readonly [seconds: number, letter: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** The duration in its two largest units, such as `4d02h`, `1h05m`, `12m30s` and `45s`. Negative durations are `0s`. */
export function timeSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [[size, letter] = [1, 's'], next] = UNITS.slice(UNITS.findIndex(([unit]) => Math.max(1, seconds) >= unit));
  const whole = `${Math.floor(seconds / size)}${letter}`;
  return next === undefined ? whole : `${whole}${String(Math.floor((seconds % size) / next[0])).padStart(2, '0')}${next[1]}`;
}
