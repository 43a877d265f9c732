// S5: each request leaves one row with the fields of the contract, whatever its result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRow } from '../../../store/store.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { replyEvents, turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const TURN = { model: 'model-a', input: 'hello' };
const STREAM = { ...TURN, stream: true };

const USAGE = { input_tokens: 11, input_tokens_details: { cached_tokens: 5 }, output_tokens: 7, total_tokens: 18 };
const response = { id: 'r', object: 'response', status: 'completed', model: 'model-a', output: [], usage: USAGE };
const created = { type: 'response.created', sequence_number: 0, response: { id: 'r' } };
const delta = { type: 'response.output_text.delta', sequence_number: 1, delta: 'x' };
const completed = { type: 'response.completed', sequence_number: 2, response };
const WHOLE = replyEvents([created, delta, completed]);

const NO_TOKENS = { input_tokens: null, cached_input_tokens: null, output_tokens: null, tokens_estimated: false };
const TOKENS = { input_tokens: 11, cached_input_tokens: 5, output_tokens: 7, tokens_estimated: false };
const NO_MODE = { configured_mode: null, effective_mode: null, mode_source: null };
const AUTO = { configured_mode: 'auto', effective_mode: 'full', mode_source: 'catalog' } as const;
const TEAM = { pool: 'team', pool_label: 'Team', key_id: 'ci' };
const NOBODY = { pool: null, pool_label: null, key_id: null };

interface Ending {
  /** Makes one request; returns its id if an answer came. */
  readonly ask: (gate: TestGateway) => Promise<string | undefined>;
  readonly row: Partial<RequestRow>;
}

const idOf = ({ headers }: Reply): string | undefined => headers.get('x-request-id') ?? undefined;
const send =
  (path: string, init: Parameters<TestGateway['send']>[1], script: Parameters<TestGateway['upstream']['next']>[1] = WHOLE): Ending['ask'] =>
  async (gate) => {
    gate.upstream.next('north', script);
    return idOf(await gate.send(path, init));
  };
const raw =
  (bytes: string): Ending['ask'] =>
  async (gate) => {
    using client = await RawClient.connect(gate.url);
    client.write(bytes);
    return (await client.answer()).headers['x-request-id'];
  };
/** Leaves as soon as the account has stalled. */
const leaving =
  (script: string): Ending['ask'] =>
  async (gate) => {
    gate.upstream.next('north', script);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(PUBLIC, STREAM));
    await gate.upstream.stalled('north');
    client.close();
    return undefined;
  };

const turn = { endpoint: PUBLIC, family: 'v1', method: 'POST', ...TEAM, model: 'model-a', account: 'NORTH', ...AUTO, retries: 0 };
const refused = { account: null, model: null, ...NO_TOKENS, ...NO_MODE, retries: 0, outcome: 'refused' } as const;
const rowOf = (status: number, code: string | null): Partial<RequestRow> => ({
  status,
  status_class: `${Math.floor(status / 100)}xx`,
  code,
});

