// Repaired streams of compatible servers: if a server leaves out parts of a stream, clients get the complete one (AA32).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplyRepair } from '../../../proxy/providers/responses/reply/reply-repair.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { UnreadableReply } from '../../../proxy/turn/provider/provider-replies.ts';
import { ReplyEvent } from '../../../proxy/turn/reply/reply-event.ts';
import { liveTurnOf } from '../../support/turns/live-turn.ts';
import { numbered, textEvents } from './platform.ts';

interface Repaired {
  readonly events: readonly JsonObject[];
  /** The number of events that passed as their original bytes. */
  readonly raw: number;
}

function repaired(sent: readonly (JsonObject | '[DONE]')[]): Repaired {
  const { turn } = liveTurnOf();
  const repair = new ReplyRepair({ memory: turn.held, usage: (response) => response });
  const events: JsonObject[] = [];
  let raw = 0;
  for (const one of sent) {
    const came = one === '[DONE]' ? mark() : sentAs(one);
    repair.event(came, (event) => {
      if (event === came) raw += 1;
      events.push(event.json() as JsonObject);
    });
  }
  return { events, raw };
}

function sentAs(data: JsonObject): ReplyEvent {
  if (data.type !== undefined) return ReplyEvent.of(data);
  const event = new ReplyEvent();
  event.bytes = Buffer.from(JSON.stringify(data));
  event.end = event.bytes.length;
  event.dataStart = 0;
  event.dataEnd = event.end;
  event.hasData = true;
  return event;
}

function mark(): ReplyEvent {
  const event = new ReplyEvent();
  event.bytes = Buffer.from('data: [DONE]\n\n');
  event.end = event.bytes.length;
  event.dataStart = 6;
  event.dataEnd = 12;
  event.hasData = true;
  return event;
}

const WHOLE = textEvents('hello brave world');
const typesOf = (events: readonly JsonObject[]): readonly string[] => events.map(({ type }) => String(type));
const without = (...types: readonly string[]): readonly JsonObject[] => WHOLE.filter(({ type }) => !types.includes(String(type)));
const responseIn = (events: readonly JsonObject[]): JsonObject => (events.at(-1)?.response ?? {}) as JsonObject;
const outputOf = (events: readonly JsonObject[]): readonly JsonObject[] => responseIn(events).output as readonly JsonObject[];
const numbersOf = (events: readonly JsonObject[]): readonly unknown[] => events.map(({ sequence_number }) => sequence_number);
const inOrder = (events: readonly JsonObject[]): void =>
  assert.deepEqual(
    numbersOf(events),
    events.map((_, i) => i),
  );
/** The joined texts of the deltas. */
const shownIn = (events: readonly JsonObject[]): string => events.map(({ delta }) => delta ?? '').join('');

test('[AA31] a whole stream passes as the bytes that came', () => {
  const { events, raw } = repaired(WHOLE);
  assert.deepEqual(events, WHOLE);
  assert.equal(raw, WHOLE.length);
});

test("[AA31] the account's own metadata and rate limits do not pass", () => {
  const own = ['response.metadata', 'agent.response.metadata', 'agent.rate_limits', 'openai.rate_limits'].map((type) => ({
    type,
    headers: {},
  }));
  assert.deepEqual(repaired([...own, ...WHOLE]).events, WHOLE);
});

const LEFT_OUT: readonly (readonly string[])[] = [
  ['response.created'],
  ['response.created', 'response.in_progress'],
  ['response.output_item.added'],
  ['response.content_part.added'],
  ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added'],
  ['response.output_item.added', 'response.content_part.added', 'response.output_text.delta'],
  ['response.output_text.delta'],
  ['response.output_text.delta', 'response.output_text.done'],
  ['response.output_text.done', 'response.content_part.done', 'response.output_item.done'],
  ['response.output_item.done'],
  WHOLE.slice(0, -1).map(({ type }) => String(type)),
  WHOLE.slice(0, -2).map(({ type }) => String(type)),
];

