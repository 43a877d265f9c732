// Decodes database values into row fields. Drivers represent them differently: PostgreSQL's returns BIGINT as text and booleans as such.
import { StoreError } from '../errors.ts';

export type ColumnType = 'text' | 'integer' | 'boolean' | 'json';

/** Decodes a stored value; undefined if the column type does not have such a value. */
type Decoder = (stored: unknown) => unknown;

const DIGITS = /^-?\d{1,40}$/;

/**
 * The largest integer that a number can have without an error. A larger value is a sum of amounts, which no limit and no person needs to
 * know exactly: it must not make the rows beside it unreadable.
 */
const MOST = Number.MAX_SAFE_INTEGER;

function integerOf(stored: unknown): number | undefined {
  const number = typeof stored === 'bigint' || (typeof stored === 'string' && DIGITS.test(stored)) ? Number(stored) : stored;
  if (typeof number !== 'number') return undefined;
  // SQLite keeps a fraction in a BIGINT column.
  return Number.isFinite(number) ? Math.max(-MOST, Math.min(Math.trunc(number), MOST)) : undefined;
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
