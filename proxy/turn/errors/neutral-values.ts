// Refuses a parameter whose meaning would be lost here, unless its value asks for nothing (Q15, Q24).
import type { Json } from '../json/json.ts';
import { isAbsent } from '../json/json.ts';
import type { Body } from '../turn.ts';
import { Refusal } from './refusal.ts';

/** Whether a value asks for something. A null never does. */
export type Asked = (value: Json) => boolean;

/** @throws Refusal `unsupported_parameter` at the first parameter that asks for something, in the order of the map */
export function refuseAsking(body: Body, asks: ReadonlyMap<string, Asked>): void {
  for (const [param, isAsked] of asks) {
    const value = body[param];
    if (isAbsent(value) || !isAsked(value)) continue;
    throw new Refusal('unsupported_parameter', { param, message: `\`${param}\` is not supported.` });
  }
}
