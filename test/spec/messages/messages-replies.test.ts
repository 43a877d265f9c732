// Replies as Messages clients get them, streamed and whole: AM23, AM36, AM47 to AM60.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { signatureOf } from '../../../proxy/surfaces/messages/signature.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import { MESSAGES, messagesBody } from './messages-body.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const ask = (members: JsonObject = {}): JsonObject => messagesBody({ thinking: { type: 'adaptive' }, ...members });

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
type Data = any;

/** Checks the order of the events of a stream, and returns the message that a client assembles from them. */
function assembled(events: readonly Data[]): Data {
  const [start] = events;
  assert.equal(start?.type, 'message_start');
  const message = { ...start.message, content: [] as Data[] };
  let open: number | undefined;
  const inputs = new Map<number, string>();
  for (const event of events.slice(1)) {
    const block = message.content[event.index];
    switch (event.type) {
      case 'ping':
        break;
      case 'content_block_start':
        assert.deepEqual([open, event.index], [undefined, message.content.length]);
        open = event.index;
        message.content.push({ ...event.content_block });
        break;
      case 'content_block_delta':
        assert.equal(event.index, open);
        if (event.delta.type === 'text_delta') block.text += event.delta.text;
        else if (event.delta.type === 'thinking_delta') block.thinking += event.delta.thinking;
        else if (event.delta.type === 'signature_delta') block.signature = event.delta.signature;
        else if (event.delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), event.delta.citation];
        else inputs.set(event.index, (inputs.get(event.index) ?? '') + event.delta.partial_json);
        break;
      case 'content_block_stop': {
        assert.equal(event.index, open);
        open = undefined;
        const input = inputs.get(event.index);
        if (input !== undefined) block.input = JSON.parse(input);
        break;
      }
      case 'message_delta': {
        assert.equal(open, undefined);
        const { type: _type, delta, ...members } = event;
        Object.assign(message, delta, members);
        break;
      }
      default:
        assert.equal(event.type, 'message_stop');
    }
  }
  assert.deepEqual(
    events.slice(-2).map(({ type }) => type),
    ['message_delta', 'message_stop'],
  );
  return message;
}

interface Both {
  readonly events: readonly Data[];
  readonly message: Data;
}

/** Sends the turn streamed and not streamed, and asserts that both messages are equal. */
async function both(script: ReturnType<typeof replyEvents>, members: JsonObject = {}): Promise<Both> {
  gate.upstream.next('north', script, script);
  const stream = await gate.send(MESSAGES, { body: ask({ ...members, stream: true }) });
  assert.equal(stream.status, 200, stream.text);
  const blocks = eventsOf(stream.text);
  const events = blocks.map(({ data }) => data as Data);
  const message = assembled(events);
  const whole = await gate.send(MESSAGES, { body: ask(members) });
  assert.equal(whole.status, 200, whole.text);
  const { id: first, ...streamed } = message;
  const { id: second, ...collected } = whole.json;
  for (const id of [first, second]) assert.match(id, /^msg_[A-Za-z0-9]+$/);
  assert.deepEqual(streamed, collected);
  return { events, message };
}

const CREATED: JsonObject = { type: 'response.created', response: { id: 'resp_1', output: [] } };
const USAGE: JsonObject = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};
const completed = (output: readonly Json[], members: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output: [...output], usage: USAGE, ...members },
});
const added = (output_index: number, item: JsonObject): JsonObject => ({ type: 'response.output_item.added', output_index, item });
const done = (output_index: number, item: JsonObject): JsonObject => ({ type: 'response.output_item.done', output_index, item });
const text = (output_index: number, delta: string, content_index = 0): JsonObject => ({
  type: 'response.output_text.delta',
  output_index,
  content_index,
  delta,
});
const said = (...texts: readonly string[]): JsonObject => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: texts.map((one) => ({ type: 'output_text', text: one, annotations: [] })),
});
const textBlock = (value: string): JsonObject => ({ type: 'text', text: value, citations: null });