const ENDINGS: Readonly<Record<string, Ending>> = {
  'a stream that completed': {
    ask: send(PUBLIC, { body: STREAM }),
    row: { ...turn, ...rowOf(200, null), ...TOKENS, outcome: 'completed', error_class: null },
  },
  'a collected answer': { ask: send(PUBLIC, { body: TURN }), row: { ...turn, ...rowOf(200, null), ...TOKENS, outcome: 'completed' } },
  'a native stream': {
    ask: send(NATIVE, { body: turnBody('hello') }),
    row: { ...turn, endpoint: NATIVE, family: 'backend-agent', ...rowOf(200, null), ...TOKENS, outcome: 'completed' },
  },
  'a native answer as JSON': {
    ask: send(NATIVE, { body: turnBody('hello', { stream: false }) }, { kind: 'reply', status: 200, body: { json: response } }),
    row: { ...turn, endpoint: NATIVE, family: 'backend-agent', ...rowOf(200, null), ...TOKENS, outcome: 'completed' },
  },
  'an alias, under its own name': {
    ask: send('/backend-api/agent/v1/responses', { body: turnBody('hello') }),
    row: { endpoint: '/backend-api/agent/v1/responses', family: 'backend-agent', ...rowOf(200, null) },
  },
  'a reply without usage': {
    ask: send(PUBLIC, { body: STREAM }, replyEvents([created, delta, { ...completed, response: { ...response, usage: null } }])),
    row: { ...turn, ...rowOf(200, null), ...NO_TOKENS, outcome: 'completed' },
  },
  'an incomplete reply': {
    ask: send(
      PUBLIC,
      { body: STREAM },
      replyEvents([created, delta, { type: 'response.incomplete', response: { ...response, status: 'incomplete' } }]),
    ),
    row: { ...turn, ...rowOf(200, null), ...TOKENS, outcome: 'incomplete' },
  },
  'a reply that failed after visible output': {
    ask: send(PUBLIC, { body: STREAM }, 'refuse inside server_error after 4 events'),
    row: { ...turn, ...rowOf(200, 'server_error'), ...NO_TOKENS, outcome: 'failed' },
  },
  'a failover': {
    ask: send(PUBLIC, { body: STREAM }, 'refuse 503'),
    row: { ...turn, account: 'SOUTH', ...rowOf(200, null), retries: 1, outcome: 'completed' },
  },
  'a reply that was cut': {
    ask: send(PUBLIC, { body: STREAM }, [replyEvents([created, delta, completed]), { kind: 'cut', at: { events: 2 } }]),
    row: { ...turn, ...rowOf(200, 'server_error'), outcome: 'cut', error_class: 'upstream_network', tokens_estimated: true },
  },
  "a provider's refusal": {
    ask: send(PUBLIC, { body: STREAM }, 'refuse 422 invalid_value'),
    row: { ...turn, ...rowOf(422, 'invalid_value'), ...NO_TOKENS, outcome: 'failed', error_class: 'upstream_status' },
  },
  "a provider's refusal of a native turn": {
    ask: send(NATIVE, { body: turnBody('hello') }, 'refuse 422 invalid_value'),
    row: { ...turn, endpoint: NATIVE, family: 'backend-agent', ...rowOf(422, 'invalid_value'), ...NO_TOKENS, outcome: 'failed' },
  },
  'a client that left before the answer': {
    ask: leaving('stall before headers'),
    row: { ...turn, ...rowOf(499, null), outcome: 'client_gone', error_class: null, tokens_estimated: true },
  },
  'a client that left in the middle': {
    ask: leaving('stall after 5 events'),
    row: { ...turn, ...rowOf(499, null), outcome: 'client_gone', tokens_estimated: true },
  },
  'no key': {
    ask: send(PUBLIC, { body: TURN, headers: { authorization: 'Bearer pg-unknown' } }),
    row: { ...refused, ...NOBODY, ...rowOf(401, 'invalid_api_key'), endpoint: PUBLIC, family: 'v1', method: 'POST' },
  },
  'an unknown path': {
    ask: send('/v1/secret-path', {}),
    row: { ...refused, ...NOBODY, ...rowOf(404, 'unknown_endpoint'), endpoint: '(none)', family: 'none', method: 'GET' },
  },
  'a method that its path does not have': {
    ask: send('/v1/models', { method: 'DELETE' }),
    row: { ...refused, ...NOBODY, ...rowOf(405, 'method_not_allowed'), endpoint: '/v1/models', family: 'v1', method: 'DELETE' },
  },
  'an unsupported row, under its template': {
    ask: send('/v1/responses/secret-id', {}),
    row: {
      ...refused,
      ...TEAM,
      ...rowOf(404, 'unsupported_endpoint'),
      endpoint: '/v1/responses/{response_id}',
      family: 'v1',
      method: 'GET',
    },
  },
  'a websocket row without an upgrade': {
    ask: send(PUBLIC, {}),
    row: { ...refused, ...TEAM, ...rowOf(426, 'websocket_upgrade_required'), endpoint: PUBLIC, method: 'GET' },
  },
  'no JSON': {
    ask: send(PUBLIC, { body: 'no JSON' }),
    row: { ...refused, ...TEAM, ...rowOf(400, 'invalid_request'), endpoint: PUBLIC, method: 'POST' },
  },
  'a body that is too large': {
    ask: send(PUBLIC, { body: 'a'.repeat(50_001) }),
    row: { ...refused, ...TEAM, ...rowOf(413, 'request_too_large'), endpoint: PUBLIC, method: 'POST' },
  },
  'an unknown model': {
    ask: send(PUBLIC, { body: { ...TURN, model: 'secret-model' } }),
    row: { ...refused, ...TEAM, ...rowOf(400, 'invalid_model'), endpoint: PUBLIC, method: 'POST' },
  },
  'ambiguous framing': {
    ask: raw(headOf('POST', PUBLIC, { 'content-length': 3, Host: 'again' })),
    row: { ...refused, ...NOBODY, ...rowOf(400, 'invalid_request'), endpoint: '(none)', family: 'none', method: 'POST' },
  },
  CONNECT: {
    ask: raw(headOf('CONNECT', 'secret.example:443')),
    row: { ...refused, ...NOBODY, ...rowOf(400, 'invalid_request'), endpoint: '(none)', family: 'none', method: 'CONNECT' },
  },
  'a list of models': {
    ask: send('/v1/models', {}),
    row: {
      ...TEAM,
      ...rowOf(200, null),
      ...NO_TOKENS,
      account: null,
      model: null,
      endpoint: '/v1/models',
      method: 'GET',
      outcome: 'completed',
    },
  },
};

