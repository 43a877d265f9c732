// The Messages surface as a whole: its rows and queries, bodies, CORS, served models, signatures, call ids, and clients that leave (AM1 to AM70).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { inspect } from '../../../proxy/config/loading/load.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { SMALL } from '../../config/files.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyEvents } from '../../support/rehearsal-replies.ts';
import { MESSAGES, messagesBody } from './messages-body.ts';

const ORIGIN = 'https://app.example';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    config: (draft) => {
      draft.listen = { ...draft.listen, cors: { origins: [ORIGIN] } };
      draft.pools[0].aliases = { 'claude-*': 'model-a' };
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const ask = (members: JsonObject = {}): JsonObject => messagesBody({ messages: [{ role: 'user', content: 'say: hi' }], ...members });
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
type Data = any;
const streamed = async (members: JsonObject = {}): Promise<readonly Data[]> => {
  const { status, text } = await gate.send(MESSAGES, { body: ask({ ...members, stream: true }) });
  assert.equal(status, 200, text);
  return eventsOf(text).map(({ data }) => data);
};

test('[AM1] the kinds of Messages are valid at their own paths alone', async () => {
  const row = (path: string, kind: string): string => `\nroutes:\n  - { method: POST, path: ${path}, status: supported, serve: ${kind} }\n`;
  for (const kind of ['messages', 'count-tokens']) {
    const { findings } = await inspect(SMALL + row('/anthropic/v1/messages', kind), { path: 'config.yaml', env: {} });
    assert.ok(
      findings.some(({ severity, message }) => severity === 'error' && message.includes('serve')),
      JSON.stringify(findings),
    );
  }
});

test('[AM2] a query and any version or beta change nothing, and none of them goes upstream', async () => {
  for (const headers of [{}, { 'anthropic-version': 'x', 'anthropic-beta': 'unknown-1,unknown-2' }] as Record<string, string>[]) {
    const { status } = await gate.send(`${MESSAGES}?beta=true&x=1`, { body: ask(), headers });
    assert.equal(status, 200);
    const sent = gate.upstream.turns().at(-1);
    assert.deepEqual([sent?.query, Object.keys(sent?.headers ?? {}).filter((name) => name.startsWith('anthropic'))], ['', []]);
  }
  assert.equal((await gate.fetch('/', { method: 'HEAD' })).status, 404);
});

test('[AM4] the body rules are those of other rows, and messages are 1 to 100,000', async () => {
  const many = Array.from({ length: 100_001 }, () => ({ role: 'user', content: '' }));
  for (const messages of [[], many]) {
    const { status, json } = await gate.send(MESSAGES, { body: ask({ messages }) });
    assert.deepEqual([status, json.error.message.split(':')[0]], [400, 'messages']);
  }
  const text = await gate.send(MESSAGES, { body: JSON.stringify(ask()), headers: { 'content-type': 'text/plain' } });
  assert.deepEqual([text.status, text.json.type], [415, 'error']);
  assert.equal((await gate.send(MESSAGES, { body: '{' })).status, 400);
});

test('[AM6] a page of a listed origin may send what the browser SDK sends', async () => {
  const named = 'x-api-key,anthropic-version,anthropic-dangerous-direct-browser-access,content-type';
  const { status, headers } = await fetch(gate.url + MESSAGES, {
    method: 'OPTIONS',
    headers: { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': named },
  });
  assert.deepEqual([status, headers.get('access-control-allow-headers')], [204, named]);
  const answered = await gate.fetch(MESSAGES, { body: ask(), headers: { origin: ORIGIN } });
  assert.deepEqual([answered.status, answered.headers.get('access-control-allow-origin')], [200, ORIGIN]);
  await answered.text();
});

test('[AM23] [AM24] a reply names the exposed id, whatever name was sent, and a mark of long context promises no window', async () => {
  for (const model of ['claude-opus-5-5[1m]', 'model-a[1m]', 'model-a']) {
    assert.equal((await gate.send(MESSAGES, { body: ask({ model }) })).json.model, 'model-a');
    assert.equal((await streamed({ model }))[0].message.model, 'model-a');
  }
  const version = { headers: { 'anthropic-version': '2023-06-01' } };
  const [marked, plain] = await Promise.all(['model-a%5B1m%5D', 'model-a'].map((id) => gate.send(`/v1/models/${id}`, version)));
  assert.ok(plain?.json.max_input_tokens > 0);
  assert.deepEqual(marked?.json, plain?.json);
});

const CIPHERTEXT = 'gAAA+/é';

test('[AM37] a signature is the marker, sixteen digits of the ciphertext and the ciphertext itself', async () => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: CIPHERTEXT };
  gate.upstream.next('north', replyEvents([{ type: 'response.completed', response: { id: 'r', status: 'completed', output: [item] } }]));
  const { json } = await gate.send(MESSAGES, { body: ask({ thinking: { type: 'adaptive' } }) });
  const digits = hash('sha256', CIPHERTEXT, 'hex').slice(0, 16);
  assert.deepEqual(json.content, [{ type: 'redacted_thinking', data: `pgs1.${digits}.${CIPHERTEXT}` }]);
});

