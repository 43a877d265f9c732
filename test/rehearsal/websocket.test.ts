// The rehearsal provider on websockets: upgrades, turns, anchors, checks, and what a test can see of them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PROFILES } from '../../proxy/rehearsal/account/account-profiles.ts';
import { startProviderThread } from '../../proxy/rehearsal/provider-thread.ts';
import { neutralWords } from '../../proxy/rehearsal/shared-exchanges.ts';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { startUpstream } from '../support/rehearsal.ts';
import { at, itemsOf, typesOf } from '../support/rehearsal-client.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { connect, refusedUpgrade, type TestSocket } from '../support/websocket.ts';

const chatty = PROFILES.chatty;
const upstream = await startUpstream({
  accounts: [
    'north',
    'south',
    { id: 'lenient', strict: false },
    { id: 'locked', credential: 'open-sesame' },
    { id: 'plain', websocket: 'refused' },
    { id: 'chatty', profile: chatty },
  ],
});
after(() => upstream.close());

const path = '/backend-api/agent/responses';
const open = (account = 'north', headers: Readonly<Record<string, string>> = {}): Promise<TestSocket> =>
  connect({ url: upstream.urlOf(account) }, path, { key: null, headers });
const idOf = (frames: readonly JsonObject[]): Json => at(frames.at(-1), 'response', 'id') ?? assert.fail('no response id');
const preamble = ['agent.rate_limits', 'agent.response.metadata', 'response.metadata'];

test('[RB32] an upgrade has the headers of a turn, without its quota', async () => {
  using socket = await open();
  const { headers } = socket;
  assert.equal(headers['x-agent-primary-used-percent'], undefined);
  assert.match(headers['x-agent-turn-state'] as string, /^ts_/);
  assert.ok(headers['x-models-etag'] && headers['x-request-id'] && headers['set-cookie'] && headers['openai-organization']);
  assert.equal(headers['content-length'], undefined);
});

test('an upgrade needs the credential of its account', async () => {
  const north = { url: upstream.urlOf('locked') };
  const refusal = await refusedUpgrade(north, path, { key: 'wrong' });
  assert.deepEqual([refusal.status, at(refusal.json, 'error', 'code')], [401, 'token_expired']);
  using socket = await connect(north, path, { key: 'open-sesame' });
  assert.equal((await socket.turn(turnBody('hello'))).at(-1)?.type, 'response.completed');
});

test('a warm-up may declare the tools of a Lite conversation, and the frames that continue it have them', async () => {
  using socket = await open();
  const marker = { client_metadata: { ws_request_header_x_internal_agent_responses_lite: 'true' } };
  const tools = [{ type: 'function', name: 'get_weather', strict: false, parameters: { type: 'object', properties: {} } }];
  const declared = [{ type: 'additional_tools', id: 'at_1', role: 'developer', tools }];
  const warm = await socket.turn(turnBody('', { ...marker, input: declared, generate: false }));
  const ask = turnBody('call the tool get_weather with {}', { ...marker, previous_response_id: idOf(warm) });
  const first = await socket.turn(ask);
  assert.equal(at(itemsOf(first), 1, 'name'), 'get_weather');
  const again = await socket.turn({ ...ask, previous_response_id: idOf(first) });
  assert.equal(at(itemsOf(again), 1, 'name'), 'get_weather', 'over a chain of responses');
  const empty = await socket.turn(turnBody('', { ...marker, input: [], generate: false }));
  assert.equal(empty.at(-1)?.type, 'response.completed', 'a warm-up may be empty');
});

test('an account without websockets refuses every upgrade with 426 and answers turns over HTTP', async () => {
  const refusal = await refusedUpgrade({ url: upstream.urlOf('plain') }, path, { key: null });
  assert.deepEqual([refusal.status, refusal.json], [426, { detail: 'Upgrade Required' }]);
  const answer = await fetch(upstream.urlOf('plain') + path, { method: 'POST', body: JSON.stringify(turnBody('hello')) });
  assert.equal(answer.status, 200);
  await answer.text();
});