const reasoning: JsonObject = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'One.' },
    { type: 'summary_text', text: 'Two.' },
  ],
  encrypted_content: 'gAAA',
};
const summary = (summary_index: number, delta: string): JsonObject => ({
  type: 'response.reasoning_summary_text.delta',
  output_index: 0,
  summary_index,
  delta,
});
const call: JsonObject = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
const args = (output_index: number, delta: string): JsonObject => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  item_id: 'fc_1',
  delta,
});
const TOOLS = [{ name: 'read', input_schema: { type: 'object', properties: {} } }];
const toolUse: JsonObject = { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' }, caller: { type: 'direct' } };

describe('[AM51] [AM52] [AM56] a stream and a whole message are the same', () => {
  test('a text', async () => {
    const { events, message } = await both(
      replyEvents([
        CREATED,
        added(0, said()),
        text(0, 'Hello, '),
        text(0, '"you"\n'),
        done(0, said('Hello, "you"\n')),
        completed([said('Hello, "you"\n')]),
      ]),
    );
    assert.deepEqual(message.content, [textBlock('Hello, "you"\n')]);
    assert.deepEqual([message.role, message.model, message.stop_reason, message.stop_sequence], ['assistant', 'model-a', 'end_turn', null]);
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'message_start',
        'ping',
        'content_block_start',
        'content_block_delta',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
  });

  test('[AM59] the usage', async () => {
    const { events, message } = await both(replyEvents([CREATED, completed([said('x')])]));
    assert.deepEqual(message.usage, {
      input_tokens: 40,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 60,
      cache_creation: null,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
    });
    const { usage } = events[0].message;
    assert.ok(usage.input_tokens > 0);
    assert.deepEqual([usage.output_tokens, usage.cache_read_input_tokens], [0, 0]);
  });

  test('[AM36] reasoning, a text and a call', async () => {
    const { message } = await both(
      replyEvents([
        CREATED,
        added(0, { ...reasoning, summary: [], encrypted_content: null }),
        summary(0, 'On'),
        summary(0, 'e.'),
        summary(1, 'Two.'),
        done(0, reasoning),
        added(1, said()),
        text(1, 'Reading.'),
        done(1, said('Reading.')),
        added(2, { ...call, arguments: '' }),
        args(2, '{"pa'),
        args(2, 'th":"a"}'),
        done(2, call),
        completed([reasoning, said('Reading.'), call]),
      ]),
      { tools: TOOLS },
    );
    assert.deepEqual(message.content, [
      { type: 'thinking', thinking: 'One.\n\nTwo.', signature: signatureOf('gAAA') },
      textBlock('Reading.'),
      toolUse,
    ]);
    assert.equal(message.stop_reason, 'tool_use');
  });

  test('[AM54] items that come side by side keep their order', async () => {
    const second = { ...call, id: 'fc_2', call_id: 'call_2', arguments: '{}' };
    const { message } = await both(
      replyEvents([
        CREATED,
        added(0, { ...call, arguments: '' }),
        added(1, { ...second, arguments: '' }),
        args(0, '{"path"'),
        { ...args(1, '{'), item_id: 'fc_2' },
        args(0, ':"a"}'),
        { ...args(1, '}'), item_id: 'fc_2' },
        done(1, second),
        done(0, call),
        completed([call, second]),
      ]),
      { tools: TOOLS },
    );
    assert.deepEqual(message.content, [toolUse, { ...toolUse, id: 'call_2', input: {} }]);
  });

  test('[AM23] [AM56] one body of an account that does not stream', async () => {
    const { response } = completed([reasoning, said('Hi.'), call], { object: 'response', model: 'own-name' });
    gate.upstream.next('north', replyJson(response as JsonObject));
    const body = ask({ thinking: { type: 'adaptive' }, tools: TOOLS });
    const { status, headers, json, text: got } = await gate.send(MESSAGES, { body });
    assert.deepEqual([status, headers.get('content-type'), json.type, json.model], [200, 'application/json', 'message', 'model-a'], got);
    assert.deepEqual(json.content.slice(1), [textBlock('Hi.'), toolUse]);
    assert.deepEqual([json.content[0].type, json.content[0].thinking, json.stop_reason], ['thinking', 'One.\n\nTwo.', 'tool_use']);
    assert.deepEqual([json.usage.input_tokens, json.usage.cache_read_input_tokens, json.usage.output_tokens], [40, 60, 20]);
    gate.upstream.next('north', replyJson(response as JsonObject));
    const stopped = await gate.send(MESSAGES, { body: { ...body, stop_sequences: ['i.'] } });
    assert.deepEqual([stopped.json.stop_reason, stopped.json.stop_sequence], ['stop_sequence', 'i.']);
  });

  test('[AM54] items without deltas whose parts have their own events', async () => {
    const partDone = (output_index: number, part: Json): JsonObject => ({
      type: 'response.content_part.done',
      output_index,
      content_index: 0,
      part,
    });
    const [one] = said('Hello.').content as readonly Json[];
    const summaryDone = (summary_index: number): JsonObject => ({
      type: 'response.reasoning_summary_part.done',
      output_index: 0,
      summary_index,
      part: (reasoning.summary as readonly Json[])[summary_index] ?? null,
    });
    for (const named of [true, false]) {
      const ended = named ? { type: 'output_text', text: 'Hello.', annotations: [] } : undefined;
      const { message } = await both(
        replyEvents([
          CREATED,
          added(0, { ...reasoning, summary: [] }),
          summaryDone(0),
          summaryDone(1),
          done(0, reasoning),
          added(1, { ...said(), content: [] }),
          {
            type: 'response.content_part.added',
            output_index: 1,
            content_index: 0,
            part: { type: 'output_text', text: '', annotations: [] },
          },
          { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'Hello.' },
          ended ? partDone(1, ended) : { type: 'response.content_part.done', output_index: 1, content_index: 0 },
          done(1, { ...said(), content: [one ?? null] }),
          completed([]),
        ]),
      );
      assert.deepEqual(
        message.content.map((block: Data) => block.thinking ?? block.text),
        ['One.\n\nTwo.', 'Hello.'],
      );
    }
  });

  test('[AM54] items in the terminal event alone', async () => {
    const { message } = await both(replyEvents([CREATED, completed([reasoning, said('a', 'b'), call])]), { tools: TOOLS });
    assert.deepEqual(
      message.content.map(({ type }: Data) => type),
      ['thinking', 'text', 'text', 'tool_use'],
    );
  });

  test('[AM35] without thinking there are no thinking blocks', async () => {
    const { message } = await both(replyEvents([CREATED, completed([reasoning, said('a')])]), { thinking: null });
    assert.deepEqual(message.content, [textBlock('a')]);
  });

  test('[AM52] a web search is its call and its sources', async () => {
    const search: JsonObject = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://a.example/' }] },
    };
    const { message } = await both(replyEvents([CREATED, completed([search, said('a')])]), {
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    });
    assert.deepEqual(
      message.content.map(({ type }: Data) => type),
      ['server_tool_use', 'web_search_tool_result', 'text'],
    );
    assert.deepEqual(message.content[0].input, { query: 'q' });
    assert.deepEqual(message.usage.server_tool_use, { web_search_requests: 1, web_fetch_requests: 0 });
  });

  test('[AM56] context management is answered', async () => {
    const { message } = await both(replyEvents([CREATED, completed([said('a')])]), { context_management: { edits: [] } });
    assert.deepEqual(message.context_management, { applied_edits: [] });
  });

  test('[AM57] a reply that is cut, filtered or refused', async () => {
    const incomplete = (reason: string): JsonObject => ({
      ...completed([said('a')], { status: 'incomplete', incomplete_details: { reason } }),
      type: 'response.incomplete',
    });
    assert.equal((await both(replyEvents([CREATED, incomplete('max_output_tokens')]))).message.stop_reason, 'max_tokens');
    assert.equal((await both(replyEvents([CREATED, incomplete('content_filter')]))).message.stop_reason, 'refusal');
    const reasonAlone = {
      type: 'response.incomplete',
      response: { output: [said('a')], incomplete_details: { reason: 'max_output_tokens' } },
    };
    assert.equal((await both(replyEvents([CREATED, reasonAlone]))).message.stop_reason, 'max_tokens');
    const refusal = { type: 'message', id: 'msg_1', content: [{ type: 'refusal', refusal: 'No.' }] };
    const { message } = await both(replyEvents([CREATED, completed([refusal])]));
    assert.deepEqual([message.content, message.stop_reason], [[textBlock('No.')], 'refusal']);
    assert.deepEqual(message.stop_details, { type: 'refusal', category: null, explanation: null });
  });
});

