// Round trips of nodes to their database: one for a turn of a key with limits, none for a turn of a key without limits.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { openStore } from '../../store/store.ts';
import { joinedAs, limitedTurn, usageRow } from '../store/samples.ts';
import { type Reply, startGateway, type TestGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';
import { Link } from '../support/postgres/postgres-link.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

const FREE_KEY = 'pg-key-without-limits';
const ALL_LIMITS = {
  requests_per_minute: 1e6,
  requests_per_day: 1e6,
  tokens_per_minute: 1e9,
  tokens_per_day: 1e9,
  tokens_per_week: 1e9,
  usd_per_day: 1e6,
  usd_per_week: 1e6,
  concurrent: 100,
};

const send = (gate: TestGateway, key?: string): Promise<Reply> =>
  gate.send('/backend-api/agent/responses', {
    body: turnBody('hi'),
    ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }),
  });

test('[Q34] a reservation is one round trip, granted or refused, whatever the number of limits', async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  const store = await openStore(link.url(direct), { clock: Date.now });
  context.after(() => store.close());
  const node = await joinedAs(store, 'a', 600_000);
  let n = 0;
  const trips = async (act: () => Promise<unknown>): Promise<number> => {
    // The first call also takes a connection.
    await act();
    const before = link.roundTrips;
    await act();
    return link.roundTrips - before;
  };
  const turn = () => limitedTurn({ node, grant: `grant-${n++}`, tokens: 10, cost_nanos: 10 });
  const bounds = { concurrent: 100, requests_per_minute: 100, tokens_per_day: 1e6, nanos_per_week: 1e6 };
  // The delay is so long that all statements which are sent together are on their way before the first answer.
  link.delayMs = 15;
  const settlement = async (): Promise<void> => {
    const { grant, key } = turn();
    await store.limits.settle([{ grant, key, used: usageRow(), at: Date.now(), minute: true }]);
  };
  const settledTurn = async (): Promise<void> => {
    const taken = turn();
    await store.limits.take(taken, bounds);
    await store.limits.settle([{ grant: taken.grant, key: 'ci', used: usageRow(), at: Date.now(), minute: true }]);
  };
  assert.deepEqual(
    {
      granted: await trips(() => store.limits.take(turn(), bounds)),
      refused: await trips(() => store.limits.take(turn(), { concurrent: 0 })),
      use: await trips(() => store.limits.use('ci')),
      takenAndSettled: await trips(settledTurn),
      settledAgain: await trips(settlement),
      renewed: await trips(() => store.nodes.renew({ id: 'a', token: node, config_digest: '' }, 600_000)),
      claimed: await trips(() => store.slots.claim(node, [{ account: 'north', most: 9, kept: 0, wanted: n++ }])),
    },
    { granted: 1, refused: 1, use: 1, takenAndSettled: 3, settledAgain: 2, renewed: 1, claimed: 2 },
  );
});

test('[Q34] a turn of a key with limits asks the store once, a turn of a key without limits never', async () => {
  await using gate = await startGateway({
    store: await freshDatabase(),
    upstream: { accounts: ['north'], strict: false },
    config: (draft) => {
      draft.keys[0].limits = ALL_LIMITS;
      draft.keys.push({ id: 'free', pool: 'team', secret_sha256: [hash('sha256', FREE_KEY, 'hex')] });
    },
  });
  for (const key of [undefined, FREE_KEY]) assert.equal((await send(gate, key)).status, 200);
  const taken = gate.countReservations();
  for (let i = 0; i < 20; i++) assert.equal((await send(gate, FREE_KEY)).status, 200);
  assert.equal(taken(), 0);
  for (let i = 0; i < 20; i++) assert.equal((await send(gate)).status, 200);
  assert.equal(taken(), 20);
});
