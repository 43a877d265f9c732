// Numbers that a double cannot hold, such as ids of 64 bits: they are sent on with the digits that they had.
import type { Json, JsonObject } from './json.ts';

/** Node has these forms already. TypeScript does not declare them yet. */
interface SourceJson {
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown): Json;
  /** Makes an object that `JSON.stringify` writes as this text. */
  rawJSON(text: string): unknown;
}

const { parse, rawJSON } = JSON as unknown as SourceJson;

/** Whether a parsed number may differ from its text: a whole number that is too large, or one that overflowed. */
export const isInexact = (number: number): boolean => !(Math.abs(number) <= Number.MAX_SAFE_INTEGER);

/** Parses JSON with an object in place of each such number. A value costs up to a microsecond, many times as much as with `JSON.parse`. */
export const parseExactly = (text: string): Json =>
  parse(text, (_name, value, { source }) => (typeof value === 'number' && isInexact(value) ? rawJSON(String(source)) : value));

/**
 * The request whose nested numbers alone are replaced. Its own members are settings, and rules read their numbers.
 * @param parsed the request as `JSON.parse` made it
 */
export function exactRequest(exact: JsonObject, parsed: JsonObject): JsonObject {
  const numbers = Object.entries(parsed).filter(([, member]) => typeof member === 'number');
  return { ...exact, ...Object.fromEntries(numbers) };
}

/** Matches texts that may have such a number, also inside of a string. */
const LARGE = /\d{16}|\d[eE]\+?\d/;

/** Parses JSON of which it is not known whether it has such a number. */
export const parseKeepingDigits = (text: string): Json => (LARGE.test(text) ? parseExactly(text) : (JSON.parse(text) as Json));
