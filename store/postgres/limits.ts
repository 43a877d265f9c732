// Reservations against the limits of keys in one round trip: a function of the database, which takes one turn of a key at a time.
import type { Value } from '../driver.ts';
import { DAY_MS, type LimitBounds, type LimitedTurn, slotOf, slotsAfter, type Taken, weekStart } from '../limit-rows.ts';
import { useOf } from '../limits.ts';
import type { Connections } from './connections.ts';

const TAKE =
  'SELECT part, at, requests, tokens, cost_nanos ' +
  'FROM take_limits($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)';

/** @throws StoreError where the turn was not sent */
export async function takeLimits(connections: Connections, turn: LimitedTurn, bounds: LimitBounds): Promise<Taken> {
  let sent = false;
  try {
    const records = await connections.use((connection) => {
      sent = true;
      return connection.query(TAKE, valuesOf(turn, bounds));
    });
    if (records.length === 0) return { outcome: 'granted' };
    return records[0]?.part === 'lost' ? { outcome: 'lost' } : { outcome: 'refused', use: useOf(records) };
  } catch (error) {
    if (!sent) throw error;
    return { outcome: 'unknown' };
  }
}

const valuesOf = ({ grant, key, node, at, tokens, cost_nanos }: LimitedTurn, bounds: LimitBounds): readonly Value[] => [
  grant,
  key,
  node,
  at,
  slotOf(at),
  tokens,
  cost_nanos,
  slotsAfter(at),
  at - (at % DAY_MS),
  weekStart(at),
  bounds.concurrent ?? null,
  bounds.requests_per_minute ?? null,
  bounds.requests_per_day ?? null,
  bounds.tokens_per_minute ?? null,
  bounds.tokens_per_day ?? null,
  bounds.tokens_per_week ?? null,
  bounds.nanos_per_day ?? null,
  bounds.nanos_per_week ?? null,
];
