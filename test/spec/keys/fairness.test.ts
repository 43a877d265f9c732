// Fairness over real sockets: keys and Pools whose turns wait for a slot of their class or for an account, and full queues (S2).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

const keyRow = (id: string, pool = 'team', fields: object = {}): object => ({
  id,
  pool,
  secret_sha256: [hash('sha256', `secret-of-${id}`, 'hex')],
  ...fields,
});

/** Starts a gateway with one account that takes one turn at a time, a key with many turns and a key with few. */
const gateOf = (config: (draft: Draft) => void = () => undefined): Promise<TestGateway> =>
  startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.keys = [keyRow('loud'), keyRow('quiet')];
      config(draft);
    },
  });

const oneAccount = (draft: Draft): void => {
  draft.accounts[0].max_concurrent = 1;
};
const oneSlot = (draft: Draft): void => {
  draft.admission = { stream: { running: 1, waiting: 100, wait_ms: 60_000 } };
};

const ask = (gate: TestGateway, key: string, text: string, path = NATIVE): Promise<Reply> =>
  gate.send(path, { body: turnBody(text), headers: { authorization: `Bearer secret-of-${key}` } });

/** Queues turns after one that is stalled; each is named by its key and a number, in order of arrival. */
async function queued(gate: TestGateway, keys: readonly string[], path?: string): Promise<readonly Promise<Reply>[]> {
  const counts = new Map<string, number>();
  const replies: Promise<Reply>[] = [];
  gate.upstream.next('north', 'stall before headers');
  for (const key of keys) {
    const number = (counts.get(key) ?? 0) + 1;
    counts.set(key, number);
    replies.push(ask(gate, key, `turn ${key}${number}`, path));
    if (replies.length === 1) await gate.upstream.stalled('north');
    else await waiting(gate, replies.length - 1);
  }
  return replies;
}

const waiting = (gate: TestGateway, count: number): Promise<true> =>
  until(`${count} to wait`, () => (gate.admission('stream').waiting === count ? true : undefined));

/** The turns that reached the account, in order of arrival. */
const arrived = (gate: TestGateway): readonly (string | undefined)[] =>
  gate.upstream.turns().map(({ json }) => /turn (\w+)/.exec(JSON.stringify(json))?.[1]);

for (const [what, config] of [
  ['an account below its max_concurrent', oneAccount],
  ['a slot of their class', oneSlot],
] as const) {
  for (const path of [NATIVE, PUBLIC]) {
    test(`[S2] keys take turns where they wait for ${what}, ${path}`, async () => {
      await using gate = await gateOf(config);
      const replies = await queued(gate, ['loud', 'loud', 'loud', 'loud', 'loud', 'loud', 'quiet', 'quiet'], path);
      gate.upstream.release();
      for (const reply of replies) assert.equal((await reply).status, 200);
      assert.deepEqual(arrived(gate), ['loud1', 'loud2', 'quiet1', 'loud3', 'quiet2', 'loud4', 'loud5', 'loud6']);
    });
  }
}

test('[S2] keys share by their weights, which a reload changes', async () => {
  await using gate = await gateOf(oneAccount);
  await gate.reconfigure((draft) => {
    draft.keys[1].weight = 2;
  });
  const replies = await queued(gate, ['loud', 'loud', 'loud', 'loud', 'quiet', 'quiet', 'quiet', 'quiet']);
  gate.upstream.release();
  await Promise.all(replies);
  assert.deepEqual(arrived(gate), ['loud1', 'loud2', 'quiet1', 'quiet2', 'loud3', 'quiet3', 'quiet4', 'loud4']);
});

test('[S2] Pools that share an account take turns, however many keys one of them has', async () => {
  await using gate = await gateOf((draft) => {
    oneAccount(draft);
    draft.pools.push({ id: 'other', label: 'Other', assignments: [{ account: 'north' }] });
    draft.keys.push(keyRow('third', 'team', { weight: 10 }), keyRow('alone', 'other'));
  });
  const replies = await queued(gate, ['loud', 'loud', 'quiet', 'third', 'loud', 'alone', 'alone', 'alone']);
  gate.upstream.release();
  await Promise.all(replies);
  const order = arrived(gate);
  assert.deepEqual(
    [2, 4, 6].map((at) => order[at]),
    ['alone1', 'alone2', 'alone3'],
  );
});

test('[S2] one key cannot fill the queue of its class: its newest turn is displaced by a turn of another key', async () => {
  await using gate = await gateOf((draft) => {
    oneAccount(draft);
    draft.admission = { stream: { running: 100, waiting: 3, wait_ms: 20_000 } };
  });
  const loud = await queued(gate, ['loud', 'loud', 'loud', 'loud']);
  const refused = await ask(gate, 'loud', 'turn loud5');
  assert.deepEqual([refused.status, refused.json.error.code, refused.headers.get('retry-after')], [503, 'server_is_overloaded', '20']);
  const quiet = ask(gate, 'quiet', 'turn quiet1');
  const displaced = await loud[3];
  assert.deepEqual([displaced?.status, displaced?.json.error.code], [503, 'server_is_overloaded']);
  assert.deepEqual([gate.count('admission_full'), gate.count('admission_displaced')], [1, 1]);
  gate.upstream.release();
  assert.equal((await quiet).status, 200);
  await Promise.all(loud);
  assert.deepEqual(arrived(gate), ['loud1', 'loud2', 'quiet1', 'loud3']);
  const rows = (await gate.rows()).filter(({ code }) => code === 'server_is_overloaded');
  assert.deepEqual(
    rows.map(({ outcome, status, account }) => [outcome, status, account]),
    [
      ['refused', 503, null],
      ['refused', 503, null],
    ],
  );
});

test('[S2] a client that leaves the queue does not reduce the share of its key', async () => {
  await using gate = await gateOf(oneAccount);
  const replies = [...(await queued(gate, ['loud', 'loud']))];
  const gone = new AbortController();
  const leaving = gate
    .fetch(NATIVE, { body: turnBody('turn quiet0'), headers: { authorization: 'Bearer secret-of-quiet' }, signal: gone.signal })
    .catch(() => undefined);
  await waiting(gate, 2);
  gone.abort();
  await leaving;
  await waiting(gate, 1);
  replies.push(ask(gate, 'quiet', 'turn quiet1'));
  await waiting(gate, 2);
  replies.push(ask(gate, 'loud', 'turn loud3'));
  await waiting(gate, 3);
  gate.upstream.release();
  await Promise.all(replies);
  assert.deepEqual(arrived(gate), ['loud1', 'loud2', 'quiet1', 'loud3']);
});