test('[AM55] [AM56] [AM57] only the cap cuts a call: one that the account never finishes is in a whole reply too', async () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '' };
  const given = { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: '{"a":1}' };
  const { message } = await both(replyEvents([CREATED, added(0, call), given, completed([])]));
  assert.deepEqual([message.stop_reason, message.content], ['tool_use', [{ ...message.content[0], name: 'look', input: { a: 1 } }]]);
});

test('[AM56] the input of a call in a whole reply has the digits of its arguments', async () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{"id":1234567890123456789,"n":[0.5,2]}' };
  gate.upstream.next('north', replyEvents([CREATED, added(0, { ...call, arguments: '' }), done(0, call), completed([call])]));
  const { text } = await gate.send(MESSAGES, { body: messagesBody({ tools: [{ name: 'look', input_schema: { type: 'object' } }] }) });
  assert.match(text, /"input":\{"id":1234567890123456789,"n":\[0\.5,2\]\}/);
});

describe('[AM47] [AM48] [AM49] stop sequences', () => {
  test('the text before the first one is all that the client gets, and the account is left', async () => {
    const reply = replyEvents([
      CREATED,
      added(0, said()),
      text(0, 'one ST'),
      text(0, 'OP two'),
      done(0, said('one STOP two')),
      added(1, { ...said('three'), id: 'msg_2' }),
      completed([said('one STOP two')]),
    ]);
    const { message } = await both(reply, { stop_sequences: ['STOP', 'never'] });
    assert.deepEqual(message.content, [textBlock('one ')]);
    assert.deepEqual([message.stop_reason, message.stop_sequence], ['stop_sequence', 'STOP']);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.status, row?.outcome, row?.tokens_estimated], [200, 'completed', true]);
    assert.equal(gate.account('north').status, 'active');
  });

  test('a beginning that is no match is shown', async () => {
    const { message } = await both(replyEvents([CREATED, text(0, 'a ST'), text(0, 'AR'), completed([said('a STAR')])]), {
      stop_sequences: ['STOP'],
    });
    assert.deepEqual(message.content, [textBlock('a STAR')]);
  });
});

