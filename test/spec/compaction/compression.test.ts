// F7.1 to F7.6 and RM2 over a running gateway: the outputs that reach the account, the fields of the request log, and the routes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { dispatchedKind, KINDS } from '../../../proxy/turn/routes/kinds.ts';
import { requestCompression } from '../../../rules/compression/request-compression.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { compressedText, corpusText } from '../../support/compression.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const ALIAS = '/backend-api/agent/v1/responses';
const PUBLIC = '/v1/responses';

const SEARCH = corpusText('search-flat.txt');
const DIFF = corpusText('diff-show.txt');
const LOG = corpusText('log-cargo-test.txt');

const enabled = (draft: Draft): void => {
  draft.pools[0].request_compression_enabled = true;
};

const call = (id: string, changes: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name: 'shell',
  arguments: '{"command":"npm run check"}',
  ...changes,
});
const answer = (id: string, output: Json): JsonObject => ({ type: 'function_call_output', call_id: id, output });
const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go on' }] };
const WORK = [
  said,
  call('c1'),
  answer('c1', SEARCH),
  call('c2'),
  answer('c2', [{ type: 'input_text', text: DIFF }]),
  call('c3'),
  answer('c3', LOG),
];

const bodyOf = (path: string, input: readonly Json[], changes: JsonObject = {}): JsonObject =>
  path === PUBLIC ? { model: 'model-a', input, ...changes } : turnBody('', { input, ...changes });

const inputOf = ({ json }: { readonly json: unknown }): readonly JsonObject[] => (json as { readonly input: readonly JsonObject[] }).input;

/** The outputs in the last turn that the account got, over HTTP or over a websocket. */
function sentOutputs(gate: TestGateway): readonly Json[] {
  const sent = gate.upstream.requests().findLast(({ method }) => method !== 'GET') ?? gate.upstream.turns().at(-1);
  return inputOf(sent ?? assert.fail('nothing arrived')).flatMap((item) =>
    typeof item.type === 'string' && item.type.endsWith('_output') ? [item.output ?? null] : [],
  );
}

async function compressionOf(
  gate: TestGateway,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<JsonObject | null | undefined> {
  const response = await gate.fetch(path, { body, headers });
  assert.equal(response.status, 200);
  await response.text();
  return (await gate.row(response))?.payload_compression as JsonObject | null | undefined;
}

const SMALLER = [compressedText(SEARCH), [{ type: 'input_text', text: compressedText(DIFF) }], compressedText(LOG)];

test('[F7.2] tool outputs are compressed on each eligible route that is served over HTTP', async () => {
  await using gate = await startGateway({ config: enabled });
  for (const path of [NATIVE, ALIAS, PUBLIC]) {
    const noted = await compressionOf(gate, path, bodyOf(path, WORK));
    assert.deepEqual(sentOutputs(gate), SMALLER, path);
    assert.equal(noted?.compressed, 3, path);
  }
});

test('[F7.2] tool outputs of Chat are compressed on both of its paths', async () => {
  await using gate = await startGateway({ config: enabled });
  const called = (id: string): JsonObject => ({
    id,
    type: 'function',
    function: { name: 'shell', arguments: '{"command":"npm run check"}' },
  });
  const result = (id: string, content: Json): JsonObject => ({ role: 'tool', tool_call_id: id, content });
  const messages = [
    { role: 'user', content: 'go on' },
    { role: 'assistant', tool_calls: ['c1', 'c2', 'c3'].map(called) },
    result('c1', SEARCH),
    result('c2', [{ type: 'text', text: DIFF }]),
    result('c3', LOG),
  ];
  for (const path of [CHAT, CHAT_ALIAS]) {
    const noted = await compressionOf(gate, path, { model: 'model-a', messages });
    assert.deepEqual(sentOutputs(gate), SMALLER, path);
    assert.equal(noted?.compressed, 3, path);
  }
});

test('[F7.2] compactions are compressed: on their routes, and as an explicit trigger', async () => {
  await using gate = await startGateway({ config: enabled });
  const trigger = { type: 'compaction_trigger' };
  for (const [path, input] of [
    ['/backend-api/agent/responses/compact', WORK],
    ['/backend-api/agent/v1/responses/compact', WORK],
    [PUBLIC, [...WORK, trigger]],
  ] as const) {
    const noted = await compressionOf(gate, path, { model: 'model-a', input });
    assert.deepEqual(sentOutputs(gate), SMALLER, path);
    assert.equal(noted?.compressed, 3, path);
  }
});

test('[F7.2] websocket frames are compressed on both surfaces', async () => {
  await using gate = await startGateway({ config: enabled });
  for (const path of [NATIVE, PUBLIC]) {
    const socket = new WebSocket(gate.url.replace('http', 'ws') + path, {
      headers: { authorization: 'Bearer pg-test-key' },
    } as unknown as string[]);
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
    const completed = new Promise<void>((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        if ((JSON.parse(String(data)) as JsonObject).type === 'response.completed') resolve();
      });
    });
    socket.send(JSON.stringify({ type: 'response.create', ...bodyOf(path, WORK) }));
    await completed;
    assert.deepEqual(sentOutputs(gate), SMALLER, path);
    socket.close();
    const row = await until('the row of the frame', async () =>
      (await gate.rows()).find(({ method, payload_compression }) => method === 'WS' && payload_compression),
    );
    assert.equal(row.payload_compression?.compressed, 3);
  }
});

