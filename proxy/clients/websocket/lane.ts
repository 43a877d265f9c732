// The lane of a frame. SDK clients name their turns on one connection, and distinguish the frames of the replies by that name. Accounts do
// not get it, because agent backends refuse the member (RB8, RB26).
import { Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The longest lane. It is limited because every frame of the reply repeats it. */
const LONGEST_LANE = 256;

/** Undefined for a frame without a lane, or with one that `withoutLane` refuses. */
export function laneOf({ stream_id: lane }: JsonObject): string | undefined {
  return typeof lane === 'string' && lane.length <= LONGEST_LANE ? lane : undefined;
}

/** The frame of a client on the compatible surface without its lane. @throws Refusal */
export function withoutLane(body: Body): Body {
  const { stream_id: lane, ...rest } = body;
  if (lane !== undefined && lane !== null && laneOf(body) === undefined) {
    const message = `\`stream_id\` must be a string of at most ${LONGEST_LANE} characters.`;
    throw new Refusal('invalid_request', { param: 'stream_id', message });
  }
  return rest;
}

/** The frame of a native client without its lane. The lane is not checked, because native replies do not repeat it. */
export function withoutNativeLane({ stream_id: _, ...rest }: Body): Body {
  return rest;
}

/** A frame of the reply with its lane. */
export const inLane = (data: JsonObject, lane: string | undefined): JsonObject =>
  lane === undefined ? data : { ...data, stream_id: lane };
