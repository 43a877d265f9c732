// The work of translating a stream grows only linearly with its length, counted in bytes that are parsed, written and copied (AA93).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseObject } from '../../proxy/providers/api-accounts/reply/response-object.ts';
import { ChatReply } from '../../proxy/providers/chat/reply/chat-reply.ts';
import { ReplyRepair } from '../../proxy/providers/responses/reply/reply-repair.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { EventHandler } from '../../proxy/turn/provider/provider-replies.ts';
import { NO_QUIRKS } from '../../proxy/turn/provider/quirks.ts';
import { ReplyEvent } from '../../proxy/turn/reply/reply-event.ts';
import { liveTurnOf } from '../support/turns/live-turn.ts';
import { call, chunk, ENDING, finish, text } from './chat/completions.ts';

/** An event of a Chat stream, which states no type. */
function untyped(data: JsonObject | string): ReplyEvent {
  const event = new ReplyEvent();
  event.bytes = Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  event.end = event.bytes.length;
  event.hasData = true;
  event.dataStart = 6;
  event.dataEnd = event.end - 2;
  return event;
}

function chatReply(): EventHandler {
  const { turn } = liveTurnOf({ kind: 'responses' });
  return new ChatReply({
    turn,
    response: new ResponseObject({ model: 'model-a' }, turn),
    quirks: { ...NO_QUIRKS, think_tags: true, reasoning_details: true },
    toolOf: (name) => ({ type: name === 'patch' ? 'custom' : 'function', name, namespace: undefined }),
    showsSummary: true,
    seal: (thought) => thought.slice(0, 10),
    estimateUsage: () => undefined,
  });
}

const repair = (): EventHandler => new ReplyRepair({ memory: liveTurnOf().turn.held, usage: (response) => response });

/** Counts the bytes that pass these functions while `work` runs. */
function bytesOf(work: () => void): number {
  const [parse, stringify, from, concat] = [JSON.parse, JSON.stringify, Buffer.from, Buffer.concat];
  let bytes = 0;
  JSON.parse = (json: string, ...rest) => {
    bytes += json.length;
    return parse(json, ...rest);
  };
  JSON.stringify = ((...args: Parameters<typeof JSON.stringify>) => {
    const json = stringify(...args);
    bytes += json?.length ?? 0;
    return json;
  }) as typeof JSON.stringify;
  Buffer.from = ((...args: Parameters<typeof Buffer.from>) => {
    const made = from(...args);
    bytes += made.length;
    return made;
  }) as typeof Buffer.from;
  Buffer.concat = (...args) => {
    const made = concat(...args);
    bytes += made.length;
    return made;
  };
  try {
    work();
  } finally {
    [JSON.parse, JSON.stringify, Buffer.from, Buffer.concat] = [parse, stringify, from, concat];
  }
  return bytes;
}

function costOf(made: () => EventHandler, events: readonly ReplyEvent[]): number {
  const handler = made();
  let last = '';
  const bytes = bytesOf(() => {
    for (const event of events) {
      handler.event(event, ({ type }) => {
        last = type;
      });
    }
  });
  assert.equal(last, 'response.completed');
  return bytes;
}

const times = <T>(count: number, one: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => one(i));

const item = (i: number): JsonObject => ({
  id: `fc_${i}`,
  type: 'function_call',
  call_id: `c_${i}`,
  name: 'look',
  arguments: '{"at":"sky"}',
});
const ended = (output: readonly JsonObject[]): JsonObject => ({
  type: 'response.completed',
  response: { id: 'r', object: 'response', status: 'completed', output },
});

interface Stream {
  readonly what: string;
  readonly made: () => EventHandler;
  readonly events: (count: number) => readonly ReplyEvent[];
}

const chat = (what: string, chunks: (count: number) => readonly (JsonObject | string)[]): Stream => ({
  what: `Chat: ${what}`,
  made: chatReply,
  events: (count) => [...chunks(count), ...ENDING].map(untyped),
});

const responses = (what: string, events: (count: number) => readonly JsonObject[]): Stream => ({
  what: `Responses: ${what}`,
  made: repair,
  events: (count) => events(count).map((event) => ReplyEvent.of(event)),
});

const STREAMS: readonly Stream[] = [
  chat('text in many deltas', (count) => times(count, () => text('word '))),
  chat('text that may begin a tag', (count) => times(count, () => text(' '))),
  chat('reasoning in many deltas, with its details', (count) =>
    times(count, () => chunk({ reasoning: 'hm ', reasoning_details: [{ type: 'reasoning.text', text: 'hm ', index: 0 }] })),
  ),
  chat('arguments in many deltas', (count) => [
    call(0, { id: 'c1', function: { name: 'look', arguments: '' } }),
    ...times(count, () => call(0, { function: { arguments: ' ' } })),
  ]),
  chat('the input of a lowered call in many deltas', (count) => [
    call(0, { id: 'c1', function: { name: 'patch', arguments: '{"input":"' } }),
    ...times(count, () => call(0, { function: { arguments: 'line\\n' } })),
    call(0, { function: { arguments: '"}' } }),
  ]),
  chat('many calls side by side', (count) => times(count, (i) => call(i, { id: `c${i}`, function: { name: 'look', arguments: '{}' } }))),
  chat('arguments that wait for their name', (count) => [
    ...times(count, () => call(0, { id: 'c1', function: { arguments: ' ' } })),
    call(0, { function: { name: 'look' } }),
  ]),
  chat('a reply that ends by its calls', (count) => [
    ...times(count, (i) => call(i, { id: `c${i}`, function: { name: 'look', arguments: '{}' } })),
    finish('tool_calls'),
  ]),
  responses('deltas that nothing opens or ends', (count) => [
    ...times(count, () => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'word ' })),
    ended([]),
  ]),
  responses('many parts of one item', (count) => [
    ...times(count, (i) => ({ type: 'response.output_text.delta', output_index: 0, content_index: i, delta: 'word ' })),
    ended([]),
  ]),
  responses('many items that come whole', (count) => [
    ...times(count, (i) => ({ type: 'response.output_item.done', output_index: i, item: item(i) })),
    ended([]),
  ]),
  responses('many items that only the terminal event has', (count) => [ended(times(count, item))]),
  responses('many items that nothing ends', (count) => [
    ...times(count, (i) => ({ type: 'response.output_item.added', output_index: i, item: { ...item(i), arguments: '' } })),
    ended(times(count, item)),
  ]),
];

for (const { what, made, events } of STREAMS) {
  test(`[AA93] ${what}`, () => {
    const [once = 0, twice = 0, thrice = 0] = [500, 1_000, 1_500].map((count) => costOf(made, events(count)));
    assert.ok(thrice - twice < 1.1 * (twice - once), `${once}, ${twice}, ${thrice} bytes for a stream and its multiples`);
  });
}
