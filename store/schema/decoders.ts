// Decodes database values into row fields. Drivers represent them differently: PostgreSQL's returns BIGINT as text and booleans as such.
import { StoreError } from '../errors.ts';

export type ColumnType = 'text' | 'integer' | 'boolean' | 'json';

/** Decodes a stored value; undefined if the column type does not have such a value. */
type Decoder = (stored: unknown) => unknown;

const DIGITS = /^-?\d{1,16}$/;

function integerOf(stored: unknown): number | undefined {
  const number = typeof stored === 'bigint' || (typeof stored === 'string' && DIGITS.test(stored)) ? Number(stored) : stored;
  if (typeof number !== 'number') return undefined;
  // SQLite keeps a fraction in a BIGINT column.
  const whole = Math.trunc(number);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  [1, true],
  [1n, true],
  ['1', true],
  ['t', true],
  ['true', true],
  [false, false],
  [0, false],
  [0n, false],
  ['0', false],
  ['f', false],
  ['false', false],
]);

function jsonOf(stored: unknown): unknown {
  // PostgreSQL returns a JSON column parsed.
  if (typeof stored === 'object') return stored;
  if (typeof stored !== 'string') return undefined;
  try {
    return JSON.parse(stored);
  } catch {
    return undefined;
  }
}

const decoders: Readonly<Record<ColumnType, Decoder>> = {
  text: (stored) => (typeof stored === 'string' ? stored : undefined),
  integer: integerOf,
  boolean: (stored) => BOOLEANS.get(stored),
  json: jsonOf,
};

/**
 * @param place table and column, for the error
 * @throws StoreError `corrupt` if the value is not of the column's type; the message does not contain the value
 */
export function decode(type: ColumnType, stored: unknown, place: string): unknown {
  if (stored === null) return null;
  const value = decoders[type](stored);
  if (value === undefined) throw new StoreError('corrupt', `the store has a value in ${place} that is not ${type}`);
  return value;
}
