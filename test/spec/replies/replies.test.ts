// Replies over the wire are equal in both modes, have no marker, and have the namespaces that a provider left out.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { DECLARING, RESTORATIONS } from '../../rules/tools/namespace-restoration.cases.ts';
import { type Reply, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyBytes, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const MARKER = 'x-internal-agent-responses-lite';
const MODES = ['full', 'lite', 'auto'] as const;

const gate = await startGateway({ upstream: { accounts: [{ id: 'north', models: [modelEntry({ slug: 'model-a' })], strict: false }] } });
after(() => gate.close());
afterEach(() => gate.upstream.clear());

async function inModes(play: (mode: (typeof MODES)[number]) => Promise<void>): Promise<void> {
  for (const mode of MODES) {
    await gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': mode };
    });
    await play(mode);
  }
}

const asks = (stream: boolean): JsonObject => ({
  model: 'model-a',
  input: [],
  stream,
  tools: [{ type: 'web_search' }],
  instructions: 'Be brief.',
});

/** A valid stream with unusual parts that a relay might normalise: comments, unknown events, unknown members, three kinds of line ends. */
const ODD = [
  ': a comment\n\n',
  'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"model-a","output":[],"novel":1.50}}\n\n',
  'event: response.tomorrow\r\ndata: {"type":"response.tomorrow", "sequence_number":1,\r\ndata: "spread":true}\r\n\r\n',
  'data: {"type":"response.output_text.delta","sequence_number":2,"delta":"hé\\u00e9"}\r\r',
  'event: response.completed\ndata: {"type":"response.completed","sequence_number":3,"response":{"id":"resp_1","model":"model-a","status":"completed","error":null,"output":[{"type":"message","id":"m"}],"usage":{"input_tokens":7,"output_tokens":3}}}\n\n',
].join('');

test('[F2.14] a native stream is the provider’s bytes in every mode', async () => {
  await inModes(async () => {
    gate.upstream.next('north', replyBytes(ODD));
    const { status, text } = await gate.send(NATIVE, { body: asks(true) });
    assert.deepEqual([status, text], [200, ODD]);
  });
});

for (const [name, path, stream] of [
  ['native answer', NATIVE, false],
  ['public stream', PUBLIC, true],
  ['public answer', PUBLIC, false],
] as const) {
  test(`[F2.14] a ${name} is the same bytes, and the same usage on its row, in every mode`, async () => {
    const told: Json[] = [];
    await inModes(async () => {
      gate.upstream.next(
        'north',
        name === 'native answer' ? replyJson({ id: 'resp_1', output: [], usage: { input_tokens: 7, output_tokens: 3 } }) : replyBytes(ODD),
      );
      const { status, text, headers } = await gate.send(path, { body: asks(stream) });
      const row = await gate.row({ headers });
      told.push([status, text, row?.input_tokens ?? null, row?.output_tokens ?? null, row?.account ?? null]);
    });
    assert.deepEqual(told[1], told[0]);
    assert.deepEqual(told[2], told[0]);
    assert.deepEqual((told[0] as Json[]).slice(2), [7, 3, 'NORTH']);
  });
}

test('[F2.14] a mode changes nothing in the catalog but use_responses_lite', async () => {
  const told: string[] = [];
  await inModes(async () => {
    const backend = await gate.send('/backend-api/agent/models');
    const listed = await gate.send('/v1/models');
    told.push(backend.text.replaceAll(/"use_responses_lite":(true|false)/g, '') + listed.text);
  });
  assert.equal(new Set(told).size, 1);
});

test('[F2.3] a marker in a provider’s answer reaches no client, whatever its spelling', async () => {
  const headers = { [MARKER]: 'true', 'X-Internal-Agent-Responses-LITE': 'false', x_internal_agent_responses_lite: 'true' };
  await inModes(async () => {
    for (const path of [NATIVE, PUBLIC]) {
      for (const answer of [replyBytes(ODD, { headers }), replyJson({ error: { code: 'x', message: 'no' } }, { status: 400, headers })]) {
        gate.upstream.next('north', answer);
        const reply = await gate.send(path, { body: asks(true) });
        assert.deepEqual(
          [...reply.headers.keys()].filter((name) => name.replaceAll('_', '-') === MARKER),
          [],
        );
      }
    }
  });
});

const created = (model: string): JsonObject => ({
  type: 'response.created',
  sequence_number: 0,
  response: { id: 'resp_1', model, output: [] },
});

