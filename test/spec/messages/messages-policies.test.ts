// Policies apply on Messages as on Chat: models, efforts, caps and limits of a key, failover, compression, dropped fields, drain (AM67,
// AM70).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { compressedText, corpusText } from '../../support/compression.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { until } from '../../support/until.ts';

const SECRETS = { narrow: 'pg-narrow', high: 'pg-high', capped: 'pg-capped', minute: 'pg-minute' } as const;
type Key = keyof typeof SECRETS;

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { manners: { knownMembers: false } },
    config: (draft) => {
      const [north, south] = draft.accounts;
      for (const account of [north, south]) account.keep_fields = ['temperature', 'top_p', 'max_output_tokens'];
      north.drop_fields = ['temperature'];
      Object.assign(draft.pools[0], { strategy: 'fill_first', request_compression_enabled: true });
      const policies: Readonly<Record<Key, JsonObject>> = {
        narrow: { models: ['model-b'] },
        high: { reasoning_effort: { always: 'high' } },
        capped: { output_tokens: { max: 500 } },
        minute: { limits: { requests_per_minute: 1 } },
      };
      for (const id of Object.keys(SECRETS) as Key[]) {
        draft.keys.push({ id, pool: draft.keys[0].pool, secret_sha256: [hash('sha256', SECRETS[id], 'hex')], ...policies[id] });
      }
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

/** The same turn on both surfaces, for a key with a policy. */
const SURFACES = {
  messages: { path: '/v1/messages', cap: 'max_tokens', effort: (level: string): JsonObject => ({ output_config: { effort: level } }) },
  chat: {
    path: '/v1/chat/completions',
    cap: 'max_completion_tokens',
    effort: (level: string): JsonObject => ({ reasoning_effort: level }),
  },
} as const;
type Surface = keyof typeof SURFACES;
const BOTH = Object.keys(SURFACES) as Surface[];

function ask(surface: Surface, key: Key | undefined, members: JsonObject = {}): Promise<Reply> {
  const { path, cap } = SURFACES[surface];
  const body = { model: 'model-a', [cap]: 400, messages: [{ role: 'user', content: 'hi' }], ...members };
  return gate.send(path, { body, ...(key ? { headers: { authorization: `Bearer ${SECRETS[key]}` } } : {}) });
}

const codeOf = (surface: Surface, { json }: Reply): Json => (surface === 'chat' ? json.error.code : json.error.details.error_code);
const sent = (): JsonObject => (gate.upstream.turns().at(-1)?.json ?? {}) as JsonObject;

describe('[AM67] on Messages as on Chat', () => {
  for (const surface of BOTH) {
    const { cap, effort } = SURFACES[surface];

    test(`${surface}: the models of a key`, async () => {
      const refused = await ask(surface, 'narrow');
      assert.deepEqual([refused.status, codeOf(surface, refused), gate.upstream.turns().length], [403, 'model_not_allowed', 0]);
      assert.equal((await ask(surface, 'narrow', { model: 'model-b' })).status, 200);
    });

    test(`${surface}: the effort of a key replaces that of the client`, async () => {
      assert.equal((await ask(surface, 'high', effort('low'))).status, 200);
      assert.equal((sent().reasoning as JsonObject).effort, 'high');
    });

    test(`${surface}: the cap of a key`, async () => {
      const refused = await ask(surface, 'capped', { [cap]: 501 });
      assert.deepEqual([refused.status, codeOf(surface, refused), gate.upstream.turns().length], [400, 'output_tokens_not_allowed', 0]);
      assert.equal((await ask(surface, 'capped', { [cap]: 500 })).status, 200);
      assert.equal(sent().max_output_tokens, 500);
    });

    test(`${surface}: the next account, and the fields that each drops`, async () => {
      gate.upstream.next('north', 'refuse 503');
      const { status, headers, text } = await ask(surface, undefined, { temperature: 0.5, top_p: 0.5 });
      assert.equal(status, 200, text);
      assert.deepEqual(
        gate.upstream.turns().map(({ account, json }) => [account, (json as JsonObject).temperature, (json as JsonObject).top_p]),
        [
          ['north', undefined, 0.5],
          ['south', 0.5, 0.5],
        ],
      );
      assert.equal((await gate.row(headers.get('x-request-id') ?? ''))?.retries, 1);
    });
  }

  test('the minute of a key is one for both surfaces', async () => {
    assert.equal((await ask('chat', 'minute')).status, 200);
    const { status, headers, json } = await ask('messages', 'minute');
    assert.deepEqual([status, json.error.type, json.error.details.error_code], [429, 'rate_limit_error', 'rate_limit_exceeded']);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal(gate.upstream.turns().length, 1);
  });

  test('tool results are compressed, and the row has how much', async () => {
    const SEARCH = corpusText('search-flat.txt');
    const { status, headers, text } = await ask('messages', undefined, {
      tools: [{ name: 'shell', input_schema: { type: 'object', properties: { command: { type: 'string' } } } }],
      messages: [
        { role: 'user', content: 'go on' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'shell', input: { command: 'npm run check' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: SEARCH }] },
      ],
    });
    assert.equal(status, 200, text);
    const outputs = (sent().input as readonly JsonObject[]).flatMap(({ output }) => output ?? []);
    assert.deepEqual(outputs, [compressedText(SEARCH)]);
    assert.equal(((await gate.row(headers.get('x-request-id') ?? ''))?.payload_compression as JsonObject | null)?.compressed, 1);
  });
});

test('[AM70] a drain: the running turn ends, and a new one is 529 with Retry-After', async () => {
  await using draining = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.timeouts.drain_ms = 60_000;
    },
  });
  const body = { model: 'model-a', max_tokens: 1_000, messages: [{ role: 'user', content: 'say: one two three' }] };
  draining.upstream.next('north', 'stall after 5 events');
  const running = await draining.fetch('/v1/messages', { body: { ...body, stream: true } });
  await draining.upstream.stalled('north');
  const stopped = draining.stop();
  await until('the drain', async () => ((await fetch(`${draining.adminUrl}/readyz`)).ok ? undefined : true));
  const { status, headers, json } = await draining.send('/v1/messages', { body });
  assert.deepEqual([status, json.error.type, json.error.details.error_code], [529, 'overloaded_error', 'server_is_overloaded']);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.equal(draining.upstream.turns().length, 1);
  draining.upstream.release('north');
  const events = eventsOf(await running.text());
  assert.equal(events.map(({ data }) => data.delta?.text ?? '').join(''), 'one two three');
  assert.equal(events.at(-1)?.data.type, 'message_stop');
  await stopped;
});
