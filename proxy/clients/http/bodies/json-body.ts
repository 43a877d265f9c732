// Parses a client's bytes into a JSON object that is safe to process: UTF-8, no prototype keys, bounded depth and number of values.
import { isUtf8 } from 'node:buffer';
import type { Counters } from '../../../base/process/metrics.ts';
import { JsonSyntaxRefusal, Refusal } from '../../../turn/errors/refusal.ts';
import type { Json } from '../../../turn/json/json.ts';
import { type Excess, excessOf, MAX_DEPTH } from '../../../turn/json/json-bounds.ts';
import type { Limits } from '../../../turn/settings.ts';
import type { Body } from '../../../turn/turn.ts';

export interface JsonLimits {
  readonly limits: Pick<Limits, 'json_values'>;
  readonly counters: Counters;
}

const refuse = (message: string): Refusal => new Refusal('invalid_request', { message });

/** @throws Refusal `invalid_request`, or `request_too_large` for more values than limits.json_values */
export function parseBody(bytes: Buffer, { limits, counters }: JsonLimits): Body {
  checkUtf8(bytes);
  const excess = excessOf(bytes, limits.json_values);
  if (excess) throw refusalOf(excess, counters);
  const parsed = parseJson(bytes.toString('utf8'));
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw notAnObject();
  checkMembers(parsed, 1);
  return parsed as Body;
}

/** @throws JsonSyntaxRefusal */
export function checkUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new JsonSyntaxRefusal('The request body is not valid UTF-8.');
}

/** @throws JsonSyntaxRefusal */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new JsonSyntaxRefusal('The request body is not valid JSON.');
  }
}

export const notAnObject = (): Refusal => refuse('The request body must be a JSON object.');

const tooDeep = (): Refusal => refuse('The request body is nested too deeply.');

/** The refusal for a bound that is exceeded: the values count as size, the depth as shape. */
export function refusalOf(excess: Excess, counters: Counters): Refusal {
  if (excess === 'depth') return tooDeep();
  counters.add('json_values_refused');
  return new Refusal('request_too_large', { message: 'The request body has more JSON values than this gateway accepts.' });
}

/** @param depth of the value. @throws Refusal `invalid_request` */
export function checkMembers(value: object, depth: number): void {
  if (depth > MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) checkMembers(item, depth + 1);
    return;
  }
  // JSON.parse makes `__proto__` an own member; a later copy by assignment would set the prototype with it.
  if (Object.hasOwn(value, '__proto__')) throw refuse('The request body has a forbidden member name.');
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member !== 'object' || member === null) continue;
    if (name === 'constructor' && Object.hasOwn(member, 'prototype')) throw refuse('The request body has a forbidden member name.');
    checkMembers(member, depth + 1);
  }
}