for (const types of LEFT_OUT) {
  test(`[AA32] a stream without ${[...new Set(types)].join(', ')} is completed`, () => {
    const { events } = repaired(without(...types));
    const [seen, wanted] = [events, WHOLE].map((list) => [...new Set(typesOf(list))]);
    assert.deepEqual(seen, wanted);
    assert.equal(shownIn(events), 'hello brave world');
    inOrder(events);
    assert.deepEqual(events.at(-1)?.response, WHOLE.at(-1)?.response);
    const ids = new Set(
      events.map(({ item_id, item }) => item_id ?? (item as JsonObject | undefined)?.id).filter((id) => id !== undefined),
    );
    assert.equal(ids.size, 1, [...ids].join());
  });
}

const CALL: JsonObject = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"at":"sky"}',
  status: 'completed',
};
const callEvents = (): readonly JsonObject[] => {
  const place = { item_id: 'fc_1', output_index: 0 };
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
  return numbered([
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...CALL, status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', ...place, delta: '{"at":' },
    { type: 'response.function_call_arguments.delta', ...place, delta: '"sky"}' },
    { type: 'response.function_call_arguments.done', ...place, arguments: '{"at":"sky"}' },
    { type: 'response.output_item.done', output_index: 0, item: CALL },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [CALL], usage: null } },
  ]);
};

for (const types of [
  ['response.output_item.added'],
  ['response.function_call_arguments.delta'],
  ['response.function_call_arguments.delta', 'response.function_call_arguments.done'],
  [
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
  ],
  ['response.output_item.done'],
]) {
  test(`[AA32] a call without ${types.join(', ')} is completed`, () => {
    const { events } = repaired(callEvents().filter(({ type }) => !types.includes(String(type))));
    assert.deepEqual([...new Set(typesOf(events))], [...new Set(typesOf(callEvents()))]);
    assert.equal(shownIn(events), '{"at":"sky"}');
    assert.deepEqual(events.find(({ type }) => type === 'response.output_item.done')?.item, CALL);
    inOrder(events);
  });
}

test('[AA32] a whole JSON answer becomes events, each item in one delta', () => {
  const [message] = outputOf(WHOLE);
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'thought' }], encrypted_content: 'cipher' };
  const output = [reasoning, message as JsonObject, CALL];
  const { events } = repaired([{ id: 'resp_9', object: 'response', status: 'completed', output, usage }]);
  inOrder(events);
  assert.deepEqual(typesOf(events).slice(0, 2), ['response.created', 'response.in_progress']);
  assert.equal(events.at(-1)?.type, 'response.completed');
  assert.deepEqual(responseIn(events).usage, usage);
  assert.deepEqual(
    events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item),
    output,
  );
  assert.deepEqual(
    events.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta),
    ['thought', 'hello brave world', '{"at":"sky"}'],
  );
});

test('[AA32] a whole answer that was cut off is incomplete, and one that failed is no answer', () => {
  const cut = repaired([{ object: 'response', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }]);
  assert.equal(cut.events.at(-1)?.type, 'response.incomplete');
  const failed = repaired([{ object: 'response', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] }]);
  assert.deepEqual(typesOf(failed.events), ['error']);
  assert.throws(() => repaired([{ object: 'list', data: [] }]), UnreadableReply);
});

test('[AA54] the end mark ends a stream that has shown an answer, and is a failure where it has shown none', () => {
  const cut = WHOLE.slice(0, -4);
  const { events } = repaired([...cut, '[DONE]']);
  assert.equal(events.at(-1)?.type, 'response.completed');
  const done = events.find(({ type }) => type === 'response.output_item.done')?.item as JsonObject;
  assert.deepEqual(done.content, [{ type: 'output_text', text: 'hello brave world', annotations: [] }]);
  inOrder(events);
  assert.deepEqual(typesOf(repaired(['[DONE]']).events), ['error']);
  assert.equal(repaired([...callEvents().slice(0, 4), '[DONE]']).events.at(-1)?.type, 'error');
  assert.equal(repaired([...callEvents().slice(0, 5), '[DONE]']).events.at(-1)?.type, 'response.completed');
});

test('[AA32] what follows the end is not passed on', () => {
  assert.deepEqual(repaired([...WHOLE, '[DONE]', { type: 'response.failed', response: {} }]).events, WHOLE);
});