for (const [what, { ask, row: expected }] of Object.entries(ENDINGS)) {
  test(`${what} leaves one row of its own [S5]`, async () => {
    await using gate = await startGateway({
      upstream: { manners: { streamedUnstoredLists: false } },
      config: (draft) => {
        draft.limits = { request_body_bytes: 50_000 };
      },
    });
    const before = Date.now();
    const id = await ask(gate);
    const [row, ...others] = await until('a row', async () => {
      const rows = await gate.rows();
      return rows.length > 0 ? rows : undefined;
    });
    assert.deepEqual(others, [], 'one row, and no second one');
    assert.ok(row);
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(row[field as keyof RequestRow], value, field);
    if (id !== undefined) assert.equal(row.id, id, "the row's id is the answer's x-request-id");
    assert.match(row.id, /^req_[0-9a-f]{32}$/);
    assert.ok(row.at >= before && row.at <= Date.now());
    // Each is the difference of two times in whole milliseconds.
    assert.ok(row.duration_ms >= 0 && row.duration_ms <= Date.now() - before + 1);
    assert.ok(!JSON.stringify(row).includes('secret'));
    const attempts = await gate.attempts(row.id);
    assert.equal(attempts.length, row.account === null ? 0 : row.retries + 1);
    assert.equal(attempts.at(-1)?.account, row.account ?? undefined);
  });
}

test('a failover leaves its attempts: the account, the reason, and the result of each [S5]', async () => {
  await using gate = await startGateway();
  gate.upstream.next('north', 'refuse 503');
  const id = idOf(await gate.send(PUBLIC, { body: STREAM })) ?? '';
  await gate.rows();
  const attempts = await gate.attempts(id);
  assert.deepEqual(
    attempts.map(({ ordinal, account, cause, status, error_class }) => [ordinal, account, cause, status, error_class]),
    [
      [0, 'NORTH', 'first', 503, 'upstream_status'],
      [1, 'SOUTH', 'server', 200, null],
    ],
  );
});

test('hundreds of requests at once leave one row each, and every id is unique [S5]', async () => {
  await using gate = await startGateway();
  const asked = await Promise.all(
    Array.from({ length: 300 }, (_, i) => {
      if (i % 3 === 0) return gate.send(PUBLIC, { body: STREAM });
      return i % 3 === 1 ? gate.send('/nowhere') : gate.send(PUBLIC, { body: 'no JSON' });
    }),
  );
  const rows = await gate.rows();
  assert.equal(rows.length, 300);
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(asked.map(idOf)));
});

test('[S5] bytes that are not a request leave a row, and none beside that of the request that they end', async () => {
  await using gate = await startGateway();
  const ids: (string | undefined)[] = [];
  for (const bytes of ['NOT HTTP AT ALL\r\n\r\n', `GET /v1/models HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`]) {
    using client = await RawClient.connect(gate.url);
    client.write(bytes);
    ids.push((await client.answer()).headers['x-request-id']);
  }
  const rows = await gate.rows();
  assert.deepEqual(
    rows.map(({ id, method, status, code, outcome, key_id }) => [id, method, status, code, outcome, key_id]),
    [
      [ids[0], '-', 400, 'invalid_request', 'refused', null],
      [ids[1], '-', 431, 'invalid_request', 'refused', null],
    ],
  );
  using client = await RawClient.connect(gate.url);
  client.write(headOf('POST', PUBLIC, { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }));
  client.write('not a chunk\r\n');
  await client.answer();
  assert.equal((await gate.rows()).length, 3);
});

test('[S5] [AU5] a refused model that the Pool knows is in the row, and an unknown one is not', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.keys[0].models = ['other'];
    },
  });
  for (const [model, noted] of [
    ['model-a', 'model-a'],
    ['private words of a client', null],
  ] as const) {
    const refusals = [
      await gate.send(PUBLIC, { body: { model, input: 'hello' } }),
      await gate.send(NATIVE, { body: turnBody('hello', { model }) }),
      await gate.send('/v1/images/generations', { body: { model, prompt: 'a cat' } }),
    ];
    for (const refused of refusals) {
      const row = await gate.row(refused);
      assert.deepEqual([refused.json.error.code, row?.model], ['model_not_allowed', noted]);
    }
  }
});