test('[F7.2] the rule takes part in turns of the Responses destination, and in no other kind', () => {
  const eligible = ['responses', 'compact', 'chat', 'messages', 'public-responses', 'public-compact'];
  assert.deepEqual(requestCompression.routes, eligible);
  const others = Object.keys(KINDS).filter((kind) => !eligible.includes(kind));
  for (const kind of others) assert.ok(dispatchedKind(kind as keyof typeof KINDS)?.model !== true, kind);
});

test('[F7.1] without the setting every output is sent as it came, and nothing is recorded', async () => {
  await using gate = await startGateway();
  assert.equal(await compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK)), null);
  assert.deepEqual(sentOutputs(gate), [SEARCH, [{ type: 'input_text', text: DIFF }], LOG]);
});

test('[F7.1] a reload turns compression on for the next turn', async () => {
  await using gate = await startGateway();
  await compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK));
  await gate.reconfigure(enabled);
  await compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK));
  assert.deepEqual(sentOutputs(gate), SMALLER);
});

test('[F7.1] the same conversation reaches the account with the same bytes in every turn, in both dialects and on failover', async () => {
  for (const mode of ['full', 'lite']) {
    await using gate = await startGateway({
      config: (draft) => {
        enabled(draft);
        draft.pools[0].serving_modes = { 'model-a': mode };
      },
    });
    gate.upstream.next('north', 'steady', 'refuse 503', 'steady');
    for (const input of [WORK.slice(0, 3), WORK.slice(0, 5), WORK]) await compressionOf(gate, NATIVE, bodyOf(NATIVE, input));
    const turns = gate.upstream.turns().map((turn) => JSON.stringify(inputOf(turn)).slice(0, -1));
    assert.ok(turns.length >= 3);
    for (const [i, sent] of turns.entries()) assert.ok(i === 0 || sent.startsWith(turns[i - 1] ?? ''), `${mode}, attempt ${i}`);
  }
});

test('[F7.4] protected outputs reach the account byte for byte', async () => {
  await using gate = await startGateway({ config: enabled, upstream: { manners: { pairedToolOutputs: false } } });
  const input = [
    call('c1', { name: 'Grep' }),
    answer('c1', SEARCH),
    call('c2', { arguments: JSON.stringify({ command: ['bash', '-lc', "nl -ba a.ts | sed -n '1,80p'"] }) }),
    answer('c2', SEARCH),
    answer('c3', SEARCH),
    call('c4'),
    call('c4', { type: 'custom_tool_call', input: 'x' }),
    answer('c4', SEARCH),
    call('c5'),
    answer('c5', SEARCH),
  ];
  const noted = await compressionOf(gate, NATIVE, bodyOf(NATIVE, input));
  assert.deepEqual(sentOutputs(gate), [SEARCH, SEARCH, SEARCH, SEARCH, compressedText(SEARCH)]);
  assert.deepEqual([noted?.outputs, noted?.protected, noted?.compressed], [5, 4, 1]);
});

