// The frames of a native client on its websocket.
import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import type { Arrival } from './rehearsal.ts';

export const NATIVE_SOCKET = '/backend-api/agent/responses';
export const PUBLIC_SOCKET = '/v1/responses';

export const userMessage = (text: string): JsonObject => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

/** The members of a `response.create` frame of a first turn. */
export function frameOf(text: string, members: Readonly<Record<string, Json>> = {}): JsonObject {
  return { model: 'model-a', stream: true, store: false, input: [userMessage(text)], ...members };
}

/** A frame for whose turn its client can reconnect. */
export const turnFrame = (turnId: string, input: readonly Json[], members: Readonly<Record<string, Json>> = {}): JsonObject => ({
  type: 'response.create',
  ...frameOf('', members),
  input,
  client_metadata: { turn_id: turnId, session_id: 'session' },
});

export const typesOf = (frames: readonly JsonObject[]): readonly string[] => frames.map(({ type }) => String(type));

/** The id of the response in the last frame. */
export function responseId(frames: readonly JsonObject[]): string {
  const response = frames.at(-1)?.response as JsonObject | undefined;
  if (typeof response?.id !== 'string') throw new Error(`no response at the end of ${typesOf(frames).join(', ')}`);
  return response.id;
}

/** The member of `client_metadata` that marks a frame as Lite. */
export const LITE_MARKER = 'ws_request_header_x_internal_agent_responses_lite';

/** The mode in which a frame reached its account. Fails if its body and its marker do not agree. */
export function frameDialect(turn: Arrival): 'lite' | 'full' {
  const { input, client_metadata } = turn.json as { readonly input: readonly JsonObject[]; readonly client_metadata?: JsonObject };
  const shape = input[0]?.type === 'additional_tools' ? 'lite' : 'full';
  assert.equal(client_metadata?.[LITE_MARKER], shape === 'lite' ? 'true' : undefined);
  return shape;
}
