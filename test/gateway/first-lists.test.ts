// The model lists of a gateway at its first start: no catalog is stored, and the accounts are still being read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Log } from '../../proxy/base/process/log.ts';
import { Gateway } from '../../proxy/gateway/gateway.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { DIGEST, type Draft, KEY, loadedFrom } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/rehearsal.ts';

const draftOf = (upstream: Upstream): Draft => ({
  listen: { host: '127.0.0.1', port: 0 },
  admin: { host: '127.0.0.1', port: 0 },
  store: 'sqlite::memory:',
  timeouts: { drain_ms: 100 },
  accounts: [{ id: 'north', base_url: upstream.urlOf('north'), credential: { bearer: { env: 'BEARER_NORTH' } } }],
  pools: [{ id: 'team', assignments: [{ account: 'north' }] }],
  keys: [{ id: 'ci', pool: 'team', secret_sha256: [DIGEST] }],
});

const LISTS = [
  ['/v1/models', 'data'],
  ['/backend-api/agent/models', 'models'],
] as const;

for (const [path, member] of LISTS) {
  test(`${path} waits for the first round of catalogs, and then for no more than 4 s`, async () => {
    await using upstream = await startUpstream({ accounts: ['north'] });
    upstream.nextOn('north', '/backend-api/agent/models', 'stall before headers');
    const clock = new ManualClock();
    const gateway = await Gateway.open({ loaded: await loadedFrom(draftOf(upstream)), clock, log: new Log('error', () => undefined) });
    const { main, admin } = await gateway.listen();
    const list = async (): Promise<unknown[]> => {
      const reply = await fetch(`http://127.0.0.1:${main?.port}${path}`, { headers: { authorization: `Bearer ${KEY}` } });
      assert.equal(reply.status, 200);
      return ((await reply.json()) as Record<string, unknown[]>)[member] as unknown[];
    };
    const ready = async (): Promise<number> => (await fetch(`http://127.0.0.1:${admin?.port}/readyz`)).status;
    await upstream.stalled('north');
    assert.equal(await ready(), 503);

    const timers = clock.pending;
    const impatient = list();
    while (clock.pending === timers) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(4_000);
    assert.deepEqual(await impatient, []);

    const patient = list();
    while (clock.pending === timers) await new Promise((resolve) => setImmediate(resolve));
    upstream.release();
    assert.ok((await patient).length > 0);
    assert.equal(await ready(), 200);
    await gateway.close();
  });
}
