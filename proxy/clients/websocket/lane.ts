// The lane of a public frame: SDK clients name their turns on one connection, and distinguish the frames of their replies by that name.

import { Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** Every frame of the reply repeats it. */
const LONGEST_LANE = 256;

/** Undefined for a frame without one, or with one that `withoutLane` refuses. */
export function laneOf({ stream_id: lane }: JsonObject): string | undefined {
  return typeof lane === 'string' && lane.length <= LONGEST_LANE ? lane : undefined;
}

/**
 * The frame without its lane, for an account: each connection to it has one turn at a time, and over HTTP the member has no meaning.
 * @throws Refusal
 */
export function withoutLane(body: Body): Body {
  const { stream_id: lane, ...rest } = body;
  if (lane !== undefined && lane !== null && laneOf(body) === undefined) {
    const message = `\`stream_id\` must be a string of at most ${LONGEST_LANE} characters.`;
    throw new Refusal('invalid_request', { param: 'stream_id', message });
  }
  return rest;
}

/** A frame of the reply. */
export const inLane = (data: JsonObject, lane: string | undefined): JsonObject =>
  lane === undefined ? data : { ...data, stream_id: lane };
