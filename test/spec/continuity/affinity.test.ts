// Conversations over the wire: the strategy places the first turn, and later turns go to the account that answered last (F8.3, Q10, Q11).
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RehearsalAccount } from '../../../proxy/rehearsal/account/simulated-account.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { NATIVE, outputOf, PUBLIC, user } from '../../support/stages/continuity.ts';

const ALIAS = '/backend-api/agent/v1/responses';
const MINUTE = 60_000;
const FOUR = ['a', 'b', 'c', 'd'];

const withStrategy = (strategy: string, edit: (draft: Draft) => void = () => undefined): Pick<GatewayOptions, 'config'> => ({
  config: (draft) => {
    draft.pools[0].strategy = strategy;
    edit(draft);
  },
});

const used = (id: string, percent: number): RehearsalAccount => ({
  id,
  quota: { primary: { used_percent: percent, window_minutes: 300 }, secondary: { used_percent: percent, window_minutes: 10_080 } },
});

async function turn(gate: TestGateway, path: string, fields: JsonObject): Promise<Reply> {
  const reply = await gate.send(path, {
    body: { model: 'model-a', stream: true, ...(path === PUBLIC ? {} : { store: false }), ...fields },
  });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

/** The accounts that turns went to since the last call, in order. */
function went(gate: TestGateway): readonly string[] {
  const accounts = gate.upstream.turns().map(({ account }) => account);
  gate.upstream.clear();
  return accounts;
}

const distinct = (accounts: readonly string[]): number => new Set(accounts).size;

/** Sends the turns of one conversation like a client without a session: each turn repeats the history, with or without its ciphertext. */
async function converse(
  gate: TestGateway,
  {
    path = NATIVE,
    turns = 12,
    ciphertext = false,
    fields = {},
  }: { path?: string; turns?: number; ciphertext?: boolean; fields?: JsonObject },
): Promise<readonly string[]> {
  const input: JsonObject[] = [user(`hello on ${path}`)];
  for (let i = 0; i < turns; i++) {
    const reply = await turn(gate, path, { instructions: 'be brief', input: [...input], ...fields });
    input.push(...outputOf(reply).filter((item) => ciphertext || item.encrypted_content === undefined), user(`and then? ${i}`));
  }
  return went(gate);
}

const reasons = async (gate: TestGateway): Promise<readonly (string | undefined)[]> => (await gate.rows()).map(({ why }) => why?.reason);

for (const strategy of ['headroom', 'least_loaded', 'rotation'] as const) {
  test(`[Q11] under ${strategy} twelve turns of one conversation over four idle accounts stay on one account`, async () => {
    await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy(strategy) });
    for (const path of [NATIVE, ALIAS, PUBLIC]) assert.equal(distinct(await converse(gate, { path })), 1, path);
    assert.deepEqual(new Set(await reasons(gate)), new Set([strategy, 'conversation']));
  });
}

test('[Q10] twelve turns that echo ciphertext stay with the account that made it, by a soft pin', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy('rotation') });
  assert.equal(distinct(await converse(gate, { ciphertext: true })), 1);
  assert.deepEqual(await reasons(gate), ['rotation', ...Array.from({ length: 11 }, () => 'soft_pin')]);
});

test('[Q10] a turn without a session goes to the account that made its newest ciphertext', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR, strict: false }, ...withStrategy('rotation') });
  const fields = { reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] };
  const first = outputOf(await turn(gate, NATIVE, { input: [user('one')], ...fields }));
  const second = outputOf(await turn(gate, NATIVE, { input: [user('two')], ...fields }));
  await turn(gate, NATIVE, { input: [user('one'), ...first, user('two'), ...second, user('three')], ...fields });
  await turn(gate, NATIVE, { input: [user('two'), ...second, user('one'), ...first, user('three')], ...fields });
  assert.deepEqual(went(gate), ['a', 'b', 'b', 'a']);
});

test('[Q11] forty new sessions under headroom go to the account at 5 % of its quota, none to the one at 95 %', async () => {
  await using gate = await startGateway({ upstream: { accounts: [used('spent', 95), used('plenty', 5)] }, ...withStrategy('headroom') });
  const first: string[] = [];
  for (let session = 0; session < 40; session++) {
    const fields = { prompt_cache_key: `session-${session}`, input: [user(`hello ${session}`)] };
    await turn(gate, PUBLIC, fields);
    first.push(...went(gate));
    await turn(gate, PUBLIC, fields);
    assert.deepEqual(went(gate), first.slice(-1));
  }
  assert.deepEqual(new Set(first), new Set(['plenty']));
  const rows = await gate.rows();
  assert.deepEqual([rows[0]?.why?.reason, rows[1]?.why?.reason], ['headroom', 'locality']);
});

