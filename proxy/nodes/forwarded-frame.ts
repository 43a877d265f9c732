// The messages from a client's node to the owner of its session: frames with their captured serving mode, refusals, and the end.
import { ERRORS, type ErrorCode, Refusal } from '../turn/errors/refusal.ts';
import { checkMembers } from '../turn/json/checked-json.ts';
import { exactRequest, parseExactly } from '../turn/json/exact-numbers.ts';
import { isObject, type JsonObject } from '../turn/json/json.ts';
import type { Body, ModeDecision } from '../turn/turn.ts';

export type ForwardedMessage =
  /** A `response.create` frame, and its size as the client sent it. Without a mode if its model had none at the client's node. */
  | { readonly kind: 'frame'; readonly json: Body; readonly bytes: number; readonly mode?: ModeDecision }
  /** A refusal of a frame by the client's node. The owner answers it in the order of the client's frames. */
  | { readonly kind: 'refusal'; readonly refusal: Refusal }
  /** The connection ends when the running turn has ended. */
  | { readonly kind: 'end'; readonly code: number; readonly reason: string };

export function encodeMessage(message: ForwardedMessage): string {
  if (message.kind !== 'refusal') return JSON.stringify(message);
  const { status, error } = message.refusal;
  return JSON.stringify({ kind: message.kind, status, error });
}

/** The message; undefined if the text was not written by a node of this version. */
export function decodeMessage(data: Buffer): ForwardedMessage | undefined {
  let message: JsonObject | undefined;
  try {
    message = parsedMessage(data.toString());
  } catch {
    return undefined;
  }
  if (!message) return undefined;
  switch (message.kind) {
    case 'frame':
      return isObject(message.json) && typeof message.bytes === 'number' ? (message as unknown as ForwardedMessage) : undefined;
    case 'refusal': {
      const refusal = refusalIn(message);
      return refusal && { kind: 'refusal', refusal };
    }
    case 'end':
      return typeof message.code === 'number' && typeof message.reason === 'string' ? (message as unknown as ForwardedMessage) : undefined;
    default:
      return undefined;
  }
}

/** The message with the digits of its frame, as if the client had sent the frame to this node. */
function parsedMessage(text: string): JsonObject | undefined {
  const message: unknown = JSON.parse(text);
  if (!isObject(message)) return undefined;
  const { json } = message;
  if (!isObject(json) || !checkMembers(json, 1)) return message;
  const exact = parseExactly(text) as { readonly json: JsonObject };
  return { ...message, json: exactRequest(exact.json, json) };
}

function refusalIn({ status, error }: JsonObject): Refusal | undefined {
  if (typeof status !== 'number' || !isObject(error)) return undefined;
  const { code, message, param } = error;
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code) || typeof message !== 'string') return undefined;
  return new Refusal(code as ErrorCode, { status, message, ...(typeof param === 'string' ? { param } : {}) });
}
