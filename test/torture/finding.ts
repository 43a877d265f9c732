// A finding of an attack. It is thrown where it is detected, and printed with the command that repeats it.

export class Finding extends Error {
  override readonly name = 'Finding';
}

/** @throws Finding */
export function expect(holds: boolean, found: () => string): asserts holds {
  if (!holds) throw new Finding(found());
}

const SHOWN = 400;

/** The beginning and the end of bytes or text, for a message. */
export function shown(of: Buffer | string): string {
  const text = typeof of === 'string' ? of : of.toString('latin1');
  return JSON.stringify(text.length <= 2 * SHOWN ? text : `${text.slice(0, SHOWN)} … ${text.slice(-SHOWN)}`);
}
