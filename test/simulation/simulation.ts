// The simulation: one day of a Pool under every strategy, compared with an oracle that knows the future (`npm run bench -- simulate`).
import type { Strategy } from '../../proxy/turn/settings.ts';
import { type DayOptions, dayOf } from './day.ts';
import { type DayResult, runDay } from './day-run.ts';
import { gatewayRouter, oracleRouter } from './router.ts';

const STRATEGIES: readonly Strategy[] = ['headroom', 'least_loaded', 'rotation', 'fill_first', 'soonest_reset'];

/** Sessions in waves over accounts with exhaustion and outages; supply is a quarter more than demand. */
export const USUAL: DayOptions = { seed: 3, accounts: 24, sessions: 4_000, hours: 24, supply: 1.25 };
/** Supply equals demand: quota that is lost at a reset is missing in the next wave. */
export const SCARCE: DayOptions = { ...USUAL, supply: 1 };

export interface Simulated {
  readonly oracle: DayResult;
  readonly strategies: readonly DayResult[];
}

export async function simulate(options: Partial<DayOptions> = {}, strategies = STRATEGIES): Promise<Simulated> {
  const day = dayOf({ ...USUAL, ...options });
  const oracle = await runDay(day, oracleRouter);
  const results: DayResult[] = [];
  for (const strategy of strategies) results.push(await runDay(day, (accounts, clock) => gatewayRouter(strategy, accounts, clock)));
  return { oracle, strategies: results };
}

const COLUMNS: readonly (readonly [title: string, of: (result: DayResult, oracle: DayResult) => string])[] = [
  ['placed by', ({ name }) => name],
  ['turns', ({ turns }) => String(turns)],
  ['refused', ({ refused, turns }) => `${refused} (${percent(refused / turns)})`],
  ['over the oracle', ({ refused, turns }, oracle) => percent((refused - oracle.refused) / turns)],
  ['cut', ({ cut }) => String(cut)],
  ['retries', ({ retries }) => String(retries)],
  ['spread', ({ spread }) => spread.toFixed(2)],
  ['cache hits kept', ({ hits, warm }) => percent(hits / warm)],
  ['moves a session', ({ moves, sessions }) => (moves / sessions).toFixed(2)],
  ['unforced', ({ unforced }) => String(unforced)],
];

/** Both days as text, for `npm run bench -- simulate`. */
export async function simulation(): Promise<string> {
  const about = ({ sessions, accounts, hours, supply }: DayOptions): string =>
    `${sessions} sessions over ${accounts} accounts in ${hours} hours; supply is ${supply} of demand`;
  const parts: string[] = [];
  for (const day of [USUAL, SCARCE]) parts.push(`${about(day)}\n\n${tableOf(await simulate(day))}`);
  return parts.join('\n\n');
}

/** The result as text, one line a strategy. */
export function tableOf({ oracle, strategies }: Simulated): string {
  const rows = [oracle, ...strategies].map((result) => COLUMNS.map(([, of]) => of(result, oracle)));
  const lines = [COLUMNS.map(([title]) => title), ...rows];
  const widths = COLUMNS.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  return lines
    .map((line) => line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '))
    .join('\n');
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
