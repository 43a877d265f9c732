// Refuses a parameter that the gateway cannot honour, unless its value has no effect (Q15, Q24).
import { isAbsent, type Json } from '../json/json.ts';
import type { Body } from '../turn.ts';
import { Refusal } from './refusal.ts';

/** Whether a value has an effect. Null never has one. */
export type HasEffect = (value: Json) => boolean;

/** @throws Refusal `unsupported_parameter` for the first parameter, in the order of the map, whose value has an effect */
export function refuseAsking(body: Body, asks: ReadonlyMap<string, HasEffect>): void {
  for (const [param, isAsked] of asks) {
    const value = body[param];
    if (isAbsent(value) || !isAsked(value)) continue;
    throw new Refusal('unsupported_parameter', { param, message: `\`${param}\` is not supported.` });
  }
}
