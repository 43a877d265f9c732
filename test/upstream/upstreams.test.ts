// The connections to an account under reloads: replaced ones serve the leases that use them, and end with the last lease.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Heartbeat } from '../../proxy/base/process/heartbeat.ts';
import type { LoadedConfig } from '../../proxy/config/config.ts';
import { call } from '../../proxy/upstream/call.ts';
import { type Upstream, Upstreams } from '../../proxy/upstream/upstreams.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';

const asks = async ({ carrier }: Upstream): Promise<number> =>
  (await call(carrier, { method: 'GET', path: '/', headers: {}, body: null }, { bytes: 1_000, ms: 5_000 })).status;

test('a reload that replaces the connections of an account keeps the former ones until their last lease ends', async (context) => {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const upstreams = new Upstreams(new Heartbeat(new ManualClock()));
  context.after(async () => {
    await upstreams.destroy();
    server.close();
  });
  const configure = (upstream_idle_ms: number): Promise<void> => {
    const timeouts = { upstream_connect_ms: 5_000, upstream_first_byte_ms: 5_000, upstream_idle_ms };
    const accounts = [{ id: 'north', base_url: `http://127.0.0.1:${port}` }];
    const loaded = { config: { timeouts, accounts }, connections: new Map() } as unknown as LoadedConfig;
    return upstreams.configure(loaded, ({ base_url }) => base_url);
  };
  await configure(1_000);
  const former = upstreams.of('north') as Upstream;
  for (let leases = 0; leases < 2; leases++) former.lease();
  let isRetired = false;
  const retired = configure(2_000).then(() => {
    isRetired = true;
  });
  assert.notEqual(upstreams.of('north'), former);
  assert.equal(await asks(former), 200);
  former.release();
  assert.equal(await asks(former), 200);
  assert.equal(isRetired, false);
  former.release();
  await retired;
  await assert.rejects(asks(former));
  assert.equal(await asks(upstreams.of('north') as Upstream), 200);
});
