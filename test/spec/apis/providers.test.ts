// An account of a second provider API and an agent account in one Pool: every client is served by an account that can take its turn.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { agentApi } from '../../../proxy/providers/agent/agent-api.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { talkApi } from '../../providers/talk/talk-api.ts';
import { answers, HELLO, startTalkServer, type TalkServer, talks } from '../../providers/talk/talk-server.ts';
import { bearerOf, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const CHAT = '/v1/chat/completions';
const TEXT = 'hello brave new world';

let talk: TalkServer;
let gate: TestGateway;
before(async () => {
  talk = await startTalkServer({ 'model-a': 272_000, 'model-t': 8_000 });
  gate = await startGateway({
    upstream: { accounts: ['talk', 'north'] },
    providerOf: ({ id }) => (id === 'talk' ? talkApi : agentApi),
    config(draft) {
      draft.accounts[0] = { ...draft.accounts[0], base_url: talk.url, models: { 'model-t': 'model-t' } };
    },
  });
});
after(async () => {
  await gate.close();
  await talk.close();
});
beforeEach(() => {
  talk.clear();
  gate.reset();
});

const TYPES = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  ...Array.from({ length: 4 }, () => 'response.output_text.delta'),
  'response.output_text.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.completed',
];

const image = { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }] };

const PUBLIC_BODY = { model: 'model-a', input: 'hi' };
const CHAT_BODY = { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] };

/** The requests that the second API got, with the headers that could come from the client. */
const asked = (): readonly unknown[] => talk.turns.map(({ path, json, headers }) => [path, json, headers.authorization]);
const ASKED = [['/talk/model-a', { said: ['hi'], most: null }, `Bearer ${bearerOf('talk')}`]];

const textOf = ({ json }: Reply): string => json.output[0].content[0].text;

test('[AA91] a native stream, a public stream and a JSON answer are made of the events of the second API', async () => {
  const native = await gate.send(NATIVE, { body: turnBody('hi'), headers: { 'x-agent-window-id': 'w', originator: 'client' } });
  assert.equal(native.status, 200, native.text);
  assert.deepEqual(
    eventsOf(native.text).map(({ event }) => event),
    TYPES,
  );
  assert.deepEqual(asked(), ASKED);
  assert.deepEqual(Object.keys(talk.turns[0]?.headers ?? {}).sort(), [
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
  ]);
  talk.clear();
  const streamed = await gate.send(PUBLIC, { body: { ...PUBLIC_BODY, stream: true } });
  const events = eventsOf(streamed.text);
  assert.deepEqual(
    events.filter(({ data }) => data !== '[DONE]').map(({ data }) => [data.type, data.sequence_number]),
    TYPES.map((type, number) => [type, number]),
  );
  const whole = await gate.send(PUBLIC, { body: PUBLIC_BODY });
  assert.deepEqual([whole.status, textOf(whole), whole.json.usage.output_tokens], [200, TEXT, 4]);
  assert.deepEqual(asked(), [...ASKED, ...ASKED]);
  const row = await gate.row(whole);
  assert.deepEqual([row?.account, row?.input_tokens, row?.output_tokens], ['TALK', 7, 4]);
});

test('[AA91] websocket clients of both surfaces get the frames of the second API, which has no websocket', async () => {
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    using socket = await connect(gate, path);
    const frames = await socket.turn(frameOf('hi'));
    const own = typesOf(frames).filter((type) => !type.endsWith('.response.metadata'));
    assert.deepEqual(own, TYPES, path);
  }
  assert.deepEqual(asked(), [...ASKED, ...ASKED]);
});

test('[AA91] Chat clients get an answer and chunks of the second API', async () => {
  const whole = await gate.send(CHAT, { body: CHAT_BODY });
  assert.deepEqual([whole.status, whole.json.choices[0].message.content], [200, TEXT]);
  const streamed = await gate.send(CHAT, { body: { ...CHAT_BODY, stream: true } });
  const deltas = eventsOf(streamed.text).flatMap(({ data }) => data.choices?.[0]?.delta?.content ?? []);
  assert.deepEqual(deltas.join(''), TEXT);
});

test('[AA91] Messages clients get an answer and a stream of the second API', async () => {
  const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
  const whole = await gate.send('/v1/messages', { body });
  assert.deepEqual([whole.status, whole.json.content?.[0]?.text], [200, TEXT], whole.text);
  const streamed = await gate.send('/v1/messages', { body: { ...body, stream: true } });
  const deltas = eventsOf(streamed.text).flatMap(({ data }) => data.delta?.text ?? []);
  assert.equal(deltas.join(''), TEXT);
  assert.deepEqual(
    talk.turns.map(({ json }) => json),
    [
      { said: ['hi'], most: 100 },
      { said: ['hi'], most: 100 },
    ],
  );
});

test('[AA91] every division of the bytes gives the same events', async () => {
  const whole = await gate.send(NATIVE, { body: turnBody('hi') });
  for (const chunk of [1, 2, 3, 7, 50]) {
    talk.next.push(talks(HELLO, { chunk }));
    const cut = await gate.send(NATIVE, { body: turnBody('hi') });
    assert.equal(cut.text, whole.text, `chunks of ${chunk}`);
  }
});

