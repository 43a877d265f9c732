// A frame with which a client asks for a turn.
import { Refusal } from '../../turn/errors/refusal.ts';
import { has } from '../../turn/reply/event-bytes.ts';
import type { Body, ModeDecision } from '../../turn/turn.ts';
import { type JsonMemory, type ParsedBody, parseBody, parseLargeBody } from '../http/bodies/json-body.ts';

/** A frame that is a JSON object, with its size. */
export interface TurnFrame {
  readonly json: Body;
  readonly bytes: number;
  /** Whether it was parsed in slices. */
  readonly isLarge?: boolean;
  /** The mode that was captured at another node. */
  readonly mode?: ModeDecision;
  /** Releases the memory that is counted for its JSON. Called when its turn has ended. */
  readonly release?: (() => void) | undefined;
}

/** A `response.create` frame, or a refusal if its bytes are not a JSON object. */
export type Frame = TurnFrame | Refusal;

/** The beginning of a frame by most clients. */
const TURN_HEAD = '{"type":"response.create"';

/** Whether the first bytes of a frame show that it asks for a turn. Frames that begin differently may also do so. */
export const beginsAsTurn = (data: Buffer): boolean => has(data, 0, TURN_HEAD);

/** Parses a small frame; undefined for a larger one. */
export function parseFrame(data: Buffer, memory: JsonMemory): Frame | undefined {
  try {
    const parsed = parseBody(data, memory);
    return parsed && frameOf(parsed, data, false);
  } catch (thrown) {
    return refused(thrown);
  }
}

/** Parses a frame in parts, with other work between them. @param left aborts the parsing */
export async function parseLargeFrame(data: Buffer, memory: JsonMemory, left: AbortSignal): Promise<Frame> {
  try {
    return frameOf(await parseLargeBody(data, memory, left), data, true);
  } catch (thrown) {
    return refused(thrown);
  }
}

/** Releases the memory of a frame that is no longer needed. */
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