test('an upgrade on a path without websockets is an ordinary request', async () => {
  const refusal = await refusedUpgrade({ url: upstream.urlOf('north') }, '/backend-api/agent/models?client_version=0.0.0', { key: null });
  assert.equal(refusal.status, 200);
});

test('a turn has the events of SSE, after quota, metadata and turn state', async () => {
  using socket = await open();
  const frames = await socket.turn(turnBody('say: hello there'));
  assert.deepEqual(typesOf(frames).slice(0, 5), [...preamble, 'response.created', 'response.in_progress']);
  assert.deepEqual(Object.keys(at(frames[1], 'headers') as JsonObject), ['x-models-etag', 'openai-model']);
  assert.match(at(frames[2], 'headers', 'x-agent-turn-state') as string, /^ts_/);
  assert.equal(frames.at(-1)?.type, 'response.completed');
  assert.equal(at(itemsOf(frames), 1, 'content', 0, 'text'), 'hello there');
  assert.deepEqual(
    frames.slice(3).map(({ sequence_number }) => sequence_number),
    frames.slice(3).map((_, i) => i),
  );
});

test('a large frame arrives whole', async () => {
  using socket = await open();
  const frames = await socket.turn(turnBody('write 20000 words'));
  const text = at(itemsOf(frames), 1, 'content', 0, 'text') as string;
  assert.equal(text.split(' ').length, 20_000);
});

test('the profile decides on the preamble', async () => {
  using socket = await open('chatty');
  assert.deepEqual(typesOf(await socket.turn(turnBody('hello'))).slice(0, 4), ['keepalive', ...preamble]);
  upstream.next('chatty', 'no preamble');
  assert.equal((await socket.turn(turnBody('hello')))[0]?.type, 'response.created');
});

test('generate: false is answered with an empty response that can be an anchor', async () => {
  using socket = await open();
  const prewarm = await socket.turn(turnBody('hello', { generate: false }));
  assert.deepEqual(typesOf(prewarm), [...preamble, 'response.created', 'response.completed']);
  const completed = prewarm.at(-1);
  assert.deepEqual([at(completed, 'response', 'output'), at(completed, 'response', 'usage')], [[], null]);
  const frames = await socket.turn(turnBody('hello', { previous_response_id: idOf(prewarm) }));
  assert.equal(at(frames.at(-1), 'response', 'previous_response_id'), idOf(prewarm));
});

test('[RB11] an anchor is a whole response of the same websocket', async () => {
  using first = await open();
  using second = await open();
  const id = idOf(await first.turn(turnBody('hello')));
  const lost = (anchor: Json): JsonObject => ({
    type: 'error',
    status: 400,
    error: {
      message: `Previous response with id '${anchor}' not found.`,
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    },
  });
  const anchored = turnBody('hello', { previous_response_id: id });
  assert.deepEqual(await second.turn(anchored), [lost(id)]);
  assert.equal((await first.turn(anchored)).at(-1)?.type, 'response.completed');
  upstream.next('north', 'anchor lost', 'anchor lost', 'refuse inside');
  assert.deepEqual(await first.turn(anchored), [lost(id)]);
  assert.equal((await first.turn(turnBody('hello'))).at(-1)?.type, 'response.completed');
  const failed = await first.turn(turnBody('hello'));
  assert.deepEqual(await first.turn(turnBody('hello', { previous_response_id: idOf(failed) })), [lost(idOf(failed))]);
});

test('a turn that ends with a compaction trigger gets one compaction item', async () => {
  using socket = await open();
  const id = idOf(await socket.turn(turnBody('hello')));
  const frames = await socket.turn(turnBody('', { previous_response_id: id, input: [{ type: 'compaction_trigger' }] }));
  assert.deepEqual([at(itemsOf(frames), 0, 'type'), itemsOf(frames).length], ['compaction', 1]);
});

const entry = 'client_metadata.ws_request_header_x_internal_agent_responses_lite';
const marked = (value: Json): JsonObject => ({ client_metadata: { ws_request_header_x_internal_agent_responses_lite: value } });
const prefix = { type: 'additional_tools', role: 'developer', tools: [] };
const user = { role: 'user', content: 'hello' };