describe('[AM13] [AM16] [AM58] a reply that fails', () => {
  const failed = (code: string, message: string): JsonObject => ({
    type: 'response.failed',
    response: { id: 'resp_1', status: 'failed', error: { code, message }, output: [] },
  });

  test('before its first event it is a status', async () => {
    gate.upstream.next('north', replyEvents([CREATED, failed('invalid_prompt', 'The prompt is invalid.')]));
    const { status, headers, json } = await gate.send(MESSAGES, { body: ask({ stream: true }) });
    assert.deepEqual([status, json.type, json.error.type], [400, 'error', 'invalid_request_error']);
    assert.deepEqual([headers.get('request-id'), json.request_id], [headers.get('x-request-id'), headers.get('x-request-id')]);
  });

  test('after it, one error event ends the stream', async () => {
    gate.upstream.next('north', replyEvents([CREATED, text(0, 'a'), failed('server_is_overloaded', 'Overloaded.')]));
    const { status, text: body } = await gate.send(MESSAGES, { body: ask({ stream: true }) });
    const events = eventsOf(body).map(({ data }) => data as Data);
    assert.equal(status, 200);
    assert.deepEqual([events.at(-1).type, events.at(-1).error.type], ['error', 'overloaded_error']);
    assert.equal(events.filter(({ type }) => type === 'message_delta' || type === 'message_stop').length, 0);
  });

  test('[AM10] [AM12] after it, a quota that ends says when it is free again', async () => {
    const resets_at = Math.floor(Date.now() / 1_000) + 7_200;
    const error = { type: 'usage_limit_reached', code: 'usage_limit_reached', message: 'The usage limit has been reached.', resets_at };
    await using own = await startGateway({ upstream: { accounts: ['north'], strict: false } });
    own.upstream.next('north', replyEvents([CREATED, text(0, 'a'), { type: 'error', error }]));
    const { text: body } = await own.send(MESSAGES, { body: ask({ stream: true }) });
    const last = eventsOf(body).at(-1)?.data as Data;
    assert.deepEqual([last.type, last.error.type, last.error.details.resets_at], ['error', 'rate_limit_error', resets_at]);
    assert.match(last.error.message, /resets at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/);
  });

  test('one that dies is an api_error', async () => {
    gate.upstream.next(
      'north',
      replyBytes(
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}\n\n',
      ),
    );
    const { text: body } = await gate.send(MESSAGES, { body: ask({ stream: true }) });
    const last = eventsOf(body).at(-1)?.data as Data;
    assert.deepEqual([last.type, last.error.type], ['error', 'api_error']);
  });
});