test('[AA58] a whole JSON body in answer to a stream is one event of the decoding', async () => {
  talk.next.push(answers(200, { words: ['all', 'at', 'once'], spent: [1, 3] }));
  const streamed = await gate.send(NATIVE, { body: turnBody('hi') });
  const deltas = eventsOf(streamed.text).flatMap(({ data }) => data.delta ?? []);
  assert.deepEqual(deltas, ['all', ' at', ' once']);
  assert.equal(eventsOf(streamed.text).at(-1)?.event, 'response.completed');
});

test('[AA57] a reply that its API cannot read is no answer, and no fault of the gateway', async () => {
  talk.next.push((response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: not json\n\n'));
  const refused = await gate.send(PUBLIC, { body: PUBLIC_BODY });
  assert.deepEqual([refused.status, refused.json.error.code], [502, 'upstream_error']);
  assert.equal(gate.count('server_errors'), 0);
  assert.equal((await gate.row(refused))?.error_class, 'upstream_malformed');
});

test('[Q38] an event that is too deep to be parsed is refused before the decoding reads it', async () => {
  const deep = `{"words":${'['.repeat(40_000)}"x"${']'.repeat(40_000)}}`;
  talk.next.push((response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${deep}\n\n`));
  const refused = await gate.send(PUBLIC, { body: PUBLIC_BODY });
  assert.deepEqual([refused.status, refused.json.error?.code], [502, 'upstream_error']);
  assert.deepEqual([gate.count('upstream_events_too_large'), gate.count('server_errors')], [1, 0]);
});

for (const [how, refusal] of [
  ['with a status', answers(503, { trouble: 'busy' }, { 'x-wait': '7' })],
  ['inside its stream', talks([{ trouble: 'busy' }])],
] as const) {
  test(`[AA61] a refusal ${how} is classified by its API, and the turn goes to the agent account`, async () => {
    talk.next.push(refusal);
    const reply = await gate.send(PUBLIC, { body: PUBLIC_BODY });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([talk.turns.length, gate.upstream.turns('north').length], [1, 1]);
    const attempts = await gate.attempts(reply.headers.get('x-request-id') ?? '');
    assert.deepEqual(
      attempts.map(({ account, cause, error_class }) => [account, cause, error_class]),
      [
        ['TALK', 'first', 'upstream_rate_limited'],
        ['NORTH', 'rate', null],
      ],
    );
    assert.equal(Object.keys(gate.account('talk').models).join(), 'model-a');
  });
}

test('[AA63] a refusal of the request has the envelope of the client on a native route too', async () => {
  talk.next.push(answers(400, { trouble: 'nonsense' }));
  const refused = await gate.send(NATIVE, { body: turnBody('hi') });
  assert.deepEqual(
    [refused.status, refused.json.error.type, refused.json.error.message],
    [400, 'invalid_request_error', 'trouble: nonsense'],
  );
});

test('[Q8] the quota header of the second API is evidence', async () => {
  await gate.send(NATIVE, { body: turnBody('hi') });
  assert.deepEqual(
    gate.quota('talk').windows.map(({ seconds, used_percent }) => [seconds, used_percent]),
    [[3600, 25]],
  );
});

test('[AA9] the list of models of the second API has its own path and shape', async () => {
  assert.deepEqual([gate.catalogs()[0]?.models, gate.catalogs()[0]?.failure], [2, undefined]);
  const { json } = await gate.send('/v1/models');
  assert.ok((json.data as readonly JsonObject[]).some(({ id }) => id === 'model-t'));
});

test('[AA18] a turn that the second API cannot take goes to the agent account, and the row has the reason', async () => {
  const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: [image] } });
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual([talk.turns.length, gate.upstream.turns('north').length], [0, 1]);
  const row = await gate.row(reply);
  assert.deepEqual(row?.why, { reason: 'fill_first', others: { modality: 1 } });
  assert.equal(row?.retries, 0);
});

test('[AA25] a turn that no account can take is refused by what the nearest one lacks', async () => {
  const shape = await gate.send(PUBLIC, { body: { model: 'model-t', input: [image] } });
  assert.deepEqual([shape.status, shape.json.error.code, shape.json.error.param], [400, 'unsupported_parameter', 'input.0.content']);
  const kind = await gate.send(`${NATIVE}/compact`, { body: { ...turnBody('hi'), model: 'model-t' } });
  assert.deepEqual([kind.status, kind.json.error.code], [404, 'unsupported_endpoint']);
  assert.equal(talk.turns.length, 0);
});

test('[AA85] explain shows why an account of the second API takes no such turn', async () => {
  const explained = async (path: string): Promise<readonly (readonly string[])[]> => {
    const query = new URLSearchParams({ method: 'POST', path, key: 'ci', model: 'model-a' });
    const reply = await fetch(`${gate.adminUrl}/api/explain?${query}`);
    const { turns } = (await reply.json()) as { turns: readonly { accounts: readonly Record<'account' | 'takes' | 'why', string>[] }[] };
    return (turns[0]?.accounts ?? []).map(({ account, takes, why }) => [account, takes, why]);
  };
  assert.deepEqual((await explained(`${NATIVE}/compact`))[0], ['talk', 'no', 'accounts of the API talk take no such turn (kind)']);
  const [[account, takes] = []] = await explained(NATIVE);
  assert.deepEqual([account, takes], ['talk', 'first']);
});
