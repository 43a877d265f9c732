// The accounts of which nodes ask for slots if a turn has more accounts than it asks for: different nodes ask for different ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { CapacityShares } from '../../../proxy/nodes/capacity-shares.ts';
import { configOf } from '../../simulation/gateway-node.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';

const ACCOUNTS = Array.from({ length: 1_000 }, (_, i) => `account-${i}`);

/** The accounts for which the first waiting turns of a node ask, each of them once. */
async function askedBy(token: number, turns: number): Promise<readonly string[]> {
  const asked: string[] = [];
  const shares = new CapacityShares({
    slots: {
      claim: async (_node, claims) => {
        for (const { account, wanted } of claims) if (wanted > 0) asked.push(account);
        return claims.map(({ account }) => ({ account, held: 0, allowed: 0, contended: false }));
      },
      short: async () => [],
    },
    membership: { token, nodes: [], standing: () => 'member', lost: async () => undefined, listen: () => undefined },
    clock: new ManualClock(),
    counters: new Counters(),
  });
  shares.configure(ACCOUNTS.map((id) => configOf(id, 8)));
  await shares.start();
  for (let i = 0; i < turns; i++) {
    const undo = shares.wanted(ACCOUNTS);
    await shares.start();
    undo();
  }
  return asked;
}

test('[Q34] turns of different nodes that wait for any of many accounts ask for different ones', async () => {
  const asked = (await Promise.all(Array.from({ length: 10 }, (_, token) => askedBy(token, 2)))).flat();
  assert.ok(asked.length >= 500, `${asked.length} accounts were asked for`);
  assert.ok(new Set(asked).size >= asked.length / 2, `only ${new Set(asked).size} of them differ`);
});
