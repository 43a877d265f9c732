// The limits of keys over all nodes. A turn reserves against the usage of all nodes, and its own usage is settled once (Q34).
import type { DatabaseRecord, Driver, SqlSession, Transaction, Update } from '../driver.ts';
import { BOUNDS, type UsedSum } from '../schema/limit-bounds.ts';
import {
  DAY_MS,
  daysFrom,
  type LimitBounds,
  type LimitedTurn,
  monthStart,
  type Settlement,
  SLOTS_KEPT_MS,
  type StoredUse,
  slotOf,
  slotsAfter,
  type Taken,
  type UsedAmounts,
  weekStart,
} from '../schema/limit-rows.ts';
import { conditionsOf, filled, isIn, numbered } from '../schema/query.ts';
import type { KeySlotRow, UsageHourRow } from '../schema/rows.ts';
import { keySlots, usage, usageHours } from '../schema/tables.ts';
import { hourRowOf } from '../schema/usage-sums.ts';
import { batchOf, type TableRow } from '../writing/write-queue.ts';
import type { Writer } from '../writing/writer.ts';
import { logRowsOf } from './log-verbs.ts';

export interface LimitVerbs {
  /** Reserves if all bounds have room. Reservations that are requested at the same time share one round trip. */
  take(turn: LimitedTurn, bounds: LimitBounds): Promise<Taken>;
  /**
   * Writes settlements and their usage in one transaction. A settlement that was already written changes nothing. The sums of hours follow
   * within a second, because all nodes add to the same rows.
   */
  settle(settlements: readonly Settlement[]): Promise<void>;
  use(key: string): Promise<StoredUse>;
  /** Deletes what is too old to count. */
  tidy(): Promise<void>;
}

/**
 * Slots follow the clock that all nodes share; callers give and get times of their own clock.
 * @param clock Unix milliseconds of this process
 */
export function limitVerbs(driver: Driver, writer: Pick<Writer, 'gather'>, clock: () => number): LimitVerbs {
  const ahead = (): number => driver.now() - clock();
  return {
    async take(turn, bounds) {
      const taken = await driver.takeLimits(turn, bounds);
      return taken.outcome === 'refused' ? { ...taken, use: earlier(taken.use, ahead()) } : taken;
    },
    async settle(settlements) {
      const hours = await driver.update((transaction) => settled(transaction, settlements, ahead()));
      for (const hour of hours) writer.gather(usageHours, hour);
    },
    async use(key) {
      return earlier(await readUse(driver, key, driver.now()), ahead());
    },
    async tidy() {
      await driver.maintain('DELETE FROM key_slots WHERE slot < $1', [driver.now() - SLOTS_KEPT_MS]);
    },
  };
}

const earlier = ({ minute, ...use }: StoredUse, ms: number): StoredUse => ({
  ...use,
  minute: ms === 0 ? minute : minute.map(({ slot, ...amounts }) => ({ ...amounts, slot: slot - ms })),
});

/**
 * The use of a key: running turns, slots of the last minute, and days, as records of one shape. One statement, so that no settlement is
 * seen in part.
 */
const USE = `
  SELECT 'running' AS part, 0 AS at, count(*) AS requests, coalesce(sum(key_grants.tokens), 0) AS tokens,
    coalesce(sum(cost_nanos), 0) AS cost_nanos
  FROM key_grants JOIN nodes ON nodes.token = key_grants.node WHERE key_id = $1 AND expires_at > $2
  UNION ALL
  SELECT 'minute', slot, sum(requests), sum(tokens), 0 FROM (
    SELECT slot, requests, tokens FROM key_slots WHERE key_id = $3 AND slot > $4
    UNION ALL SELECT slot, 1, 0 FROM key_grants WHERE key_id = $5 AND slot > $6
  ) AS counted GROUP BY slot
  UNION ALL
  SELECT 'day', day, sum(requests), sum(input_tokens + output_tokens + held_tokens), sum(cost_nanos + held_nanos)
  FROM usage WHERE key_id = $7 AND day >= $8 GROUP BY day
  ORDER BY 2`;

/** @param days the first day that counts */
async function readUse(session: Pick<SqlSession, 'query'>, key: string, at: number, days = daysFrom(at)): Promise<StoredUse> {
  const after = slotsAfter(at);
  return storedUse(await session.query(USE, [key, at, key, after, key, after, key, days]));
}

/** @param records `part`, `at` and the sums of the running turns, of a slot, or of a day */
export function storedUse(records: readonly DatabaseRecord[]): StoredUse {
  const of = (name: string) =>
    records.flatMap(({ part, at, requests, tokens, cost_nanos }) =>
      part === name ? { at: Number(at), requests: Number(requests), tokens: Number(tokens), cost_nanos: Number(cost_nanos) } : [],
    );
  const [running = NOTHING] = of('running').map(({ at: _, ...amounts }) => amounts);
  return {
    running,
    minute: of('minute').map(({ at: slot, requests, tokens }) => ({ slot, requests, tokens })),
    days: of('day').map(({ at: day, ...amounts }) => ({ day, ...amounts })),
  };
}

const NOTHING: UsedAmounts = { requests: 0, tokens: 0, cost_nanos: 0 };

