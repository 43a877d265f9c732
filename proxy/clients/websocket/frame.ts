// A frame of a client that asks for a turn.
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Body, ModeDecision } from '../../turn/turn.ts';
import { has } from '../../upstream/events/type-peek.ts';
import { type JsonMemory, type ParsedBody, parseBody, parseLargeBody } from '../http/bodies/json-body.ts';

/** A frame that is a JSON object, and its size. */
export interface TurnFrame {
  readonly json: Body;
  readonly bytes: number;
  /** Whether it was parsed in slices. */
  readonly isLarge?: boolean;
  /** As captured at another node. */
  readonly mode?: ModeDecision;
  /** Releases the memory that is counted for its JSON, when its turn has ended. */
  readonly release?: (() => void) | undefined;
}

/** A `response.create` frame; a refusal where its bytes are not a JSON object. */
export type Frame = TurnFrame | Refusal;

/** How most clients begin a frame. */
const TURN_HEAD = '{"type":"response.create"';

/** Whether the first bytes of a frame show that it asks for a turn; other frames may ask for a turn too. */
export const beginsAsTurn = (data: Buffer): boolean => has(data, 0, TURN_HEAD);

/** Parses a frame that is small; undefined for another one. */
export function parseFrame(data: Buffer, memory: JsonMemory): Frame | undefined {
  try {
    const parsed = parseBody(data, memory);
    return parsed && frameOf(parsed, data, false);
  } catch (thrown) {
    return refused(thrown);
  }
}

/** Parses it in parts, with other work between them. @param left ends it */
export async function parseLargeFrame(data: Buffer, memory: JsonMemory, left: AbortSignal): Promise<Frame> {
  try {
    return frameOf(await parseLargeBody(data, memory, left), data, true);
  } catch (thrown) {
    return refused(thrown);
  }
}

/** Releases what is counted for a frame that needs it no longer. */
export function releaseFrame(frame: Frame): void {
  if (!(frame instanceof Refusal)) frame.release?.();
}

const frameOf = ({ body, release }: ParsedBody, { length: bytes }: Buffer, isLarge: boolean): TurnFrame => ({
  json: body,
  bytes,
  isLarge,
  release,
});

function refused(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  throw thrown;
}
