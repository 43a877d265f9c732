// The simulation: one day of a Pool with every strategy, compared with an oracle that knows the whole day in advance (`npm run bench --
// simulate`).
import type { StrategyName } from '../../proxy/turn/settings.ts';
import { type Day, type DayOptions, dayOf, type SessionKind } from './day.ts';
import { type CacheUse, type DayResult, runDay } from './day-run.ts';
import { type FirstTurns, gatewayRouter, oracleRouter } from './router.ts';

/** How the turns of a day are placed. */
export interface Placement {
  readonly strategy: StrategyName;
  readonly firstTurns?: FirstTurns;
}

const STRATEGIES: readonly Placement[] = [
  { strategy: 'headroom' },
  { strategy: 'least_loaded' },
  { strategy: 'rotation' },
  { strategy: 'fill_first' },
  { strategy: 'soonest_reset' },
  { strategy: 'fastest' },
];
/** The reference: conversations are placed by the hash of their key, and are not remembered if they have no key. */
const BY_HASH: Placement = { strategy: 'headroom', firstTurns: 'hash' };

/** Sessions in waves over accounts with exhausted quota and outages; supply is a quarter more than demand. */
export const USUAL: DayOptions = { seed: 3, accounts: 24, sessions: 4_000, hours: 24, supply: 1.25 };
/** Supply equals demand, so quota that is lost at a reset is missing in the next wave. */
export const SCARCE: DayOptions = { ...USUAL, supply: 1 };

export interface Simulated {
  readonly oracle: DayResult;
  readonly placements: readonly DayResult[];
}

const runPlaced = (day: Day, { strategy, firstTurns }: Placement): Promise<DayResult> =>
  runDay(day, (accounts, clock) => gatewayRouter(strategy, accounts, clock, firstTurns));

export async function simulate(options: Partial<DayOptions> = {}, placements = STRATEGIES): Promise<Simulated> {
  const day = dayOf({ ...USUAL, ...options });
  const results: DayResult[] = [];
  for (const placement of placements) results.push(await runPlaced(day, placement));
  return { oracle: await runDay(day, oracleRouter), placements: results };
}

const HOUR = 3_600_000;
const QUOTA = 10_000;

/** Forty new sessions of one kind in an hour, over an account with 95 % of its quota used and one with 5 %. */
export function besideNearlySpent(kind: SessionKind, placement: Placement): Promise<DayResult> {
  const from = Date.UTC(2030, 0, 1);
  const accountOf = (id: string, usedShare: number): Day['accounts'][number] => ({
    id,
    maxConcurrent: 32,
    quota: QUOTA,
    usedBefore: usedShare * QUOTA,
    windowMs: 5 * HOUR,
    firstResetAt: from + 4 * HOUR,
    outages: [],
    loggedOutAt: Number.POSITIVE_INFINITY,
    firstEvents: { before: 900, changeAt: from, after: 900 },
  });
  const turns = Array.from({ length: 6 }, () => ({ thinkMs: 20_000, takesMs: 10_000, cost: 1 }));
  return runPlaced(
    {
      from,
      to: from + 2 * HOUR,
      accounts: [accountOf(NEARLY_SPENT, 0.95), accountOf('plenty', 0.05)],
      sessions: Array.from({ length: 40 }, (_, i) => ({ id: `session-${i}`, kind, at: from + (i * HOUR) / 40, turns })),
    },
    placement,
  );
}

export const NEARLY_SPENT = 'nearly-spent';

const COLUMNS: readonly (readonly [title: string, of: (result: DayResult, oracle: DayResult) => string])[] = [
  ['placed by', ({ name }) => name],
  ['turns', ({ turns }) => String(turns)],
  ['refused', ({ refused, turns }) => `${refused} (${percent(refused / turns)})`],
  ['over the oracle', ({ refused, turns }, oracle) => percent((refused - oracle.refused) / turns)],
  ['cut', ({ cut }) => String(cut)],
  ['retries', ({ retries }) => String(retries)],
  ['spread', ({ spread }) => spread.toFixed(2)],
  ['cache hits kept: by header', ({ cached }) => keptOf(cached.pinned)],
  ['by key', ({ cached }) => keptOf(cached.keyed)],
  ['unnamed', ({ cached }) => keptOf(cached.unnamed)],
  ['first event', ({ firstEventMs }) => `${Math.round(firstEventMs)} ms`],
  ['moves a session', ({ moves, sessions }) => (moves / sessions).toFixed(2)],
  ['unforced', ({ unforced }) => String(unforced)],
];

/** The tables of one node as text, for `npm run bench -- simulate`. */
export async function singleNode(): Promise<string> {
  const about = ({ sessions, accounts, hours, supply }: DayOptions): string =>
    `${sessions} sessions over ${accounts} accounts in ${hours} hours; supply is ${supply} of demand`;
  const parts: string[] = [];
  for (const day of [USUAL, SCARCE]) parts.push(`${about(day)}\n\n${tableOf(await simulate(day, [BY_HASH, ...STRATEGIES]))}`);
  return [...parts, `40 new sessions over an account at 95 % of its quota and one at 5 %\n\n${await nearlySpentTable()}`].join('\n\n');
}

/** The result as text, with one line for each placement. */
export function tableOf({ oracle, placements }: Simulated): string {
  const rows = [oracle, ...placements].map((result) => COLUMNS.map(([, of]) => of(result, oracle)));
  return textTable([COLUMNS.map(([title]) => title), ...rows]);
}

async function nearlySpentTable(): Promise<string> {
  const rows: string[][] = [];
  for (const placement of [BY_HASH, STRATEGIES[0] as Placement]) {
    for (const kind of ['keyed', 'unnamed'] as const) {
      const { name, firstTurns, cached } = await besideNearlySpent(kind, placement);
      rows.push([name, kind, String(firstTurns.get(NEARLY_SPENT) ?? 0), keptOf(cached[kind])]);
    }
  }
  return textTable([['placed by', 'sessions', 'at 95 %', 'cache hits kept'], ...rows]);
}

export function textTable(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  return lines
    .map((line) => line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '))
    .join('\n');
}

const keptOf = ({ warm, hits }: CacheUse): string => percent(hits / warm);

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
