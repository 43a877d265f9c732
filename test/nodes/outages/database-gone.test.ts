// The database becomes unreachable and comes back: the turns that nodes serve in the meantime, rows that wait, and usage that is counted
// exactly once.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ReservationQueue } from '../../../store/postgres/limits/reservation-queue.ts';
import { holdTime } from '../../support/clocks/held-time.ts';
import { bearerOf, type Draft, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freshDatabase, ownPostgres } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { waitsForDatabase } from '../../support/postgres/waits-for-database.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

/** The tests stop and start this server. */
const postgresServer = ownPostgres();

const NATIVE = '/backend-api/agent/responses';
const LOOK_MS = 100;

const FREE_KEY = 'pg-key-without-limits';

const limited = (gate: TestGateway): Promise<Reply> => gate.send(NATIVE, { body: turnBody('hi') });
const free = (gate: TestGateway): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi'), headers: { authorization: `Bearer ${FREE_KEY}` } });

interface StartOptions {
  readonly edit?: (draft: Draft) => void;
  readonly store?: string;
}

const start = async ({ edit = () => undefined, store }: StartOptions = {}): Promise<TestGateway> =>
  startGateway({
    store: store ?? (await freshDatabase()),
    upstream: { accounts: ['north'], strict: false },
    config: (draft) => {
      draft.keys[0].limits = { requests_per_day: 100, concurrent: 10 };
      draft.keys.push({ id: 'free', pool: 'team', secret_sha256: [hash('sha256', FREE_KEY, 'hex')] });
      edit(draft);
    },
  });

/** Runs `act` without the database. */
async function without(act: () => Promise<void>): Promise<void> {
  const server = await postgresServer;
  await server.end('SIGQUIT');
  try {
    await act();
  } finally {
    await server.run();
  }
}

/** Resolves when turns with limits are accepted again; each refused turn asks the database. */
const limitsAreBack = (gate: TestGateway): Promise<true> =>
  until('the limits', async () => ((await limited(gate)).status === 200 ? true : undefined), PATIENCE_MS, LOOK_MS);

/** Resolves when the node has noticed the outage, after which its turns do not try the database. */
const outageOf = (gate: TestGateway): Promise<true> =>
  until('the outage', () => gate.logged.some((line) => line.includes('"store_unreachable"')) || undefined);

const readiness = async (gate: TestGateway): Promise<number> => (await fetch(`${gate.adminUrl}/readyz`)).status;

test('[Q34] while the database is gone keys with limits get 503 at once, and all others are served', async (context) => {
  await using gate = await start();
  const waits = waitsForDatabase(context);
  assert.equal((await limited(gate)).status, 200);
  assert.ok(waits() > 0);
  await without(async () => {
    assert.equal((await limited(gate)).status, 503);
    await outageOf(gate);
    const before = waits();
    for (let i = 0; i < 5; i++) {
      const { status, headers, json } = await limited(gate);
      assert.deepEqual(
        [status, json.error.code, json.error.type, headers.get('retry-after')],
        [503, 'server_is_overloaded', 'server_error', '5'],
      );
      assert.match(json.error.message, /limits of this API key cannot be checked/);
    }
    assert.equal(waits(), before, 'they wait for no connection');
    assert.ok(gate.count('limits_unavailable') >= 5);
    for (let i = 0; i < 5; i++) assert.equal((await free(gate)).status, 200);
    assert.equal((await gate.send('/v1/models')).status, 200);
    const usage = await gate.send('/v1/usage');
    assert.equal(usage.status, 200);
    assert.deepEqual(usage.json.limits[0].current_value, 1, 'what this node knows');
    assert.equal(await readiness(gate), 200);
    for (const path of ['/v1/files', '/v1/files/file-1']) {
      const { status, headers, json } = await gate.send(path);
      assert.deepEqual([status, json.error.code, headers.get('retry-after')], [503, 'server_is_overloaded', '5'], path);
    }
    const named = { model: 'model-a', input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] };
    assert.equal((await gate.send('/v1/responses', { body: named })).status, 503);
  });
  await limitsAreBack(gate);
  assert.equal((await limited(gate)).status, 200);
});

test('[Q34] when the network drops everything a turn is answered within two seconds', { timeout: 3 * PATIENCE_MS }, async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  await using gate = await start({ store: link.url(direct) });
  assert.equal((await limited(gate)).status, 200);
  const { mock } = context.mock.method(ReservationQueue.prototype, 'take');
  link.stop();
  const pass = holdTime(context);
  const refused = limited(gate);
  // Other work of the node may ask for connections before the turn does.
  while (mock.callCount() === 0) await setImmediate();
  await pass(2_000);
  assert.equal((await refused).status, 503);
  context.mock.restoreAll();
  context.mock.timers.reset();
  link.resume();
});

test('[Q34] when the network drops everything turns wait until a deadline, and later turns do not wait', {
  timeout: 3 * PATIENCE_MS,
}, async (context) => {
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  await using gate = await start({ store: link.url(direct) });
  assert.equal((await limited(gate)).status, 200);
  const waits = waitsForDatabase(context);
  link.stop();
  assert.deepEqual(
    (await Promise.all([limited(gate), limited(gate)])).map(({ status }) => status),
    [503, 503],
  );
  await outageOf(gate);
  const before = waits();
  for (let i = 0; i < 10; i++) assert.equal((await limited(gate)).status, 503);
  assert.equal(waits(), before, 'they wait for no connection');
  assert.equal((await free(gate)).status, 200);
  link.resume();
  await limitsAreBack(gate);
  await until('all reservations to be given back', async () => {
    const { limits } = (await gate.send('/v1/usage')).json;
    return limits[1].current_value === 0 ? true : undefined;
  });
});