interface Case {
  readonly what: string;
  readonly body: JsonObject;
  readonly account?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status, code and param of the refusal; absent if the provider accepts the request. */
  readonly refused?: readonly [status: number, code: string, param: string | null];
}

const { stream: _, ...withoutStream } = turnBody('hello');

const cases: readonly Case[] = [
  { what: 'no stream', body: withoutStream },
  {
    what: 'an unknown anchor at an account that checks nothing',
    body: turnBody('', { previous_response_id: 'resp_0' }),
    account: 'lenient',
  },
  { what: 'a Lite body with its marker', body: turnBody('', { input: [prefix, user], ...marked('true') }) },
  { what: 'a Lite body without its marker', body: turnBody('', { input: [prefix, user] }), refused: [400, 'invalid_value', 'input.0'] },
  { what: 'a marker on a Full body', body: turnBody('', marked('true')), refused: [400, 'invalid_value', 'input.0'] },
  {
    what: 'a marker of another value',
    body: turnBody('', { input: [prefix, user], ...marked(true) }),
    refused: [400, 'invalid_value', entry],
  },
  {
    what: 'a Lite body whose marker is a header of the upgrade',
    body: turnBody('', { input: [prefix, user] }),
    headers: { 'x-internal-agent-responses-lite': 'true' },
    refused: [400, 'invalid_value', 'input'],
  },
];

for (const { what, body, account, headers, refused } of cases) {
  test(`${what} is ${refused === undefined ? 'taken' : 'refused'} on a websocket`, async () => {
    using socket = await open(account, headers);
    const last = (await socket.turn(body)).at(-1);
    if (refused === undefined) assert.equal(last?.type, 'response.completed');
    else assert.deepEqual([last?.status, at(last, 'error', 'code'), at(last, 'error', 'param')], refused);
    // The websocket stays open after a refusal.
    assert.equal(
      (await socket.turn(turnBody('hello', { model: 'model-z' }))).at(-1)?.type,
      account === 'lenient' ? 'response.completed' : 'error',
    );
  });
}

test('[RB7] on a websocket an absent store passes, and a stored response is refused with the detail as the message of an error', async () => {
  using socket = await open();
  const { store: _, ...without } = turnBody('');
  assert.equal((await socket.turn(without)).at(-1)?.type, 'response.completed');
  assert.deepEqual(await socket.turn(turnBody('', { store: true })), [
    { type: 'error', status: 400, error: { type: 'invalid_request_error', message: 'Store must be set to false' } },
  ]);
});

test('[RB20] on a websocket a model that the account lacks is refused in words alone', async () => {
  using socket = await open();
  const message = "The 'model-z' model is not supported when using Codex with a ChatGPT account.";
  assert.deepEqual(await socket.turn(turnBody('', { model: 'model-z' })), [
    { type: 'error', status: 400, error: { type: 'invalid_request_error', message } },
  ]);
});

test('a frame that is not a turn is refused and does not count as one', async () => {
  upstream.clear();
  using socket = await open();
  const refusals: (Json | undefined)[] = [];
  for (const frame of ['no JSON', '[]', '{"type":"session.update"}']) {
    socket.send(frame);
    refusals.push(at(await socket.next(), 'status'));
  }
  socket.sendBytes(Buffer.from('{"type":"response.create"}'));
  refusals.push(at(await socket.next(), 'status'));
  assert.deepEqual(refusals, [400, 400, 400, 400]);
  assert.equal(upstream.turns().length, 0);
});

test('one turn runs at a time: a frame that comes during a turn is refused', async () => {
  upstream.clear();
  using socket = await open();
  upstream.next('north', 'stall after 4 events');
  socket.send({ type: 'response.create', ...turnBody('first') });
  await upstream.stalled('north');
  socket.send({ type: 'response.create', ...turnBody('second') });
  const frames = await socket.rest();
  assert.equal(at(frames.at(-1), 'error', 'code'), 'response_in_progress');
  assert.equal(upstream.turns().length, 1);
  upstream.release();
  assert.equal((await socket.rest()).at(-1)?.type, 'response.completed');
});

