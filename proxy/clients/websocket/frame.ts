// A frame of a client that asks for a turn.
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Body, ModeDecision } from '../../turn/turn.ts';
import { has } from '../../upstream/events/type-peek.ts';
import { type JsonLimits, parseBody } from '../http/bodies/json-body.ts';
import { LARGE_BYTES, parseLargeBody } from '../http/bodies/large-json-body.ts';
import type { FrameMemory } from './waiting-frames.ts';

/** A frame that is a JSON object, and its size. */
export interface TurnFrame {
  readonly json: Body;
  readonly bytes: number;
  /** As captured at another node. */
  readonly mode?: ModeDecision;
}

/** A `response.create` frame; a refusal where its bytes are not a JSON object. */
export type Frame = TurnFrame | Refusal;

/** How most clients begin a frame. */
const TURN_HEAD = '{"type":"response.create"';

/** Whether the first bytes of a frame show that it asks for a turn; other frames may ask for a turn too. */
export const beginsAsTurn = (data: Buffer): boolean => has(data, 0, TURN_HEAD);

export function parseFrame(data: Buffer, limits: JsonLimits): Frame {
  try {
    return { json: parseBody(data, limits), bytes: data.length };
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}

/** Whether a frame is parsed in parts, with other work between them. */
export const isLargeFrame = (data: Buffer): boolean => data.length >= LARGE_BYTES;

/** Its bytes count as memory until it is parsed: large frames and bodies wait for each other. */
export async function parseLargeFrame(data: Buffer, memory: FrameMemory): Promise<Frame> {
  const { counters, limits, share } = memory;
  const held = share.body();
  if (!held.take(data.length, limits.bodies_in_memory_bytes)) {
    counters.add('bodies_guard_refused');
    return new Refusal('server_is_overloaded');
  }
  try {
    return { json: await parseLargeBody(data, memory), bytes: data.length };
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  } finally {
    held.give();
  }
}
