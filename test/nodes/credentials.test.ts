// One login and three nodes: one node refreshes, the others use its tokens, and no file of another node restores a former login.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { systemClock } from '../../proxy/base/time/clock.ts';
import { ShiftedClock } from '../support/clocks/shifted-clock.ts';
import type { TestGateway } from '../support/gateway.ts';
import { converged, type Nodes, startNodes, turn, went } from '../support/nodes/convergence.ts';

const TOKENS = '/oauth/token';
const LIFE_S = 3600;
const FIRST = { access_token: 'at-from-the-file', refresh_token: 'rt-from-the-file' };

suite('credentials over nodes', () => {
  let folder: string;
  let clock: ShiftedClock;
  let nodes: Nodes;

  const login = (number: number, tokens: object): Promise<void> =>
    writeFile(join(folder, `north-${number}.json`), JSON.stringify({ tokens }));
  const refreshes = (): number => nodes.all[0]?.upstream.requests('north').filter(({ path }) => path === TOKENS).length ?? 0;
  const bearers = (): readonly (string | undefined)[] =>
    nodes.all[0]?.upstream.turns('north').map(({ headers }) => headers.authorization) ?? [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'poolgate-nodes-'));
    await Promise.all([1, 2, 3].map((number) => login(number, FIRST)));
    clock = new ShiftedClock();
    nodes = await startNodes(3, {
      clock,
      upstream: {
        accounts: [{ id: 'north', oauth: { ...FIRST, expires_in: LIFE_S } }, 'south'],
        clock: { now: () => clock.now(), wallTime: () => clock.now(), after: systemClock.after },
      },
      file: (draft, number) => {
        const [north] = draft.accounts;
        north.credential = {
          oauth: { file: join(folder, `north-${number}.json`), token_url: `${north.base_url}${TOKENS}`, client_id: 'c' },
        };
      },
    });
    nodes.all[0]?.upstream.clear();
  });
  afterEach(async () => {
    await nodes[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test('[Q34] 300 turns at once on a refused token over three nodes: exactly one refresh', async () => {
    const [one] = nodes.all as [TestGateway];
    one.upstream.loginOf('north').expire();
    await Promise.all(Array.from({ length: 300 }, (_, n) => turn(nodes.all[n % 3] as TestGateway)));
    assert.equal(refreshes(), 1);
    for (const node of nodes.all) assert.equal(node.account('north').status, 'active');
  });

  test('[Q34] 300 turns at once on an expired token over three nodes: exactly one refresh', async () => {
    const [one] = nodes.all as [TestGateway];
    one.upstream.loginOf('north').expire();
    await turn(one);
    assert.equal(refreshes(), 1);
    await converged('the new token', async () => {
      one.upstream.clear();
      for (const node of nodes.all) await turn(node);
      return new Set(bearers()).size === 1 || undefined;
    });
    clock.setAhead((LIFE_S + 1) * 1000);
    one.upstream.clear();
    await Promise.all(Array.from({ length: 300 }, (_, n) => turn(nodes.all[n % 3] as TestGateway)));
    assert.equal(refreshes(), 1);
    for (const node of nodes.all) assert.equal(node.account('north').status, 'active');
  });

  test('[Q34] the tokens of one node are used by the others without a refused attempt', async () => {
    const [one, other] = nodes.all as [TestGateway, TestGateway];
    one.upstream.loginOf('north').expire();
    await turn(one);
    await one.flush();
    await other.poll();
    one.upstream.clear();
    await converged('the new token', async () => {
      one.upstream.clear();
      await turn(other);
      return bearers().length === 1 || undefined;
    });
    assert.equal(refreshes(), 0);
  });

  test('[Q34] a new login at one node is used by all, and the old files of the others do not bring the old one back', async () => {
    const [one, other, third] = nodes.all as [TestGateway, TestGateway, TestGateway];
    one.upstream.loginOf('north').revoke();
    await turn(one);
    assert.equal(one.account('north').status, 'reauth_required');
    await converged('the refusal', () => third.account('north').status === 'reauth_required' || undefined);
    one.upstream.loginOf('north').renew('rt-second');
    await login(1, { refresh_token: 'rt-second' });
    await one.refresh();
    for (const node of nodes.all) {
      await converged('the end of the refusal', () => node.account('north').status === 'active' || undefined);
    }
    one.upstream.clear();
    for (const node of [other, third]) {
      await node.refresh();
      await turn(node);
    }
    assert.deepEqual(went(one), ['north', 'north']);
    const restarted = await third.twin({ clock });
    await turn(restarted);
    assert.deepEqual(went(one), ['north']);
    await restarted.stop();
    assert.equal(one.account('north').status, 'active');
  });
});
