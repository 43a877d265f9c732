// Reservations against the limits of keys: a function of the database makes all that are sent together in one round trip.
import type { DatabaseRecord } from '../../driver.ts';
import {
  DAY_MS,
  type LimitBounds,
  type LimitedTurn,
  monthStart,
  slotOf,
  slotsAfter,
  type Taken,
  weekStart,
} from '../../schema/limit-rows.ts';
import { storedUse } from '../../verbs/limits.ts';
import type { PostgresConnections } from '../connection/postgres-connections.ts';
import type { LimitReservation } from './reservation-queue.ts';

const RESERVE = 'SELECT ordinal, part, at, requests, tokens, cost_nanos FROM reserve_limits($1)';

/** The turns of one key that a node reserves with the same bounds. */
interface KeyReservations {
  readonly key: string;
  readonly node: number;
  readonly bounds: LimitBounds;
  readonly turns: LimitedTurn[];
}

/**
 * @param at Unix milliseconds of the clock that all nodes share
 * @returns the result of each reservation, in order
 * @throws StoreError if nothing was sent
 */
export async function reserve(
  connections: PostgresConnections,
  reservations: readonly LimitReservation[],
  at: () => number,
): Promise<readonly Taken[]> {
  const keys = byKey(reservations);
  let sent = false;
  try {
    const records = await connections.use((connection) => {
      sent = true;
      return connection.query(RESERVE, [textOf(keys, at())]);
    });
    const taken = takenOf(keys, records);
    return reservations.map(({ turn }) => taken.get(turn) ?? { outcome: 'granted' });
  } catch (error) {
    if (!sent) throw error;
    return reservations.map(() => ({ outcome: 'unknown' }));
  }
}

function byKey(reservations: readonly LimitReservation[]): readonly KeyReservations[] {
  const keys: KeyReservations[] = [];
  for (const { turn, bounds } of reservations) {
    const { key, node } = turn;
    const last = keys.at(-1);
    if (last?.key === key && last.node === node && last.bounds === bounds) last.turns.push(turn);
    else keys.push({ key, node, bounds, turns: [turn] });
  }
  return keys;
}

const textOf = (keys: readonly KeyReservations[], at: number): string =>
  JSON.stringify({
    at,
    slot: slotOf(at),
    after: slotsAfter(at),
    today: at - (at % DAY_MS),
    week: weekStart(at),
    month: monthStart(at),
    keys: keys.map(({ key, node, bounds, turns }) => ({
      ...bounds,
      key,
      node,
      grants: turns.map(({ grant }) => grant),
      tokens: turns.map(({ tokens }) => tokens),
      nanos: turns.map(({ cost_nanos }) => cost_nanos),
    })),
  });

/** The results of turns that are not granted. */
function takenOf(keys: readonly KeyReservations[], records: readonly DatabaseRecord[]): ReadonlyMap<LimitedTurn, Taken> {
  const taken = new Map<LimitedTurn, Taken>();
  if (records.length === 0) return taken;
  for (const [i, { turns }] of keys.entries()) {
    const own = records.filter(({ ordinal }) => Number(ordinal) === i + 1);
    const isLost = own.some(({ part }) => part === 'lost');
    const refused: Taken = { outcome: 'refused', use: storedUse(own) };
    for (const turn of isLost ? turns : []) taken.set(turn, { outcome: 'lost' });
    for (const { part, at } of own) {
      const turn = part === 'refused' ? turns[Number(at) - 1] : undefined;
      if (turn) taken.set(turn, refused);
    }
  }
  return taken;
}
