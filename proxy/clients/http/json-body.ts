// Parses a client's bytes into a JSON object that is safe to process: UTF-8, no prototype keys, bounded depth.
import { isUtf8 } from 'node:buffer';
import type { Json } from '../../turn/json.ts';
import { JsonSyntaxRefusal, Refusal } from '../../turn/refusal.ts';
import type { Body } from '../../turn/turn.ts';

/** Far deeper than real requests, and far below what would exhaust the stack of a recursive rule. */
const MAX_DEPTH = 128;

const refuse = (message: string): Refusal => new Refusal('invalid_request', { message });

/** @throws Refusal `invalid_request` */
export function parseBody(bytes: Buffer): Body {
  if (!isUtf8(bytes)) throw new JsonSyntaxRefusal('The request body is not valid UTF-8.');
  let parsed: Json;
  try {
    parsed = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    throw new JsonSyntaxRefusal('The request body is not valid JSON.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw refuse('The request body must be a JSON object.');
  checkMembers(parsed, 1);
  return parsed as Body;
}

function checkMembers(value: object, depth: number): void {
  if (depth > MAX_DEPTH) throw refuse('The request body is nested too deeply.');
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
