// Turn state: opaque values that are returned only to the account that issued them (Q10).
import type { JsonObject } from '../turn/json/json.ts';
import { isObject } from '../turn/json/json.ts';
import type { WireWords } from '../turn/settings.ts';
import type { Body, Headers, Outgoing } from '../turn/turn.ts';

/** The name of the turn state: of a request header, and of an entry of `client_metadata`. */
export const turnStateName = ({ agent }: WireWords): string => `x-${agent}-turn-state`;

/** The values of a request, without duplicates. */
export function turnStatesIn(headers: Headers, body: Body | undefined, wire: WireWords): readonly string[] {
  const name = turnStateName(wire);
  const inHeader = headers[name];
  const metadata = body?.client_metadata;
  const inBody = isObject(metadata) ? metadata[name] : undefined;
  if (inHeader === undefined) return typeof inBody === 'string' ? [inBody] : NONE;
  return typeof inBody === 'string' && inBody !== inHeader ? [inHeader, inBody] : [inHeader];
}

const NONE: readonly string[] = [];

/** The value that a `response.metadata` event issues. */
export function turnStateOf(data: JsonObject, wire: WireWords): string | undefined {
  const value = isObject(data.headers) ? data.headers[turnStateName(wire)] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Removes values from an attempt that its account did not issue, including those of unknown origin. */
export function keepOwnTurnState(out: Outgoing, isOwn: (value: string) => boolean, wire: WireWords): void {
  const name = turnStateName(wire);
  const inHeader = out.headers[name];
  if (inHeader !== undefined && !isOwn(inHeader)) delete out.headers[name];
  const metadata = out.body.client_metadata;
  if (!isObject(metadata) || metadata[name] === undefined) return;
  const inBody = metadata[name];
  if (typeof inBody === 'string' && isOwn(inBody)) return;
  const { [name]: _, ...rest } = metadata;
  out.body.client_metadata = rest;
}