test('[Q34] settlements wait for the database and are written once when it is back', async () => {
  await using gate = await start();
  gate.upstream.always('north', 'stall before headers');
  const running = Array.from({ length: 6 }, () => limited(gate));
  await gate.upstream.stalled('north', 6);
  await without(async () => {
    gate.upstream.always('north', 'steady');
    gate.upstream.release();
    for (const reply of running) assert.equal((await reply).status, 200);
    await until('six settlements to wait', () => (gate.settlements === 6 ? true : undefined));
    // Before that, a turn whose reservation has no answer in time leaves a settlement that withdraws it.
    await outageOf(gate);
    for (let i = 0; i < 3; i++) assert.equal((await limited(gate)).status, 503);
    assert.equal(gate.settlements, 6, 'a refused turn leaves none');
    const metrics = await gate.metrics();
    assert.match(metrics, /^poolgate_settlements_waiting 6$/m);
  });
  await until('them to be written', () => (gate.settlements === 0 ? true : undefined));
  const { limits, request_count } = (await gate.send('/v1/usage')).json;
  assert.deepEqual([limits[0].current_value, limits[1].current_value, request_count], [6, 0, 6]);
  assert.deepEqual(
    (await gate.usageRows()).map(({ key_id, requests }) => [key_id, requests]),
    [['ci', 6]],
  );
});

test('[Q34] a node keeps using the slots that it has, and never more', async () => {
  await using gate = await start({
    edit: (draft) => {
      draft.accounts[0].max_concurrent = 3;
    },
  });
  assert.equal((await free(gate)).status, 200);
  await without(async () => {
    gate.upstream.always('north', 'stall before headers');
    const running = Array.from({ length: 5 }, () => free(gate));
    await gate.upstream.stalled('north', 3);
    await until('two turns to wait', () => (gate.admission('stream').waiting === 2 ? true : undefined));
    gate.upstream.always('north', 'steady');
    gate.upstream.release();
    for (const reply of running) assert.equal((await reply).status, 200);
  });
});

test('[Q34] in a long outage turns are served, and the pins that no longer fit into memory are counted', async () => {
  await using gate = await start({
    edit: (draft) => {
      draft.limits.rows_waiting = 20;
    },
  });
  await without(async () => {
    const send = (cacheKey: string): Promise<Reply> => {
      const headers = { authorization: `Bearer ${FREE_KEY}` };
      return gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello', prompt_cache_key: cacheKey }, headers });
    };
    // An unhandled rejection of a lost pin would fail this test. In production it would end the process.
    for (let i = 0; i < 30; i++) assert.equal((await send(`key ${i}`)).status, 200);
    assert.ok(gate.count('pins_lost') > 0);
  });
  await limitsAreBack(gate);
});

test('[Q34] a reload takes effect as a whole, and an account whose login could not be read has it when the database is back', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-gone-'));
  context.after(() => rm(folder, { recursive: true }));
  // The static bearer is the first access token of the login, so the catalog of the account is already known.
  const login = { access_token: bearerOf('south'), refresh_token: 'rt-of-south' };
  await writeFile(join(folder, 'south.json'), JSON.stringify({ tokens: { refresh_token: 'rt-of-south' } }));
  await using gate = await startGateway({
    store: await freshDatabase(),
    upstream: { accounts: ['north', { id: 'south', oauth: login }], strict: false },
    config: (draft) => {
      draft.keys.push({ id: 'free', pool: 'team', secret_sha256: [hash('sha256', FREE_KEY, 'hex')] });
      draft.pools[0].assignments = [{ account: 'north' }];
    },
  });
  using socket = await connect(gate, NATIVE);
  await without(async () => {
    await gate.reconfigure((draft) => {
      const [, south] = draft.accounts;
      const [key] = draft.keys;
      key.status = 'revoked';
      draft.log = { level: 'error' };
      south.credential = { oauth: { file: join(folder, 'south.json'), token_url: `${south.base_url}/oauth/token`, client_id: 'c' } };
      draft.pools[0].assignments = [{ account: 'south' }];
    });
    await socket.closed;
    assert.equal((await limited(gate)).status, 401);
    const logged = gate.logged.length;
    assert.equal((await free(gate)).status, 502);
    assert.deepEqual(gate.logged.slice(logged), [], 'the log level too is the new one');
  });
  await until('the login', async () => ((await free(gate)).status === 200 ? true : undefined), PATIENCE_MS, LOOK_MS);
  assert.match(gate.upstream.turns('south').at(-1)?.headers.authorization ?? '', /^Bearer (?!bearer-of-south)/);
});

test('[Q34] with ready_without_store: false the node is not ready while the database is gone', async () => {
  await using gate = await start({
    edit: (draft) => {
      draft.node = { ...draft.node, ready_without_store: false };
    },
  });
  assert.equal(await readiness(gate), 200);
  await without(async () => {
    await until('the node to notice', async () => ((await readiness(gate)) === 503 ? true : undefined), PATIENCE_MS, LOOK_MS);
    assert.equal((await free(gate)).status, 200);
  });
  await until('the node to be ready again', async () => ((await readiness(gate)) === 200 ? true : undefined), PATIENCE_MS, LOOK_MS);
});
