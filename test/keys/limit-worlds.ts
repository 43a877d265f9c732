// The two places where limits of keys are counted (one node, several nodes), for tests: each with a manual clock and a key `ci`.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { Ledger } from '../../proxy/keys/ledger.ts';
import type { Estimate, LimitCounts, LimitState } from '../../proxy/keys/limits/key-limits.ts';
import { LocalLimits } from '../../proxy/keys/limits/local-limits.ts';
import { SharedLimits } from '../../proxy/keys/limits/shared-limits.ts';
import { Settlements } from '../../proxy/keys/settlements.ts';
import { type Amounts, noTotals, type Totals } from '../../proxy/keys/usage-totals.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { KeyLimits as Configured } from '../../proxy/turn/settings.ts';
import { openStore } from '../../store/store.ts';
import { joinedAs } from '../store/samples.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';

export interface Refused {
  readonly message: string;
  readonly type: string;
  readonly resets_at: number | undefined;
  readonly retry: string | undefined;
  readonly final: boolean;
}

/** A node, and how it reads the rows that others have written. */
interface Node {
  readonly limits: LimitCounts;
  readonly ledger: Ledger;
  written(): Promise<void>;
}

/** A turn that has a reservation. */
export interface Running {
  readonly amounts: Amounts;
  /** @param used undefined for a turn that was never sent to an account */
  settle(used?: Partial<Totals>): Promise<void>;
}

/** @param expected the expected usage; by default the least usage */
export function estimateOf(tokens: number, costNanos: number, expected = { tokens, costNanos }): Estimate {
  return { least: { tokens, costNanos }, expected };
}

/** Reserves each turn at the next node. */
class World {
  readonly clock: ManualClock;
  readonly #nodes: readonly Node[];
  #calls = 0;

  constructor(clock: ManualClock, nodes: readonly Node[]) {
    this.clock = clock;
    this.#nodes = nodes;
  }

  reserve(limits: Configured, tokens = 0, costNanos = 0): Promise<Running> {
    return this.reserveEstimated(limits, () => estimateOf(tokens, costNanos));
  }

  async reserveEstimated(limits: Configured, estimate: () => Estimate): Promise<Running> {
    const node = this.#next();
    const reserved = await node.limits.reserve({ id: 'ci', limits }, estimate);
    assert.ok(!(reserved instanceof Refusal), `the turn was refused: ${reserved instanceof Refusal ? reserved.message : ''}`);
    return {
      amounts: reserved.amounts,
      settle: (used) => {
        reserved.settle(used && { pool: 'team', totals: { ...noTotals(), requests: 1, ...used } });
        return node.written();
      },
    };
  }

  async refused(limits: Configured, tokens = 0, costNanos = 0): Promise<Refused> {
    const refusal = await this.#next().limits.reserve({ id: 'ci', limits }, () => estimateOf(tokens, costNanos));
    assert.ok(refusal instanceof Refusal, 'the turn was not refused');
    const { headers, error } = refusal;
    const { message, type, resets_at } = error;
    return { message, type, resets_at, retry: headers['retry-after'], final: headers['x-should-retry'] === 'false' };
  }

  /** Settles a turn without limits. */
  async settle(totals: Partial<Totals>): Promise<void> {
    const node = this.#next();
    node.ledger.settle('ci', 'team', { ...noTotals(), requests: 1, ...totals });
    await node.written();
  }

  async states(limits: Configured): Promise<readonly LimitState[]> {
    return this.#next().limits.states({ id: 'ci', limits });
  }

  async current(limits: Configured): Promise<readonly number[]> {
    return (await this.states(limits)).map(({ current_value }) => current_value);
  }

  #next(): Node {
    this.#calls += 1;
    return this.#nodes[this.#calls % this.#nodes.length] as Node;
  }
}

function oneNode(): World {
  const clock = new ManualClock();
  const ledger = new Ledger({ add: () => undefined, load: async () => [] }, clock);
  return new World(clock, [{ ledger, limits: new LocalLimits(ledger, clock), written: async () => undefined }]);
}

async function twoNodes(context: TestContext): Promise<World> {
  const clock = new ManualClock();
  const url = await freshDatabase();
  const nodes = [];
  for (const id of ['a', 'b']) {
    const store = await openStore(url, { clock: () => clock.now(), writer: id });
    context.after(() => store.close());
    const ledger = new Ledger(store.usage, clock);
    const settlements = new Settlements(store.limits, clock);
    const token = await joinedAs(store, id, Number.MAX_SAFE_INTEGER / 4);
    const node = { token, lost: async () => undefined };
    const limits = new SharedLimits({ limits: store.limits, settlements, node, ledger, clock, counters: new Counters() });
    const written = async (): Promise<void> => {
      await settlements.close(5_000);
      await store.flush();
    };
    nodes.push({ ledger, limits, written });
  }
  return new World(clock, nodes);
}

export const WORLDS: Readonly<Record<string, (context: TestContext) => World | Promise<World>>> = {
  'one node': oneNode,
  'two nodes on PostgreSQL': twoNodes,
};
