// `max_concurrent` over three nodes: the provider counts its turns, and never has more than the setting allows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { ALL_CASES } from '../../support/sample.ts';
import { until } from '../../support/until.ts';
import { PausableClock } from '../pausable-clock.ts';
import { type Nodes, threeNodes } from '../three-nodes.ts';
import { CountingProvider } from './counting-provider.ts';

/** Starts a turn; it also resolves if its gateway stops first because the test has failed. */
const turn = (gate: TestGateway, signal?: AbortSignal): Promise<{ readonly status: number }> =>
  gate.send('/backend-api/agent/responses', { body: turnBody('hi'), ...(signal ? { signal } : {}) }).catch(() => ({ status: 0 }));

const LEASE_MS = 30_000;

interface Stage extends AsyncDisposable {
  readonly provider: CountingProvider;
  readonly nodes: Nodes;
}

async function stage(max_concurrent: number, clocks: readonly PausableClock[] = []): Promise<Stage> {
  const provider = await CountingProvider.start();
  const nodes = await threeNodes({
    clocks,
    config: (draft) => {
      provider.rawUpstream.as('north')(draft);
      draft.accounts[0].max_concurrent = max_concurrent;
      draft.admission = { stream: { running: 1000, waiting: 1000, wait_ms: 60_000 } };
    },
  });
  return {
    provider,
    nodes,
    async [Symbol.asyncDispose]() {
      provider.end();
      await nodes[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const evenParts = (nodes: Nodes, slots: number): Promise<true> =>
  until('even parts', () => (nodes.all.every((gate) => gate.slots('north') === slots) ? true : undefined));

for (const most of ALL_CASES ? [1, 2, 5, 12] : [1, 12]) {
  test(`[Q34] of a max_concurrent of ${most} the provider never has more, and three busy nodes use all of it`, async () => {
    await using here = await stage(most);
    const { provider, nodes } = here;
    const running = Array.from({ length: 90 }, (_, i) => turn(nodes.all[i % 3] as TestGateway));
    await provider.has(most);
    provider.lasts = (n) => (n * 7) % 40;
    provider.end();
    const replies = await Promise.all(running);
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    assert.equal(provider.peak, most);
    assert.equal(provider.turns, 90);
  });
}

test('[Q34] the nodes have even shares as soon as they have started, and turns that fit into them make no claim', async () => {
  await using here = await stage(12);
  const { provider, nodes } = here;
  provider.lasts = () => 1;
  await evenParts(nodes, 4);
  const before = nodes.all.map((gate) => gate.count('slot_claims'));
  for (let i = 0; i < 30; i++) await turn(nodes.all[i % 3] as TestGateway);
  const claims = nodes.all.map((gate, i) => gate.count('slot_claims') - (before[i] as number));
  // Each node had ten turns; renewals, and the last changes of shares after the start, may add some requests.
  assert.ok(
    claims.every((count) => count <= 3),
    `${claims} claims of 30 turns`,
  );
});

test('[Q34] slots of an idle node go to a busy one within about a second', async () => {
  const clocks = [new PausableClock(), new PausableClock(), new PausableClock()];
  await using here = await stage(8, clocks);
  const { provider, nodes } = here;
  const [, , c] = nodes.all;
  await evenParts(nodes, 2);
  // Notices bring them: the clocks do not advance, so no node asks again after its second.
  for (const clock of clocks) clock.pause();
  const running = Array.from({ length: 8 }, () => turn(c));
  await provider.has(8);
  for (const clock of clocks) clock.resume();
  provider.end();
  for (const reply of running) assert.equal((await reply).status, 200);
});

test('[Q34] two busy nodes end up with even shares of the slots', async () => {
  await using here = await stage(6);
  const { provider, nodes } = here;
  const [a, b] = nodes.all;
  let isEven = false;
  /** Runs one turn after the other at a node until the shares are even. */
  const keepBusy = async (gate: TestGateway): Promise<void> => {
    do assert.equal((await turn(gate)).status, 200);
    while (!isEven);
  };
  const busy = Array.from({ length: 12 }, () => keepBusy(a));
  await provider.has(6);
  assert.equal(a.account('north').inFlight, 6);
  provider.lasts = () => 50;
  busy.push(...Array.from({ length: 12 }, () => keepBusy(b)));
  provider.end();
  await until('an even share', () => (a.account('north').inFlight === 3 && b.account('north').inFlight === 3 ? true : undefined));
  isEven = true;
  await Promise.all(busy);
  assert.equal(provider.peak, 6);
});

test('[Q34] the slots of a killed node are free 30 s later, not before', async () => {
  const clocks = [new PausableClock(), new PausableClock(), new PausableClock()];
  await using here = await stage(4, clocks);
  const { provider, nodes } = here;
  const [a, b, c] = nodes.all;
  const death = new AbortController();
  const lost = Array.from({ length: 4 }, () => turn(a, death.signal));
  await provider.has(4);
  a.kill();
  death.abort();
  await provider.has(0);
  const running = turn(b);
  clocks[1]?.setAhead(LEASE_MS - 2_000);
  await until('a claim in vain', () => (b.count('slot_claims') > 2 ? true : undefined));
  assert.deepEqual([provider.running, b.slots('north')], [0, 0]);
  for (const clock of clocks.slice(1)) clock.setAhead(LEASE_MS);
  await provider.has(1);
  const others = Array.from({ length: 5 }, (_, i) => turn(i % 2 ? b : c));
  await provider.has(4);
  provider.lasts = () => 1;
  provider.end();
  for (const reply of [running, ...others]) assert.equal((await reply).status, 200);
  assert.equal(provider.peak, 4);
  await Promise.all(lost);
});

test('[Q34] a node that was paused past its lease begins no turn with the slots that it had', async () => {
  const clocks = [new PausableClock(), new PausableClock(), new PausableClock()];
  await using here = await stage(4, clocks);
  const { provider, nodes } = here;
  const [a, b] = nodes.all;
  const first = [turn(a), turn(a)];
  await provider.has(2);
  clocks[0]?.pause();
  for (const clock of clocks.slice(1)) clock.setAhead(LEASE_MS + 1_000);
  const second = Array.from({ length: 4 }, () => turn(b));
  // Four turns are at the node that now has the slots, two at the paused one, which continue.
  await provider.has(6);
  clocks[0]?.setAhead(LEASE_MS + 1_000);
  const late = turn(a);
  clocks[0]?.resume();
  await until('the new lease', () => (a.count('node_leases_lost') === 1 ? true : undefined));
  await until('the claim under it', () => (a.slots('north') === 2 ? true : undefined));
  assert.equal(provider.running, 6);
  provider.end(2);
  await provider.has(4);
  for (const reply of first) assert.equal((await reply).status, 200);
  provider.end(1);
  await until('the late turn', () => (provider.turns === 7 ? true : undefined));
  assert.ok(provider.running <= 4);
  provider.lasts = () => 1;
  provider.end();
  for (const reply of [...second, late]) assert.equal((await reply).status, 200);
});
