// Several nodes with stale views: the same dense day with an oracle, with one gateway, and with fifty gateways that see each other's events
// late.
import type { StrategyName } from '../../proxy/turn/settings.ts';
import { type DayOptions, dayOf } from './day.ts';
import { type DayResult, runDay } from './day-run.ts';
import { nodesRouter } from './nodes-router.ts';
import { gatewayRouter, oracleRouter } from './router.ts';
import { percent } from './simulation.ts';

export const NODES = 50;
/**
 * The delays in seconds after which a node sees an event at another one. With the change feed the delay is milliseconds, with polling ten
 * seconds.
 */
const STALENESS_S = [0, 0.1, 1, 10, 60] as const;
const STRATEGIES: readonly StrategyName[] = ['headroom', 'least_loaded', 'rotation', 'fill_first', 'soonest_reset', 'fastest'];

/**
 * A day in two and a half minutes in which quotas are reset every two minutes, so a second of staleness has the effect of minutes on a
 * usual day. An account has fewer slots than there are nodes.
 */
export const DENSE: DayOptions = {
  seed: 3,
  accounts: 1_000,
  sessions: 2_500,
  hours: 1 / 24,
  supply: 1.25,
  windowMs: 120_000,
  maxConcurrent: 8,
};

export interface StaleViews {
  readonly oracle: DayResult;
  /** The result of one node, which sees everything at once. */
  readonly alone: DayResult;
  /** The results by staleness in seconds. */
  readonly nodes: ReadonlyMap<number, DayResult>;
}

export async function staleViews(
  strategy: StrategyName,
  staleness: readonly number[] = STALENESS_S,
  options: Partial<DayOptions> = {},
): Promise<StaleViews> {
  const day = dayOf({ ...DENSE, ...options });
  const nodes = new Map<number, DayResult>();
  for (const seconds of staleness) {
    const setting = { strategy, nodes: NODES, stalenessMs: seconds * 1_000 };
    nodes.set(seconds, await runDay(day, (accounts, clock) => nodesRouter(setting, accounts, clock)));
  }
  return {
    oracle: await runDay(day, oracleRouter),
    alone: await runDay(day, (accounts, clock) => gatewayRouter(strategy, accounts, clock)),
    nodes,
  };
}

/** The share of all turns that is refused in addition to those of the oracle. */
export const excess = (result: DayResult, oracle: DayResult): number => result.refused / result.turns - oracle.refused / oracle.turns;

/** The share of turns that went to an account with their prompt cached, of those that could. */
const cacheKept = ({ cached: { pinned, keyed, unnamed } }: DayResult): number => {
  const all = [pinned, keyed, unnamed];
  return all.reduce((sum, { hits }) => sum + hits, 0) / all.reduce((sum, { warm }) => sum + warm, 0);
};

const cellOf = (result: DayResult, oracle: DayResult): string =>
  `${percent(excess(result, oracle))}, ${(result.retries / result.turns).toFixed(2)}, ${percent(cacheKept(result))}`;

/** The table line by line as Markdown, because each strategy takes a minute. */
export async function* severalNodes(): AsyncGenerator<string> {
  yield `\n${DENSE.sessions} sessions over ${DENSE.accounts} accounts in ${DENSE.hours * 60} minutes, ${NODES} nodes`;
  yield 'turns refused beyond the oracle, retries a turn, cache hits kept; by strategy and staleness\n';
  yield `| | one node | ${STALENESS_S.map((seconds) => `${NODES} nodes, ${seconds} s`).join(' | ')} |`;
  yield `| --- | --- | ${STALENESS_S.map(() => '---').join(' | ')} |`;
  for (const strategy of STRATEGIES) {
    const { oracle, alone, nodes } = await staleViews(strategy);
    yield `| ${strategy} | ${[alone, ...nodes.values()].map((result) => cellOf(result, oracle)).join(' | ')} |`;
  }
}