/** A provider's stream with this item in every place that has one. */
function withItem(item: Json): readonly JsonObject[] {
  const response = { id: 'resp_1', model: 'model-a', status: 'completed', output: [{ type: 'message', id: 'm', content: [] }, item] };
  return [
    created('model-a'),
    { type: 'response.output_item.added', sequence_number: 1, output_index: 1, item },
    { type: 'response.output_item.done', sequence_number: 2, output_index: 1, item },
    { type: 'response.completed', sequence_number: 3, response },
  ];
}

/** The items that a client gets, from the stream or from the answer. */
function itemsIn({ text, json }: Reply, stream: boolean): readonly Json[] {
  if (!stream) return [json.output[1]];
  const events = eventsOf(text);
  assert.deepEqual(
    events.map(({ data }) => data.sequence_number),
    [0, 1, 2, 3, undefined],
  );
  return [events[1]?.data.item, events[2]?.data.item, events[3]?.data.response.output[1]];
}

for (const { name, item, restored } of RESTORATIONS) {
  test(`[F5.4] a custom tool call whose namespace is ${name}, in streams and answers of both modes`, async () => {
    for (const mode of ['full', 'lite']) {
      await gate.reconfigure((draft) => {
        draft.pools[0].serving_modes = { 'model-a': mode };
      });
      for (const stream of [true, false]) {
        gate.upstream.next('north', replyEvents(withItem(item)));
        const reply = await gate.send(PUBLIC, { body: { ...DECLARING, stream } });
        assert.equal(reply.status, 200, reply.text);
        for (const seen of itemsIn(reply, stream)) assert.deepEqual(seen, JSON.parse(JSON.stringify(restored ?? item)));
      }
    }
  });
}

test('[F5.4] native routes leave a namespace as the provider sends it', async () => {
  const { item } = RESTORATIONS.find(({ name }) => name === 'omitted') ?? assert.fail();
  gate.upstream.next('north', replyEvents(withItem(item)));
  const { text } = await gate.send(NATIVE, { body: { ...DECLARING, stream: true } });
  const items = eventsOf(text).flatMap(({ data }) => (data.item ? [data.item] : []));
  assert.ok(items.some(({ type }) => type === 'custom_tool_call'));
  assert.ok(items.every((shown) => !JSON.stringify(shown).includes('namespace')));
});

test('[D2] a completed response without output is filled from the finished items of its stream, and native ones stay as they came', async () => {
  for (const stream of [true, false]) {
    gate.upstream.next('north', 'empty output');
    const reply = await gate.send(PUBLIC, { body: asks(stream) });
    const events = eventsOf(reply.text);
    const response = stream ? events.at(-2)?.data.response : reply.json;
    const types = response.output.map(({ type }: JsonObject) => type);
    assert.deepEqual([response.status, types], ['completed', ['reasoning', 'message']]);
    if (!stream) continue;
    const done = events.filter(({ data }) => data.type === 'response.output_item.done').map(({ data }) => data.item);
    assert.deepEqual(response.output, done);
  }
  gate.upstream.next('north', 'empty output');
  const { text } = await gate.send(NATIVE, { body: asks(true) });
  assert.deepEqual(eventsOf(text).at(-1)?.data.response.output, []);
});

test('[Q15] a response names the user whom its client named, and never the account’s own', async () => {
  const owner = { safety_identifier: 'user-of-the-owner', user: 'owner@example' };
  const response = { id: 'resp_1', model: 'model-a', status: 'completed', output: [], ...owner };
  const reply = ['response.created', 'response.in_progress', 'response.completed'].map((type, sequence_number) => ({
    type,
    sequence_number,
    response,
  }));
  for (const [members, expected] of [
    [{}, { safety_identifier: null, user: null }],
    [{ safety_identifier: 'mine' }, { safety_identifier: 'mine', user: null }],
    [{ user: 'me' }, { safety_identifier: null, user: 'me' }],
  ] as const) {
    for (const stream of [true, false]) {
      gate.upstream.next('north', replyEvents(reply));
      const { text, json } = await gate.send(PUBLIC, { body: { ...asks(stream), ...members } });
      const seen = stream ? eventsOf(text).flatMap(({ data }) => data.response ?? []) : [json];
      assert.equal(seen.length, stream ? 3 : 1);
      for (const { safety_identifier, user } of seen) assert.deepEqual({ safety_identifier, user }, expected);
    }
  }
});