/** `take` in portable SQL, for an engine whose transactions do not overlap. */
export async function takeIn(session: SqlSession, at: number, turn: LimitedTurn, bounds: LimitBounds): Promise<Taken> {
  const { grant, key, node, tokens, cost_nanos } = turn;
  const alive = await session.query('SELECT token FROM nodes WHERE token = $1 AND expires_at > $2', [node, at]);
  if (alive.length === 0) return { outcome: 'lost' };
  // Only a monthly bound needs more than seven days.
  const use = await readUse(session, key, at, bounds.nanos_per_month === undefined ? weekStart(at) : daysFrom(at));
  if (!hasRoom(use, at, turn, bounds)) return { outcome: 'refused', use };
  await session.run(
    'INSERT INTO key_grants (grant_id, key_id, node, at, slot, tokens, cost_nanos) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING',
    [grant, key, node, at, slotOf(at), tokens, cost_nanos],
  );
  return { outcome: 'granted' };
}

function hasRoom(use: StoredUse, at: number, { tokens, cost_nanos: nanos }: LimitedTurn, bounds: LimitBounds): boolean {
  const sums = sumsOf(use, at);
  const added = { request: 1, tokens, nanos };
  return BOUNDS.every(({ name, counts, adds }) => {
    const most = bounds[name];
    return most === undefined || counts.reduce((all, sum) => all + sums[sum], added[adds]) <= most;
  });
}

function sumsOf({ running, minute, days }: StoredUse, at: number): Readonly<Record<UsedSum, number>> {
  const today = days.filter(({ day }) => day > at - DAY_MS);
  const week = days.filter(({ day }) => day >= weekStart(at));
  const month = days.filter(({ day }) => day >= monthStart(at));
  const sum = (rows: readonly Partial<UsedAmounts>[], what: keyof UsedAmounts): number =>
    rows.reduce((all, row) => all + (row[what] ?? 0), 0);
  return {
    running: running.requests,
    held_tokens: running.tokens,
    held_nanos: running.cost_nanos,
    minute_requests: sum(minute, 'requests'),
    minute_tokens: sum(minute, 'tokens'),
    day_requests: sum(today, 'requests'),
    day_tokens: sum(today, 'tokens'),
    day_nanos: sum(today, 'cost_nanos'),
    week_tokens: sum(week, 'tokens'),
    week_nanos: sum(week, 'cost_nanos'),
    month_nanos: sum(month, 'cost_nanos'),
  };
}

/** @param ahead how far the shared clock is ahead of this process's @returns the sums of hours of those that end now */
async function settled(
  transaction: Transaction,
  settlements: readonly Settlement[],
  ahead: number,
): Promise<Update<readonly UsageHourRow[]>> {
  for (const settlement of settlements) if (settlement.withdrawn) await withdraw(transaction, settlement);
  const slots = await endGrants(
    transaction,
    settlements.flatMap(({ grant, withdrawn }) => (withdrawn ? [] : grant)),
  );
  const rows = settlements.flatMap((settlement) => {
    const slot = slots.get(settlement.grant);
    const used = slot === undefined ? [] : rowsOf(settlement, { reserved: slot, settled: slotOf(settlement.at + ahead) });
    return settlement.of ? [...used, ...logRowsOf(settlement.of)] : used;
  });
  const hours = settlements.flatMap(({ grant, of, used }) => (slots.has(grant) && of && used ? hourRowOf(of, used) : []));
  return { result: hours, batch: batchOf(rows.map(([table, row]) => ({ table, row }))) };
}

/** Ends open reservations. @returns their slots */
async function endGrants(transaction: Transaction, grants: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (grants.length === 0) return new Map();
  const { sql, values } = conditionsOf([isIn('grant_id', filled(grants))]);
  const ended = await transaction.query(numbered(`DELETE FROM key_grants${sql} RETURNING grant_id, slot`), values);
  return new Map(ended.map(({ grant_id, slot }) => [String(grant_id), Number(slot)]));
}

/** Marks a reservation that may not exist yet as ended. It counts nowhere, and a later attempt to make it reserves nothing. */
async function withdraw(transaction: Transaction, { grant, key, at }: Settlement): Promise<void> {
  await transaction.run(
    'INSERT INTO key_grants (grant_id, key_id, node, at, slot, tokens, cost_nanos) VALUES ($1, $2, 0, $3, 0, 0, 0) ' +
      'ON CONFLICT (grant_id) DO UPDATE SET node = 0, slot = 0',
    [grant, key, at],
  );
}

function rowsOf(
  { key, used, minute }: Settlement,
  { reserved, settled }: { readonly reserved: number; readonly settled: number },
): readonly TableRow[] {
  if (!used) return [];
  if (!minute) return [[usage, used]];
  const tokens = used.input_tokens + used.output_tokens + used.held_tokens;
  const slots: readonly KeySlotRow[] = [
    { key_id: key, slot: reserved, requests: 1, tokens: 0 },
    { key_id: key, slot: settled, requests: 0, tokens },
  ];
  return [[usage, used], ...slots.map((row): TableRow => [keySlots, row])];
}