test('[F8.3] turns of one prompt_cache_key stay at one account, whatever the strategy; new keys are placed by the strategy', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy('rotation') });
  const where = async (path: string, prompt_cache_key: string): Promise<string | undefined> => {
    await turn(gate, path, { prompt_cache_key, input: [user('hi')] });
    return went(gate)[0];
  };
  const placed: (string | undefined)[] = [];
  for (const path of [NATIVE, ALIAS, PUBLIC, NATIVE]) placed.push(await where(path, `key ${placed.length}`));
  assert.deepEqual(placed, FOUR);
  for (const path of [NATIVE, ALIAS, PUBLIC]) assert.equal(await where(path, 'key 2'), 'c', path);
});

test('[Q11] a prompt_cache_key keeps its account for an hour after its last turn, and after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-affinity-'));
  const clock = new ManualClock();
  let gate = await startGateway({
    clock,
    store: `sqlite:${folder}/poolgate.db`,
    upstream: { accounts: FOUR, clock },
    ...withStrategy('rotation', (draft) => {
      draft.store_key = { file: `${folder}/store.key` };
    }),
  });
  try {
    const where = async (): Promise<string | undefined> => {
      await turn(gate, NATIVE, { prompt_cache_key: 'k', input: [user('hi')] });
      return went(gate)[0];
    };
    assert.equal(await where(), 'a');
    for (let i = 0; i < 2; i++) {
      await clock.advance(55 * MINUTE);
      assert.equal(await where(), 'a');
    }
    gate = await gate.restarted({ clock });
    assert.equal(await where(), 'a');
    await clock.advance(61 * MINUTE);
    // The rotation starts again after a restart.
    assert.deepEqual([await where(), await where()], ['a', 'a']);
    assert.deepEqual((await reasons(gate)).slice(-2), ['rotation', 'locality']);
  } finally {
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test('[Q11] a conversation leaves a failing account, and stays where it was answered', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy('fill_first') });
  const fields = { prompt_cache_key: 'k', input: [user('hi')] };
  await turn(gate, NATIVE, fields);
  gate.upstream.next('a', 'refuse 503');
  await turn(gate, NATIVE, fields);
  assert.equal((await gate.rows()).at(-1)?.why?.left_affinity, 'tried');
  await turn(gate, NATIVE, fields);
  assert.deepEqual(went(gate), ['a', 'a', 'b', 'b']);
});

test('[Q11] an account over 1.25 times the mean in flight passes a turn to another account, and the conversation stays', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy('fill_first') });
  const fields = { prompt_cache_key: 'k', input: [user('hi')] };
  await turn(gate, NATIVE, fields);
  gate.upstream.next('a', 'stall before headers');
  const held = turn(gate, NATIVE, fields);
  await gate.upstream.stalled('a');
  await turn(gate, NATIVE, fields);
  const row = (await gate.rows()).at(-1);
  assert.deepEqual([row?.account, row?.why?.reason, row?.why?.left_affinity], ['B', 'fill_first', 'over_bound']);
  gate.upstream.release('a');
  await held;
  await turn(gate, NATIVE, fields);
  assert.deepEqual(went(gate), ['a', 'a', 'b', 'a']);
});

test('[Q11] a session takes precedence over a prompt_cache_key', async () => {
  await using gate = await startGateway({ upstream: { accounts: FOUR }, ...withStrategy('rotation') });
  const fields = { prompt_cache_key: 'k', input: [user('hi')] };
  const session = (name: string): Promise<Response> =>
    gate.fetch(NATIVE, { headers: { 'session-id': name }, body: { model: 'model-a', stream: true, store: false, input: [user('hi')] } });
  await (await session('s')).text();
  await turn(gate, NATIVE, fields);
  const both = await gate.fetch(NATIVE, {
    headers: { 'session-id': 's' },
    body: { model: 'model-a', stream: true, store: false, ...fields },
  });
  await both.text();
  assert.deepEqual(went(gate), ['a', 'b', 'a']);
});

test('[Q11] in a Pool without prompt_cache_locality a conversation does not stay at its account', async () => {
  await using gate = await startGateway({
    upstream: { accounts: FOUR },
    ...withStrategy('rotation', (draft) => {
      draft.pools[0].prompt_cache_locality = false;
    }),
  });
  assert.equal(distinct(await converse(gate, { path: PUBLIC, turns: 4, fields: { prompt_cache_key: 'k' } })), 4);
});
