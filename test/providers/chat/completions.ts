// Replies of Chat accounts for tests: streams of chunks as servers frame them, and complete JSON answers.
import type { ServerResponse } from 'node:http';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { PlatformAnswer } from '../responses/platform.ts';

/** A chunk whose choice 0 has this delta. */
export const chunk = (delta: JsonObject, finish: string | null = null, members: JsonObject = {}): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'own-c',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...members,
});

export const text = (content: string): JsonObject => chunk({ content });

/** A chunk with a piece of a call. */
export const call = (index: number, piece: JsonObject): JsonObject => chunk({ tool_calls: [{ index, ...piece }] });

export const USAGE: JsonObject = {
  prompt_tokens: 20,
  completion_tokens: 7,
  total_tokens: 27,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

export const finish = (reason: string): JsonObject => chunk({}, reason);

export const usageChunk = (usage: Json = USAGE, choices: Json = []): JsonObject => ({ ...chunk({}), choices, usage });

/** The end of an ordinary stream. */
export const ENDING: readonly (JsonObject | string)[] = [finish('stop'), usageChunk(), '[DONE]'];

/** Frames each chunk as one event; a string becomes the data unchanged. */
export const framed = (chunks: readonly (JsonObject | string)[]): string =>
  chunks.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('');

export const streamed =
  (chunks: readonly (JsonObject | string)[]): PlatformAnswer =>
  (response) =>
    raw(framed(chunks))(response);

/** Sends these bytes in pieces of this size. */
export const raw =
  (bytes: string | Buffer, { type = 'text/event-stream', pieces = 65_536 }: { readonly type?: string; readonly pieces?: number } = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': type });
    const all = Buffer.from(bytes as string);
    for (let at = 0; at < all.length; at += pieces) response.write(all.subarray(at, at + pieces));
    response.end();
  };

export const HELLO: readonly (JsonObject | string)[] = [
  chunk({ role: 'assistant', content: '' }),
  ...['hello ', 'brave ', 'new ', 'world'].map(text),
  ...ENDING,
];
