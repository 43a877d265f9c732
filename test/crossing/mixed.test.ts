// Pools of several APIs: before its output a turn fails over from one API to another, a tool loop continues at an account of another API,
// and a conversation that one account compacted continues at the next.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { asList, isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../support/clocks/shifted-clock.ts';
import type { TestGateway } from '../support/gateway.ts';
import { sampleOf } from '../support/sample.ts';
import { until } from '../support/until.ts';
import type { Came } from './clients/client.ts';
import { CLIENTS, keyOf, type Server, startStage } from './stage.ts';

const SERVERS: readonly Server[] = [
  { id: 'native', api: 'agent' },
  { id: 'socket', api: 'responses', settings: { websocket: true } },
  { id: 'platform', api: 'responses' },
  { id: 'box', api: 'chat' },
  { id: 'router', api: 'chat', preset: 'openrouter' },
];
const IDS = SERVERS.map(({ id }) => id);
const PAIRS = IDS.flatMap((one) => IDS.filter((other) => other !== one).map((other) => [one, other] as const));
const poolOf = (one: string, other: string): string => `${one}_${other}`;
const keyOfPair = (one: string, other: string): string => keyOf(poolOf(one, other));

const clock = new ShiftedClock();
let gate: TestGateway;

/** Starts a gateway with a Pool for each pair, in its order. */
before(async () => {
  gate = await startStage({ servers: SERVERS, clock, pools: Object.fromEntries(PAIRS.map((pair) => [poolOf(...pair), pair])) });
});
after(() => gate.close());
beforeEach(() => {
  // This is longer than quota, cooldowns, the retry budget and the affinity of conversations last.
  clock.setAhead(2 * 3_600_000);
  gate.reset();
});

const has = (one: string, other: string, ids: readonly string[]): boolean => ids.includes(one) || ids.includes(other);
const WITH_WEBSOCKETS = ['native', 'socket'];
const look = { name: 'look', parameters: { type: 'object', properties: {}, required: [] } };

const whole = (came: Came): Came => {
  assert.deepEqual([came.status, came.end, came.error], [200, 'whole', undefined], came.raw);
  return came;
};

/** The answers that an account may give before its output, by API. */
const FAILURES: Readonly<Record<string, Readonly<Record<Server['api'], string>>>> = {
  'is overloaded': { agent: 'refuse 503', responses: 'refuse 503', chat: 'refuse 503' },
  'is out of quota': {
    agent: 'refuse 429 usage_limit_reached resets 600',
    responses: 'refuse 429 insufficient_quota',
    chat: 'refuse 402',
  },
  'limits its rate': { agent: 'refuse 429 retry 5', responses: 'refuse 429 retry ms 500', chat: 'refuse 498' },
  'refuses inside a 200': { agent: 'refuse inside', responses: 'refuse inside', chat: 'error chunk 503' },
  'ends the connection': { agent: 'cut before headers', responses: 'cut after headers', chat: 'reset after headers' },
  'answers with a page': { agent: 'refuse 502', responses: 'html 502', chat: 'html' },
  'loads its model': { agent: 'refuse 503', responses: 'loading', chat: 'loading' },
};

const crosses = Object.keys(FAILURES).flatMap((failure) => CLIENTS.flatMap((client) => PAIRS.map((pair) => ({ failure, client, pair }))));

for (const { failure, client, pair } of sampleOf(crosses)) {
  const [one, other] = pair;
  if (client.transport === 'websocket' && !has(one, other, WITH_WEBSOCKETS)) continue;
  test(`[AA91] ${client.name}: ${one} ${failure}, and ${other} answers`, async () => {
    const { api, settings } = SERVERS.find(({ id }) => id === one) ?? assert.fail();
    // A page cannot arrive on a websocket.
    if (failure === 'answers with a page' && settings?.websocket === true) return;
    gate.upstream.always(one, FAILURES[failure]?.[api] ?? '');
    const came = whole(await client.first(gate, keyOfPair(one, other), { text: 'hello' }));
    assert.match(came.text, new RegExp(`answering as ${other}\\.`));
    assert.deepEqual([gate.upstream.turns(one).length > 0, gate.upstream.turns(other).length], [true, 1]);
  });
}

const isAgent = (id: string): boolean => SERVERS.some((server) => server.id === id && server.api === 'agent');

/** The answer of an account whose quota is exhausted, in the words of its API. */
const spent = (id: string): string => (isAgent(id) ? 'refuse 429 usage_limit_reached resets 600' : 'refuse 402');

const loops = PAIRS.flatMap((pair, i) => CLIENTS.map((client, j) => ({ client, pair, isInTurn: j === i % CLIENTS.length })));

