// The output-token policy of a key at accounts that do not get the cap: the gateway ends the reply there (CR1).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

/** The cap in tokens, each of four bytes. */
const CAP = 5;
const SAID = 'north south wind rain stage curtain';
const SHOWN = SAID.slice(0, 4 * CAP);
const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.keys[0].output_tokens = { max: CAP };
      draft.accounts[0].drop_fields = ['max_output_tokens'];
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.upstream.clear());

const publicTurn = (changes: JsonObject = {}): JsonObject => ({ model: 'model-a', input: `say: ${SAID}`, ...changes });

function assertResponse(response: JsonObject): void {
  assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
  const message = (response.output as readonly JsonObject[]).find(({ type }) => type === 'message');
  const [part] = (message?.content ?? []) as readonly JsonObject[];
  assert.deepEqual([message?.status, part?.text], ['incomplete', SHOWN]);
  assert.equal((response.usage as JsonObject).output_tokens, CAP);
}

function assertEvents(events: readonly JsonObject[]): void {
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
  assert.equal(deltas.join(''), SHOWN);
  const types = events.map(({ type }) => type);
  const closing = ['output_text.done', 'content_part.done', 'output_item.done', 'incomplete'].map((type) => `response.${type}`);
  assert.deepEqual(types.slice(-4), closing);
  const numbers = events.flatMap(({ sequence_number: number }) => (typeof number === 'number' ? [number] : []));
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => (numbers[0] ?? 0) + i),
  );
  assertResponse(events.at(-1)?.response as JsonObject);
}

/** Asserts that the account got no cap, that its request was ended in the middle of the answer, and that the row has an estimate. */
async function assertLeft(): Promise<void> {
  const [turn] = gate.upstream.turns();
  assert.equal((turn?.json as JsonObject | undefined)?.max_output_tokens, undefined);
  const row = await until('the row', async () => (await gate.rows()).at(-1));
  assert.deepEqual([row.outcome, row.status, row.code, row.output_tokens, row.tokens_estimated], ['incomplete', 200, null, CAP, true]);
  assert.ok((row.input_tokens ?? 0) > 0);
}

describe('[CR1] [Q18] a reply ends at the cap that its account did not get', () => {
  for (const [path, body] of [
    [PUBLIC, publicTurn({ stream: true })],
    [NATIVE, turnBody(`say: ${SAID}`)],
  ] as const) {
    test(`${path}, streamed`, async () => {
      const capped = gate.count('replies_capped');
      const { status, text } = await gate.send(path, { body });
      assert.equal(status, 200, text);
      assertEvents(eventsOf(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [data])));
      if (path === PUBLIC) assert.match(text, /data: \[DONE\]\n\n$/);
      await assertLeft();
      assert.equal(gate.count('replies_capped'), capped + 1);
    });
  }

  test(`${PUBLIC}, collected`, async () => {
    const { status, json } = await gate.send(PUBLIC, { body: publicTurn() });
    assert.equal(status, 200);
    assertResponse(json);
    await assertLeft();
  });

  const messages = [{ role: 'user', content: `say: ${SAID}` }];

  test(`${CHAT}, streamed and collected`, async () => {
    // The cap of a Chat request is raised to the minimum of providers, within the policy.
    const { json } = await gate.send(CHAT, { body: { model: 'model-a', messages, max_tokens: 1 } });
    assert.deepEqual([json.choices[0].finish_reason, json.choices[0].message.content], ['length', SHOWN]);
    const { text } = await gate.send(CHAT, { body: { model: 'model-a', messages, stream: true } });
    const chunks = eventsOf(text).flatMap(({ data }) => data.choices ?? []);
    assert.equal(chunks.map(({ delta }) => delta?.content ?? '').join(''), SHOWN);
    assert.equal(chunks.at(-1)?.finish_reason, 'length');
  });

  for (const [path, body] of [
    [PUBLIC, publicTurn()],
    [NATIVE, turnBody(`say: ${SAID}`)],
  ] as const) {
    test(`${path}, over a websocket, whose next turn is served`, async () => {
      using socket = await connect(gate, path);
      const events = await socket.turn(body);
      assertEvents(events.filter(({ sequence_number }) => sequence_number !== undefined));
      const id = (events.at(-1)?.response as JsonObject | undefined)?.id ?? null;
      const lost = await socket.turn({ ...body, previous_response_id: id });
      assert.equal((lost.at(-1)?.error as JsonObject | undefined)?.code, 'previous_response_not_found', 'its socket was left');
      assert.equal((await socket.turn({ ...body, input: [{ role: 'user', content: 'say: hi' }] })).at(-1)?.type, 'response.completed');
    });
  }
});

test('[CR1] [RB8] a native turn of a key with a cap is served by an account that refuses the member, over HTTP and a websocket', async () => {
  await gate.reconfigure((draft) => {
    draft.accounts[0].drop_fields = [];
  });
  const { status, text } = await gate.send(NATIVE, { body: turnBody(`say: ${SAID}`) });
  assert.equal(status, 200, text);
  assertEvents(eventsOf(text).map(({ data }) => data));
  await assertLeft();
  using socket = await connect(gate, NATIVE);
  const events = await socket.turn(turnBody(`say: ${SAID}`));
  assertEvents(events.filter(({ sequence_number }) => sequence_number !== undefined));
  await gate.reconfigure((draft) => {
    draft.accounts[0].drop_fields = ['max_output_tokens'];
  });
});

test('[CR1] a reply within the cap is not touched', async () => {
  const { json } = await gate.send(PUBLIC, { body: publicTurn({ input: 'say: hi' }) });
  assert.deepEqual([json.status, json.output.at(-1).content[0].text], ['completed', 'hi']);
});

test('[CR1] an item whose event is no JSON is not in the response that ends a reply at the cap', async () => {
  const item = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
  const lines = [
    { type: 'response.created', response: { id: 'resp_1', output: [] }, sequence_number: 0 },
    '{"type":"response.output_item.done","output_index":0,"sequence_number":1,"item":{"type":"reasoning",}}',
    { type: 'response.output_item.added', output_index: 1, item, sequence_number: 2 },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: SAID, sequence_number: 3 },
  ].map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  gate.upstream.next('north', replyBytes(lines.join('')));
  const { text } = await gate.send(NATIVE, { body: turnBody('hi') });
  const types = eventsOf(text)
    .at(-1)
    ?.data.response.output.map((item: JsonObject | null) => item?.type);
  assert.deepEqual(types, ['message']);
});

test('[CR1] a cut goes between characters', async () => {
  const { json } = await gate.send(PUBLIC, { body: publicTurn({ input: `say: ${'ö'.repeat(9)}日本語` }) });
  assert.deepEqual([json.status, json.output.at(-1).content[0].text], ['incomplete', 'ö'.repeat(9)]);
});

test('[CR1] an account that gets the cap ends the reply itself', async () => {
  await gate.reconfigure((draft) => {
    Object.assign(draft.accounts[0], { drop_fields: [], keep_fields: ['max_output_tokens'] });
  });
  const { status, json } = await gate.send(PUBLIC, { body: publicTurn() });
  assert.deepEqual([status, json.error.param], [400, 'max_output_tokens']);
  await gate.reconfigure((draft) => {
    Object.assign(draft.accounts[0], { drop_fields: ['max_output_tokens'], keep_fields: [] });
  });
});
