// The health of accounts over nodes: a node applies cooldowns of other nodes, one node probes, and a late result has no effect.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProbeClaims } from '../../../proxy/accounts/health/probe-claims.ts';
import type { HeldLease } from '../../../proxy/nodes/exclusive-work.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { failure, healthOver, MemoryStore } from './support.ts';

/** Leases that a test grants, refuses and takes away. */
class Leases {
  answer: 'granted' | 'elsewhere' | 'unknown' = 'granted';
  isLost = false;
  readonly asked: string[] = [];
  released = 0;

  async acquire(name: string): Promise<HeldLease | 'elsewhere' | 'unknown'> {
    this.asked.push(name);
    if (this.answer !== 'granted') return this.answer;
    const leases = this;
    return {
      lease: { name, owner: 'one', token: 1, expires_at: 0 },
      get isLost() {
        return leases.isLost;
      },
      release: async () => {
        leases.released += 1;
      },
    };
  }
}

/** Two nodes over one store; a node reads the rows of the other with `refresh`. */
async function world() {
  const clock = new ManualClock();
  const store = new MemoryStore();
  const node = async () => {
    const leases = new Leases();
    const made = await healthOver(store, {}, clock, (states) => new ProbeClaims({ exclusive: leases, states, clock }));
    const refresh = () => made.states.refresh(['', 'model-a', 'model-b'].map((model) => ['north', model] as const));
    return { ...made, leases, refresh };
  };
  return { clock, store, one: await node(), other: await node() };
}

describe('[Q34] a cooldown of another node', () => {
  test('is taken over, with its streak, and ends here at the same time', async () => {
    const { clock, one, other } = await world();
    one.attempt('north', failure('connect'));
    await other.refresh();
    assert.equal(other.health.availability('north', 'model-a'), 'cooldown');
    assert.equal(other.health.cooldownEnd('north', 'model-a'), one.health.cooldownEnd('north', 'model-a'));
    await clock.advance(10_000);
    assert.equal(other.health.availability('north', 'model-a'), 'available');
  });

  test('is not ended by the result of an attempt that was running here when it opened', async () => {
    const { one, other } = await world();
    const running = other.health.begin('north', 'model-a');
    one.attempt('north', failure('rate', { retryAfterMs: 60_000 }));
    await other.refresh();
    other.health.answered(running);
    other.health.end(running, 'completed');
    assert.equal(other.health.availability('north', 'model-a'), 'cooldown');
  });

  test('that began at the same time as one of this node: the later end holds at both', async () => {
    const { one, other } = await world();
    one.attempt('north', failure('rate', { retryAfterMs: 60_000 }));
    other.attempt('north', failure('rate', { retryAfterMs: 10_000 }));
    const end = one.health.cooldownEnd('north', 'model-a');
    await one.refresh();
    await other.refresh();
    assert.deepEqual(
      [one, other].map(({ health }) => health.cooldownEnd('north', 'model-a')),
      [end, end],
    );
  });

  test('that an operator ended there ends here', async () => {
    const { one, other } = await world();
    one.attempt('north', failure('rate', { retryAfterMs: 60_000 }));
    await other.refresh();
    other.health.reset('north');
    await one.refresh();
    assert.equal(one.health.availability('north', 'model-a'), 'available');
  });

  test('leaves the failures that this node has counted below the threshold', async () => {
    const { one, other } = await world();
    other.attempt('north', failure('server'));
    other.attempt('north', failure('server'));
    one.attempt('north', failure('rate', { retryAfterMs: 1_000 }), 'model-b');
    await other.refresh();
    other.attempt('north', failure('server'));
    assert.equal(other.health.availability('north', 'model-a'), 'cooldown');
  });

  test('that has elapsed is not written, because another node may have opened the next one', async () => {
    const { clock, store, one, other } = await world();
    one.attempt('north', failure('rate', { retryAfterMs: 5_000 }));
    await other.refresh();
    await clock.advance(4_999);
    const writes = store.puts.length;
    await clock.advance(1);
    assert.equal(other.health.availability('north', 'model-a'), 'available');
    assert.equal(store.puts.length, writes);
  });
});

describe('[Q34] a probe', () => {
  const due = async () => {
    const nodes = await world();
    nodes.one.attempt('north', failure('connect'));
    await nodes.other.refresh();
    await nodes.clock.advance(10_000);
    return nodes;
  };

  test('is asked for by the first turn, and granted to one node', async () => {
    const { one, other } = await due();
    const ticket = one.health.begin('north', 'model-a');
    assert.equal(await ticket.claim?.granted, true);
    assert.deepEqual(one.leases.asked, ['probe/north']);
    other.leases.answer = 'elsewhere';
    const refused = other.health.begin('north', 'model-b');
    assert.equal(await refused.claim?.granted, false);
    other.health.end(refused, 'neutral');
    assert.equal(other.health.availability('north', 'model-a'), 'probing');
    assert.equal(other.health.routable('north', 'model-a'), true);
    one.health.answered(ticket);
    one.health.end(ticket, 'completed');
    await other.refresh();
    assert.equal(other.health.availability('north', 'model-a'), 'available');
    assert.equal(other.health.begin('north', 'model-a').claim, undefined);
    await new Promise(setImmediate);
    assert.equal(one.leases.released, 1);
  });

  test('of another node that brings no result is asked for again after 5 s', async () => {
    const { clock, other } = await due();
    other.leases.answer = 'elsewhere';
    await other.health.begin('north', 'model-a').claim?.granted;
    assert.equal(other.health.availability('north', 'model-a'), 'probing');
    await clock.advance(5_000);
    other.leases.answer = 'granted';
    assert.equal(await other.health.begin('north', 'model-a').claim?.granted, true);
  });

  test('is not needed where another node has probed and the feed has not reported it yet', async () => {
    const { one, other } = await due();
    const probe = one.health.begin('north', 'model-a');
    await probe.claim?.granted;
    one.health.end(probe, 'completed');
    const ticket = other.health.begin('north', 'model-a');
    assert.equal(await ticket.claim?.granted, true);
    assert.equal(ticket.probes, undefined, 'it is an ordinary turn');
    assert.equal(other.leases.released, 1);
  });

  test('is not made where another node’s probe failed and the feed has not reported it yet', async () => {
    const { one, other } = await due();
    const probe = one.health.begin('north', 'model-a');
    await probe.claim?.granted;
    one.health.end(probe, failure('connect'));
    assert.equal(await other.health.begin('north', 'model-a').claim?.granted, false);
    assert.equal(other.health.cooldownEnd('north', 'model-a'), one.health.cooldownEnd('north', 'model-a'));
  });

  test('that was paused past its lease has no effect', async () => {
    const { one, other } = await due();
    const late = one.health.begin('north', 'model-a');
    await late.claim?.granted;
    one.leases.isLost = true;
    const probe = other.health.begin('north', 'model-a');
    await probe.claim?.granted;
    other.health.end(probe, 'completed');
    await one.refresh();
    one.health.end(late, failure('connect'));
    await new Promise(setImmediate);
    for (const { health } of [one, other]) assert.equal(health.availability('north', 'model-a'), 'available');
  });

  test('is made without a lease where the store does not answer', async () => {
    const { one } = await due();
    one.leases.answer = 'unknown';
    const ticket = one.health.begin('north', 'model-a');
    assert.equal(await ticket.claim?.granted, true);
    assert.equal(ticket.probes?.length, 1);
    one.health.end(ticket, 'completed');
    assert.equal(one.health.availability('north', 'model-a'), 'available');
  });
});