test('[AM39] ciphertext prefers its account over twenty turns, and an account that refuses it gets the turn without it', async () => {
  const messages: JsonObject[] = [{ role: 'user', content: 'say: 0' }];
  for (let i = 1; i <= 20; i++) {
    const { status, json, text } = await gate.send(MESSAGES, { body: ask({ messages, thinking: { type: 'adaptive' } }) });
    assert.equal(status, 200, text);
    messages.push({ role: 'assistant', content: json.content }, { role: 'user', content: `say: ${i}` });
  }
  const turns = gate.upstream.turns();
  assert.equal(new Set(turns.map(({ account }) => account)).size, 1);
  const reasoningIn = (turn: (typeof turns)[number] | undefined): number =>
    (turn as { json: Data }).json.input.filter(({ type }: JsonObject) => type === 'reasoning').length;
  assert.equal(reasoningIn(turns.at(-1)), 19);
  const account = turns[0]?.account ?? '';
  gate.upstream.clear();
  gate.upstream.next(account, 'refuse 400 invalid_encrypted_content');
  assert.equal((await gate.send(MESSAGES, { body: ask({ messages, thinking: { type: 'adaptive' } }) })).status, 200);
  assert.equal(reasoningIn(gate.upstream.turns().at(-1)), 0);
});

test('[AM44] call ids have a form that both sides accept, in calls and in results', async () => {
  const odd = 'call 1/é';
  const mapped = `toolu_${hash('sha256', odd, 'hex').slice(0, 24)}`;
  const call = { type: 'function_call', id: 'fc_1', call_id: odd, name: 'read', arguments: '{}' };
  const tools = [{ name: 'read', input_schema: { type: 'object', properties: {} } }];
  gate.upstream.next('north', replyEvents([{ type: 'response.completed', response: { id: 'r', status: 'completed', output: [call] } }]));
  assert.equal((await gate.send(MESSAGES, { body: ask({ tools }) })).json.content[0].id, mapped);
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: odd, name: 'read', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: odd, content: 'x' }] },
  ];
  await gate.send(MESSAGES, { body: ask({ tools, messages }) });
  const ids = (gate.upstream.turns().at(-1) as { json: Data }).json.input.flatMap(({ call_id }: JsonObject) => call_id ?? []);
  assert.deepEqual(ids, [mapped, mapped]);
});

test('[AM53] there is no empty text block, and contents come in deltas alone', async () => {
  const empty = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: '', annotations: [] }] };
  gate.upstream.next('north', replyEvents([{ type: 'response.completed', response: { id: 'r', status: 'completed', output: [empty] } }]));
  assert.ok(!(await streamed()).some(({ type }) => type === 'content_block_start'));
  const starts = (await streamed({ thinking: { type: 'adaptive' } })).filter(({ type }) => type === 'content_block_start');
  assert.deepEqual(
    starts.map(({ content_block }) => content_block),
    [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'text', text: '', citations: null },
    ],
  );
});

test('[AM60] the start of a stream has the estimate of the input, its end all counts', async () => {
  const events = await streamed({ messages: [{ role: 'user', content: `say: hi\n${'word '.repeat(400)}` }] });
  const { input_tokens: estimate, output_tokens: none } = events[0].message.usage;
  assert.ok(estimate > 400 && estimate < 600 && none === 0, JSON.stringify(events[0]));
  const { usage } = events.find(({ type }) => type === 'message_delta');
  assert.ok(usage.input_tokens > estimate && usage.output_tokens > 0, 'those that the account states');
});

test('[AM62] a count is of texts, with 4 per message, 8 per tool and 1,000 per image; a PDF counts by its bytes', async () => {
  const count = async (members: JsonObject): Promise<number> =>
    (await gate.send(`${MESSAGES}/count_tokens`, { body: ask(members) })).json.input_tokens;
  const said = (...content: readonly JsonObject[]): JsonObject => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, ...content] }],
  });
  const one = await count(said());
  assert.equal(one, 5);
  assert.equal(
    await count({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'user', content: 'hi' },
      ],
    }),
    2 * one,
  );
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
  assert.equal(await count(said(image)), one + 1_000);
  const pdf = (bytes: number): JsonObject => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: Buffer.alloc(bytes).toString('base64') },
  });
  assert.deepEqual([await count(said(pdf(3))), await count(said(pdf(90_000)))], [one + 1_000, one + 3_000]);
  const tool = {
    name: 'look_up',
    description: 'Looks a word up.',
    input_schema: { type: 'object', properties: { word: { type: 'string' } } },
  };
  const { input_schema: parameters, ...named } = tool;
  const json = await count({ messages: [{ role: 'user', content: JSON.stringify({ ...named, parameters }) }] });
  assert.equal(await count({ ...said(), tools: [tool, { ...tool, name: 'deferred', defer_loading: true }] }), one + 8 + json - 4);
});

test('[AM70] a client that leaves aborts the reply of the account: 499, an estimate, and its health is untouched', async () => {
  for (const account of ['north', 'south']) gate.upstream.next(account, 'stall after 12 events');
  const leaving = new AbortController();
  const response = await gate.fetch(MESSAGES, {
    body: ask({ stream: true, messages: [{ role: 'user', content: 'write 40 words' }] }),
    signal: leaving.signal,
  });
  const id = response.headers.get('request-id') ?? '';
  const { account = '', closed } = gate.upstream.turns()[0] ?? {};
  await gate.upstream.stalled(account);
  leaving.abort();
  await assert.rejects(response.text());
  assert.equal(await closed, 'left');
  const row = await gate.row(id);
  assert.deepEqual([row?.status, row?.tokens_estimated, gate.account(account).status], [499, true, 'active']);
});
