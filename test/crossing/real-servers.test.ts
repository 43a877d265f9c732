// Every client with servers of other authors: aimock with both APIs, with and without its websocket and with the paths of two platforms,
// mock-llm, and aimock behind the Portkey gateway. A case that a server does not support is skipped by name.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import type { Came, Client } from './clients/client.ts';
import { startAimock, startMockLlm, startPortkey } from './servers.ts';
import { CLIENTS, keyOf } from './stage.ts';

interface RealServer {
  readonly id: string;
  readonly api: 'responses' | 'chat';
  readonly settings: (url: Urls) => Draft;
  /** The features that the server lacks, each with the reason. */
  readonly lacks?: Readonly<Record<string, string>>;
}

interface Urls {
  readonly aimock: string;
  readonly mockLlm: string;
  readonly portkey: string;
}

const bearer = (): Draft => ({ bearer: { env: 'BEARER_NORTH' } });

const SERVERS: readonly RealServer[] = [
  { id: 'aimock_chat', api: 'chat', settings: ({ aimock }) => ({ base_url: `${aimock}/v1`, credential: bearer() }) },
  { id: 'aimock_responses', api: 'responses', settings: ({ aimock }) => ({ base_url: `${aimock}/v1`, credential: bearer() }) },
  {
    id: 'aimock_websocket',
    api: 'responses',
    settings: ({ aimock }) => ({ base_url: `${aimock}/v1`, credential: bearer(), websocket: true }),
  },
  {
    id: 'aimock_openrouter',
    api: 'chat',
    settings: ({ aimock }) => ({ base_url: `${aimock}/api/v1`, credential: bearer(), preset: 'openrouter' }),
  },
  {
    id: 'aimock_azure',
    api: 'responses',
    settings: ({ aimock }) => ({
      base_url: `${aimock}/openai/v1`,
      preset: 'azure',
      websocket: false,
      credential: { header: { name: 'api-key', env: 'BEARER_NORTH' } },
      query: { 'api-version': 'preview' },
    }),
  },
  {
    id: 'mock_llm',
    api: 'chat',
    settings: ({ mockLlm }) => ({ base_url: `${mockLlm}/v1`, credential: 'none', quirks: { content: 'string' } }),
    lacks: { 'a tool loop': 'it calls no tools', 'a failure before output': 'it answers every message' },
  },
  {
    id: 'portkey',
    api: 'chat',
    // Version 1.15.2 fails to relay a stream to any client, and answers 500.
    settings: ({ aimock, portkey }) => ({
      base_url: `${portkey}/v1`,
      credential: bearer(),
      quirks: { stream: 'never' },
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${aimock}/v1` },
    }),
  },
];

let gate: TestGateway;
const closing: (() => Promise<void>)[] = [];
before(async () => {
  const [mock, mockLlm, portkey] = await Promise.all([startAimock(), startMockLlm(), startPortkey()]);
  closing.push(() => mock.stop(), mockLlm.close, portkey.close);
  const urls = { aimock: mock.url, mockLlm: mockLlm.url, portkey: portkey.url };
  gate = await startGateway({
    upstream: { accounts: ['north'] },
    config(draft) {
      draft.accounts = [
        ...draft.accounts,
        ...SERVERS.map(({ id, api, settings }) => ({
          id,
          api,
          read_models: false,
          models: { 'model-a': 'gpt-4o' },
          catalog: [{ id: 'gpt-4o', context_window: 272_000 }],
          ...settings(urls),
        })),
      ];
      draft.pools = SERVERS.map(({ id }) => ({ id, assignments: [{ account: id }] }));
      draft.keys = SERVERS.map(({ id }) => ({ id: `key-${id}`, pool: id, secret_sha256: [hash('sha256', keyOf(id), 'hex')] }));
    },
  });
});
after(async () => {
  await gate?.close();
  await Promise.all(closing.map((close) => close()));
});
beforeEach(() => gate.heal());

const look = { name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } };

const whole = (came: Came): Came => {
  assert.deepEqual([came.status, came.end, came.error], [200, 'whole', undefined], came.raw);
  return came;
};

const CASES: Readonly<Record<string, (client: Client, id: string) => Promise<void>>> = {
  async 'a text'(client, id) {
    const came = whole(await client.first(gate, keyOf(id), { text: 'hello' }));
    assert.equal(came.text, id === 'mock_llm' ? 'hello' : 'hello from aimock');
  },
  async 'a tool loop'(client, id) {
    const asked = { text: 'use the tool', tools: [look] };
    const called = whole(await client.first(gate, keyOf(id), asked));
    assert.deepEqual(
      called.calls.map(({ name, input }) => [name, JSON.parse(input)]),
      [['look', { at: 'the sky' }]],
    );
    assert.equal(whole(await client.next(gate, keyOf(id), asked, called, ['blue'])).text, 'the tool was used');
  },
  async 'a failure before output'(client, id) {
    const came = await client.first(gate, keyOf(id), { text: 'fail' });
    assert.equal(came.end, 'failed', came.raw);
    assert.notEqual(came.status, 200);
  },
};

for (const { id, lacks = {} } of SERVERS) {
  for (const [name, run] of Object.entries(CASES)) {
    for (const client of CLIENTS) {
      if (client.transport === 'websocket' && id !== 'aimock_websocket') continue;
      const skip = lacks[name] === undefined ? false : `${id}: ${lacks[name]}`;
      test(`[AA92] ${client.name} at ${id}: ${name}`, { skip }, () => run(client, id));
    }
  }
}
