// The lane of a frame. SDK clients name their turns on one connection, and distinguish the frames of the replies by that name. Accounts do
// not get it, because agent backends refuse the member (RB8, RB26).
import { Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The longest lane. It is limited because every frame of the reply repeats it. */
const LONGEST_LANE = 256;

/** Undefined for a frame without a lane, or with one that `checkLane` refuses. */
export function laneOf({ stream_id: lane }: JsonObject): string | undefined {
  return typeof lane === 'string' && lane.length <= LONGEST_LANE ? lane : undefined;
}

/** Checks the lane of a client on the compatible surface. Native replies do not repeat it. @throws Refusal */
export function checkLane(frame: Body): void {
  const { stream_id: lane } = frame;
  if (lane === undefined || lane === null || laneOf(frame) !== undefined) return;
  const message = `\`stream_id\` must be a string of at most ${LONGEST_LANE} characters.`;
  throw new Refusal('invalid_request', { param: 'stream_id', message });
}

/** A frame of the reply with its lane. */
export const inLane = (data: JsonObject, lane: string | undefined): JsonObject =>
  lane === undefined ? data : { ...data, stream_id: lane };
