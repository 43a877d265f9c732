// What holds after every round, whatever was done to the gateway: nothing runs, nothing is held, nothing is lost, nothing was unforeseen.
import { until } from '../support/until.ts';
import type { Allowances } from './attack.ts';
import { HTTP_CALLS } from './calls/http-calls.ts';
import { runClean } from './calls/run-call.ts';
import type { Lane } from './stage/lane.ts';
import type { Stage } from './stage/stage.ts';

const QUIET_MS = 10_000;
/** How much more the gateway may hold than where nothing had happened: caches, compiled code, rows that wait to be written. */
const GROWTH = { heapUsed: 48 << 20, external: 48 << 20, rss: 768 << 20 } as const;
/** Idle connections that are kept for each account. */
const IDLE_SOCKETS = 24;

type Check = (stage: Stage) => Promise<readonly string[]>;

/** @returns what does not hold, in words */
export async function brokenInvariants(
  stage: Stage,
  { logged: forgiven = [], unequalRows = false }: Allowances = {},
): Promise<readonly string[]> {
  if (!stage.program.isRunning) return [`the gateway ended: ${JSON.stringify([await stage.program.ended, stage.program.written])}`];
  const checks: readonly Check[] = [
    becomesQuiet,
    servesAllCalls,
    (stage) => logged(stage, forgiven),
    ...(unequalRows ? [] : [rowsAsTold]),
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

/** Attempts in flight, running and waiting turns, websockets, and what they hold. */
async function becomesQuiet(stage: Stage): Promise<readonly string[]> {
  let state = '';
  const isQuiet = async (): Promise<true | undefined> => {
    const { accounts, admission } = await stage.adminJson('/status');
    const metrics = await (await stage.admin('/metrics')).text();
    const gauges = ['websockets_open', 'websocket_bytes_held', 'upload_bytes_held'].map((name) => [name, gauge(metrics, name)] as const);
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

async function servesAllCalls({ lanes }: Stage): Promise<readonly string[]> {
  const [lane] = lanes;
  if (!lane) return [];
  // Cooldowns of the attack end first.
  for (let i = 0; i < 4; i++) await lane.restore();
  for (const call of HTTP_CALLS) await runClean(lane, call);
  return [];
}

async function logged({ program }: Stage, forgiven: readonly string[]): Promise<readonly string[]> {
  const { log, other } = program.written;
  const errors = log.filter(({ level, event }) => level === 'error' && !forgiven.includes(event));
  return [...errors.slice(0, 5).map((line) => JSON.stringify(line)), ...other.slice(0, 5).map((line) => `on stderr: ${line}`)];
}

/** Every answer that had a request id left one row, with its status, and with the usage that the client saw. */
async function rowsAsTold(stage: Stage): Promise<readonly string[]> {
  await stage.admin('/requests?limit=1');
  const rows = await stage.database.all('SELECT id, status, input_tokens, output_tokens, tokens_estimated FROM requests');
  const byId = new Map(rows.map((row) => [row.id, row]));
  const wrong: string[] = [];
  for (const lane of stage.lanes) {
    for (const [id, { status, usage }] of lane.told) {
      const row = byId.get(id);
      if (row?.status !== status) wrong.push(`${id} was told ${status}, its row says ${row?.status}`);
      else if (usage && (row.input_tokens !== usage[0] || row.output_tokens !== usage[1] || row.tokens_estimated !== 0)) {
        wrong.push(`${id} used ${usage}, its row says ${row.input_tokens},${row.output_tokens} (${row.tokens_estimated})`);
      }
    }
    lane.told.clear();
  }
  return wrong.slice(0, 10);
}

/** The usage of each key is the sum of its rows, in the store and as its client reads it; and nothing of it is still reserved. */
async function usageAsRows(stage: Stage): Promise<readonly string[]> {
  await stage.admin('/requests?limit=1');
  const settled = await stage.database.all(
    'SELECT key_id, sum(requests) AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(held_tokens) AS held FROM usage GROUP BY key_id',
  );
  const rows = await stage.database.all(`SELECT key_id, sum(coalesce(input_tokens, 0)) AS input, sum(coalesce(output_tokens, 0)) AS output
     FROM requests WHERE account IS NOT NULL GROUP BY key_id`);
  const wrong: string[] = [];
  for (const { key_id, input, output } of rows) {
    const own = settled.find((row) => row.key_id === key_id);
    if (own?.input !== input || own?.output !== output)
      wrong.push(`usage of ${key_id}: ${own?.input},${own?.output}; its rows: ${input},${output}`);
  }
  for (const lane of stage.lanes) wrong.push(...(await reservedBy(stage, lane)));
  return wrong;
}

async function reservedBy(stage: Stage, lane: Lane): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${lane.keyFor('as ever')}` };
  const usage = (await (await fetch(`${stage.program.url}/v1/usage`, { headers })).json()) as {
    limits: { limit_type: string; limit_window: string; current_value: number }[];
  };
  const running = usage.limits.find(({ limit_type }) => limit_type === 'concurrent');
  return running?.current_value === 0 ? [] : [`lane ${lane.number}: ${running?.current_value} turns still reserved`];
}

async function intactDatabase(stage: Stage): Promise<readonly string[]> {
  const [answer] = await stage.database.all('PRAGMA integrity_check');
  return answer?.integrity_check === 'ok' ? [] : [`integrity_check: ${JSON.stringify(answer)}`];
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