for (const { client, pair } of sampleOf(
  loops,
  // Each pair runs with one of the clients, in rotation.
  loops.filter(({ isInTurn }) => isInTurn),
)) {
  const [one, other] = pair;
  if (client.transport === 'websocket' && !has(one, other, WITH_WEBSOCKETS)) continue;
  test(`[AA22] ${client.name}: a tool loop of ${one} goes on at ${other}, and back`, async () => {
    const key = keyOfPair(one, other);
    const asked = { text: 'call the tool look', tools: [look], effort: 'low' };
    const called = whole(await client.first(gate, key, asked));
    assert.equal(called.calls.length, 1);
    gate.upstream.always(one, spent(one));
    const answered = whole(await client.next(gate, key, asked, called, ['a tree']));
    assert.match(answered.text, new RegExp(`answering as ${other}\\. The tool answered: a tree`), answered.raw);
    // The quota of an agent account is exhausted for longer.
    if (isAgent(one)) return;
    gate.upstream.always(one, 'steady');
    gate.upstream.always(other, spent(other));
    gate.heal();
    const back = whole(await client.next(gate, key, { ...asked, text: 'and now?' }, answered, []));
    assert.match(back.text, new RegExp(`answering as ${one}\\. You said: and now\\?`), back.raw);
  });
}

const FAULTS = [
  ['native', 'refuse inside after 8 events'],
  ['socket', 'refuse inside after 8 events'],
  ['box', 'error chunk after 8 events'],
] as const;
const broken = CLIENTS.flatMap((client, i) =>
  FAULTS.filter(([one]) => client.transport !== 'websocket' || one !== 'box').map(([one, fault], j, { length }) => ({
    client,
    one,
    fault,
    isInTurn: j === i % length,
  })),
);

for (const { client, one, fault } of sampleOf(
  broken,
  broken.filter(({ isInTurn }) => isInTurn),
)) {
  test(`[AA59] ${client.name}: after output of ${one} nothing is tried again, and the error ends the reply`, async () => {
    const other = one === 'box' ? 'native' : 'box';
    gate.upstream.always(one, fault);
    const came = await client.first(gate, keyOfPair(one, other), { text: 'write 40 words' });
    assert.equal(came.end, 'failed', came.raw);
    // A JSON answer shows nothing before its end.
    if (client.transport !== 'json') assert.equal(gate.upstream.turns(other).length, 0);
  });
}

const NATIVE = '/backend-api/agent/responses';
const message = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });

test('[AA48] what an API account compacted continues at any account', async () => {
  for (const [one, other] of PAIRS.filter(([id]) => id === 'box' || id === 'platform')) {
    gate.reset();
    const headers = { authorization: `Bearer ${keyOfPair(one, other)}` };
    const compacted = await gate.send(`${NATIVE}/compact`, {
      headers,
      body: { model: 'model-a', instructions: '', input: [message('a long talk')] },
    });
    assert.equal(compacted.status, 200, `${one} ${compacted.text}`);
    const [item] = asList(compacted.json.output).filter(isObject);
    assert.equal(item?.type, 'compaction');
    gate.upstream.always(one, 'refuse 402');
    const body = {
      model: 'model-a',
      stream: true,
      store: false,
      reasoning: { effort: 'low' },
      include: ['reasoning.encrypted_content'],
      input: [item ?? null, message('go on')],
    };
    const answered = await gate.send(NATIVE, { headers, body });
    assert.match(answered.text, new RegExp(`answering as ${other}\\.`), `${one} then ${other}: ${answered.text.slice(0, 500)}`);
    assert.match(
      gate.upstream.turns(other).at(-1)?.body.toString() ?? '',
      new RegExp(`answering as ${one}`),
      'the summary reached the other account',
    );
  }
});

test('[AA93] a translated stream holds its open items, and not the events that it has sent', async () => {
  gate.upstream.next('box', 'stall after 3000 events');
  const headers = { authorization: `Bearer ${keyOfPair('box', 'native')}` };
  const reply = await gate.fetch('/v1/responses', { headers, body: { model: 'model-a', input: 'write 4000 words', stream: true } });
  let read = 0;
  const reading = (async () => {
    for await (const piece of reply.body ?? assert.fail()) read += piece.length;
  })();
  await gate.upstream.stalled('box');
  const held = await until('most of the events to come', () => (read > 500_000 ? gate.replyBytes : undefined));
  assert.ok(held < 100_000, `${held} bytes are held of ${read}`);
  gate.upstream.release();
  await reading;
  assert.equal(gate.replyBytes, 0);
});