test('[F7.5] a body over 1 MiB, by its decoded size, is sent as it came and recorded', async () => {
  await using gate = await startGateway({ config: enabled });
  const body = JSON.stringify(bodyOf(NATIVE, [...WORK, { ...said, content: [{ type: 'input_text', text: 'x'.repeat(1_048_576) }] }]));
  const whole = [SEARCH, [{ type: 'input_text', text: DIFF }], LOG];
  assert.deepEqual(await compressionOf(gate, NATIVE, body), { skipped_body_bytes: body.length });
  assert.deepEqual(sentOutputs(gate), whole);
  assert.deepEqual(await compressionOf(gate, NATIVE, gzipSync(body), { 'content-encoding': 'gzip' }), { skipped_body_bytes: body.length });
  assert.deepEqual(sentOutputs(gate), whole);
});

test('[F7.5] at most the first 50 candidates are compressed', async () => {
  await using gate = await startGateway({ config: enabled });
  const output = SEARCH.split('\n').slice(0, 30).join('\n');
  const input = Array.from({ length: 52 }, (_, i) => [call(`c${i}`), answer(`c${i}`, output)]).flat();
  const noted = await compressionOf(gate, NATIVE, bodyOf(NATIVE, input));
  assert.deepEqual(
    sentOutputs(gate).map((sent) => sent === output),
    Array.from({ length: 52 }, (_, i) => i >= 50),
  );
  assert.deepEqual([noted?.compressed, noted?.over_limit], [50, 2]);
});

test('[RM2] the row has saved tokens where they were counted before the turn ended, and saved bytes otherwise', async () => {
  // No time passes, so that the deadline of a count does not either on a busy machine.
  await using gate = await startGateway({ config: enabled, clock: new ManualClock() });
  const turn = async (): Promise<JsonObject | null | undefined> => compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK.slice(0, 3)));
  const counted = (times: number): Promise<true> =>
    until(`${times} counts`, () => (gate.count('token_counts') >= times ? true : undefined));
  // The thread takes about as long to start as a reply takes, so the row can have tokens or bytes.
  const first = (await turn()) ?? {};
  const bytes = Buffer.byteLength(SEARCH) - Buffer.byteLength(compressedText(SEARCH));
  assert.equal(first.saved_bytes ?? bytes, bytes);
  assert.notEqual(first.saved_bytes === undefined, first.saved_tokens === undefined);
  assert.ok(Number(first.byte_savings_percent ?? first.token_savings_percent) > 20);
  await counted(1);
  gate.upstream.next('north', 'stall after 2 events');
  gate.upstream.next('south', 'stall after 2 events');
  const answering = turn();
  await Promise.any(['north', 'south'].map((account) => gate.upstream.stalled(account)));
  await counted(2);
  gate.upstream.release();
  const tokens = (await answering) ?? {};
  assert.ok(Number(tokens.saved_tokens) > 500 && Number(tokens.token_savings_percent) > 20 && tokens.saved_bytes === undefined);
});

test('[F7.6] a text that is slow to tokenize delays neither its own turn nor another one', async () => {
  await using gate = await startGateway({ config: enabled });
  const hostile = Array.from({ length: 40 }, (_, i) => `src/a.ts:${i}:${'ab1'.repeat(8_000)}`).join('\n');
  await compressionOf(gate, NATIVE, bodyOf(NATIVE, [call('c1'), answer('c1', hostile)]));
  assert.equal(sentOutputs(gate)[0], compressedText(hostile));
  assert.equal((await compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK)))?.compressed, 3);
});

test('[F7.1] a turn that a rule or a limit of its key refuses is not compressed', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      enabled(draft);
      draft.keys[0].limits = { requests_per_day: 1 };
    },
  });
  const refused = async (status: number, changes: JsonObject = {}): Promise<void> => {
    const reply = await gate.send(NATIVE, { body: bodyOf(NATIVE, WORK, changes) });
    assert.equal(reply.status, status);
    assert.equal((await gate.row(reply))?.payload_compression, null);
  };
  await refused(400, { model: 'unknown' });
  assert.equal((await compressionOf(gate, NATIVE, bodyOf(NATIVE, WORK)))?.compressed, 3);
  await refused(429);
});
