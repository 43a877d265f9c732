// The invariants after every round, whatever was done to the gateway: nothing runs, nothing is held, nothing is lost, and nothing
// unexpected was logged.
import { until } from '../support/until.ts';
import type { Allowances } from './attack.ts';
import { runClean } from './calls/run-call.ts';
import type { Stage } from './stage/stage.ts';
import { framesAsTold, intactDatabase, rowsAsTold, usageAsRows } from './stored-invariants.ts';

/** The longest deadline of a call on the stage, and as long again. */
const QUIET_MS = 20_000;
/** How much more memory the gateway may hold than at its start, for caches, compiled code and rows that wait to be written. */
const GROWTH = { heapUsed: 48 << 20, external: 48 << 20, rss: 768 << 20 } as const;
/** The most lines of the log that are printed. */
const MOST_LINES = 5;
/** The number of idle connections that are kept for each account. */
const IDLE_SOCKETS = 24;

/** Gauges of what the gateway holds for clients. */
const HELD = [
  'websockets_open',
  'websocket_bytes_held',
  'body_bytes_held',
  'dense_json_bytes_held',
  'reply_bytes_held',
  'upload_bytes_held',
] as const;

type Check = (stage: Stage) => Promise<readonly string[]>;

/** @returns the broken invariants in words */
export async function brokenInvariants(
  stage: Stage,
  { logged: forgiven = [], unequalRows = false }: Allowances = {},
): Promise<readonly string[]> {
  if (!stage.program.isRunning)
    return [`the gateway ended: ${JSON.stringify(await stage.program.ended)} ${stage.takeWritten().join('\n')}`];
  const checks: readonly Check[] = [
    becomesQuiet,
    servesAllCalls,
    (stage) => logged(stage, forgiven),
    (stage) => rowsAsTold(stage, { unequalRows }),
    (stage) => framesAsTold(stage, { unequalRows }),
    usageAsRows,
    intactDatabase,
    memoryIsBack,
  ];
  const broken: string[] = [];
  for (const check of checks) {
    try {
      broken.push(...(await check(stage)));
    } catch (thrown) {
      broken.push(thrown instanceof Error ? `${check.name}: ${thrown.message}` : String(thrown));
    }
  }
  return broken;
}

/** Waits until nothing runs: attempts in flight, running and waiting turns, websockets, and what they hold. */
async function becomesQuiet(stage: Stage): Promise<readonly string[]> {
  let state = '';
  const isQuiet = async (): Promise<true | undefined> => {
    const { accounts, admission } = await stage.adminJson('/api/status');
    const metrics = await (await stage.admin('/metrics')).text();
    const gauges = HELD.map((name) => [name, gauge(metrics, name)] as const);
    const busy = [
      ...accounts.filter(({ inFlight }: { inFlight: number }) => inFlight > 0).map((one: { account: string }) => one.account),
      ...Object.entries<{ running: number; waiting: number }>(admission).flatMap(([name, { running, waiting }]) =>
        running + waiting > 0 ? [`${name} ${running} ${waiting}`] : [],
      ),
      ...gauges.flatMap(([name, value]) => (value === 0 ? [] : [`${name} ${value}`])),
    ];
    state = busy.join(', ');
    return busy.length === 0 || undefined;
  };
  try {
    await until('quiet', isQuiet, QUIET_MS);
    return [];
  } catch {
    return [`still in flight: ${state}`];
  }
}

const gauge = (metrics: string, name: string): number =>
  Number(new RegExp(`^poolgate_${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);

async function servesAllCalls({ lanes, calls }: Stage): Promise<readonly string[]> {
  const [lane] = lanes;
  if (!lane) return [];
  for (const one of lanes) await one.endCooldowns();
  for (const call of calls) await runClean(lane, call);
  return [];
}

/** Checks the log. Text that is not a line of the log, such as a warning of Node, must not be on stderr. */
async function logged(stage: Stage, forgiven: readonly string[]): Promise<readonly string[]> {
  const isFault = (line: string): boolean => {
    if (!line.startsWith('{')) return true;
    const { level, event } = JSON.parse(line) as { readonly level: string; readonly event: string };
    return level === 'error' && !forgiven.includes(event);
  };
  return stage.takeWritten().filter(isFault).slice(0, MOST_LINES);
}

async function memoryIsBack({ program, baseline, lanes }: Stage): Promise<readonly string[]> {
  if (!baseline) return [];
  const now = await program.vitals();
  const grown = (['heapUsed', 'external', 'rss'] as const).filter((name) => now[name] > baseline[name] + GROWTH[name]);
  const sockets = lanes.length * 2 * IDLE_SOCKETS;
  return [
    ...grown.map((name) => `${name} grew from ${baseline[name] >> 20} to ${now[name] >> 20} MiB`),
    ...(now.sockets > sockets ? [`${now.sockets} sockets are open`] : []),
  ];
}
