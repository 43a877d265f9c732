// Parses the JSON of clients, and refuses JSON that later steps cannot process safely.
import { JsonSyntaxRefusal, Refusal } from '../errors/refusal.ts';
import { isInexact } from './exact-numbers.ts';
import type { Json } from './json.ts';
import { MAX_DEPTH } from './json-bounds.ts';

const refuse = (message: string): Refusal => new Refusal('invalid_request', { message });

export const malformedJson = (): JsonSyntaxRefusal => new JsonSyntaxRefusal('The request body is not valid JSON.');

export const notAnObject = (): Refusal => refuse('The request body must be a JSON object.');

export const tooDeep = (): Refusal => refuse('The request body is nested too deeply.');

export const nameTooLong = (): Refusal => refuse('The request body has a member whose name is too long.');

/** @throws JsonSyntaxRefusal */
export function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw malformedJson();
  }
}

/**
 * @param depth the depth at which the value is.
 * @returns whether a number in it may differ from its text
 * @throws Refusal `invalid_request`
 */
export function checkMembers(value: object, depth: number): boolean {
  if (depth > MAX_DEPTH) throw tooDeep();
  let inexact = false;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object') {
        if (item !== null && checkMembers(item, depth + 1)) inexact = true;
      } else if (typeof item === 'number' && isInexact(item)) inexact = true;
    }
    return inexact;
  }
  // Checked here because the loop below skips a `__proto__` that is null or not an object.
  if (Object.hasOwn(value, '__proto__')) throw forbiddenName();
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object') {
      if (member === null) continue;
      checkName(name, member);
      if (checkMembers(member, depth + 1)) inexact = true;
    } else if (typeof member === 'number' && isInexact(member)) inexact = true;
  }
  return inexact;
}

/** @throws Refusal `invalid_request` for a name that no member may have */
export function checkName(name: string, member: unknown): void {
  // JSON.parse makes `__proto__` an own member. A later copy by assignment would set the prototype.
  if (name === '__proto__') throw forbiddenName();
  if (name === 'constructor' && typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype')) throw forbiddenName();
}

const forbiddenName = (): Refusal => refuse('The request body has a forbidden member name.');