test('turns and upgrades are recorded with the websocket that they came on', async () => {
  await using observed = await startUpstream();
  const open = () => connect({ url: observed.urlOf('north') }, `${path}?a=1`, { key: 'k', headers: { 'X-Mine': 'yes' } });
  using first = await open();
  using second = await open();
  await second.turn(turnBody('one'));
  await first.turn(turnBody('two'));
  await second.turn(turnBody('three', { generate: false }));
  const [upgrade] = observed.upgrades('north');
  assert.deepEqual([upgrade?.method, upgrade?.turn, upgrade?.connection, upgrade?.isUpgrade, upgrade?.query], ['GET', 0, 0, true, 'a=1']);
  assert.equal(await upgrade?.closed, 'answered');
  const turns = observed.turns('north');
  assert.deepEqual(
    turns.map(({ method, turn, connection }) => [method, turn, connection]),
    [
      ['WS', 1, 2],
      ['WS', 2, 1],
      ['WS', 3, 2],
    ],
  );
  assert.deepEqual(turns[0]?.json, { type: 'response.create', ...turnBody('one') });
  assert.equal(turns[0]?.body.toString(), JSON.stringify(turns[0]?.json));
  assert.deepEqual([turns[0]?.path, turns[0]?.headers.authorization, turns[0]?.headers['x-mine']], [path, 'Bearer k', 'yes']);
  assert.ok(turns[0]?.rawHeaders.includes('X-Mine'));
  assert.deepEqual(await Promise.all(turns.map(({ closed }) => closed)), ['answered', 'answered', 'answered']);
});

test('a turn whose client leaves is recorded as left', async () => {
  upstream.clear();
  const socket = await open();
  upstream.next('north', 'stall after 4 events');
  socket.send({ type: 'response.create', ...turnBody('hello') });
  const [turn] = await upstream.arrived(1);
  await upstream.stalled('north');
  socket.terminate();
  assert.equal(await turn?.closed, 'left');
});

test('a test counts the open websockets of an account and closes the idle ones', async () => {
  upstream.clear();
  const [idle, busy] = await Promise.all([open('south'), open('south')]);
  assert.equal(upstream.socketsOf('south'), 2);
  upstream.next('south', 'stall after 1 event');
  busy.send({ type: 'response.create', ...turnBody('hello') });
  await upstream.stalled('south');
  assert.equal(upstream.closeSockets('south', 1001), 1);
  assert.equal((await idle.closed).code, 1001);
  await upstream.sockets('south', 1);
  busy.terminate();
  await upstream.sockets('south', 0);
});

test('an account that hangs up ends its websockets', async () => {
  await using own = await startUpstream();
  const socket = await connect({ url: own.urlOf('north') }, path, { key: null });
  own.next('north', 'stall after 1 event');
  socket.send({ type: 'response.create', ...turnBody('hello') });
  const [turn] = await own.arrived(1);
  await own.hangUp('north');
  assert.deepEqual([(await socket.closed).code, await turn?.closed, own.socketsOf('north')], [1006, 'cut', 0]);
});

test('the provider in a worker thread speaks websocket too, and the faults of a profile are those of frames', async (t) => {
  const thread = await startProviderThread({ accounts: [{ id: 'north', profile: 'exhausted' }], wire: neutralWords });
  t.after(() => thread.close());
  using socket = await connect({ url: thread.urlOf('north') }, path, { key: null });
  const [refusal] = await socket.turn(turnBody('hello'));
  assert.deepEqual([refusal?.status, at(refusal, 'error', 'type')], [429, 'usage_limit_reached']);
  await thread.close();
  assert.equal((await socket.closed).code, 1006);
});

test('a frame above the limit of real providers closes the websocket with 1009', async () => {
  const socket = await open();
  socket.send(JSON.stringify({ type: 'response.create', ...turnBody('x'.repeat(15 * 1024 * 1024)) }));
  assert.equal((await socket.closed).code, 1009);
});
