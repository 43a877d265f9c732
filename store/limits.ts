// Limits over all processes on the database: reserves amounts in several windows at once, and corrects them to what was really used.
// No user yet but its tests: with one process the limits of keys are kept in its memory; several nodes will reserve here (Q34).
import type { Driver, Session } from './driver.ts';

/** An amount in one window. A window is the sum of the slots from `since` on: the caller decides what slides and what is a calendar day. */
export interface WindowAmount {
  /** Names the key, the unit and the window: `ci/tokens/day`. */
  readonly window: string;
  readonly amount: number;
  readonly limit: number;
  /** The slot that the amount is added to, for instance the current second or midnight UTC; Unix milliseconds. */
  readonly slot: number;
  /** The first slot that counts; Unix milliseconds. */
  readonly since: number;
}

export type Taken =
  | { readonly granted: true }
  /** The windows without room, with the sum of each; nothing was reserved in any window. */
  | { readonly granted: false; readonly refusing: readonly { readonly window: string; readonly used: number }[] };

export interface LimitVerbs {
  /**
   * Reserves all amounts or none.
   * @param grant unique per reservation; a second call with the same one reserves nothing again and is granted
   */
  take(grant: string, amounts: readonly WindowAmount[]): Promise<Taken>;
  /**
   * Corrects a grant to the amounts that were used, by window; a window that is left out gets its whole amount back. May exceed limits.
   * @returns false where the grant is unknown or was settled already; then nothing changes
   */
  settle(grant: string, used: Readonly<Record<string, number>>): Promise<boolean>;
}

/** The longest window is a week; grants and slots that are older count nowhere. */
export const LIMITS_KEPT_MS = 8 * 86_400_000;

const ADD =
  'INSERT INTO limit_slots (window_name, slot, used) VALUES ($1, $2, $3) ' +
  'ON CONFLICT (window_name, slot) DO UPDATE SET used = limit_slots.used + excluded.used';

export function limitVerbs(driver: Driver, clock: () => number): LimitVerbs {
  return {
    take: (grant, amounts) =>
      driver.transaction(async (session) => {
        const known = await session.query('SELECT grant_id FROM limit_grants WHERE grant_id = $1 LIMIT 1', [grant]);
        if (known.length > 0) return { granted: true };
        const sums = await Promise.all(amounts.map(({ window, since }) => sumOf(session, window, since)));
        const refusing = amounts.flatMap(({ window, amount, limit }, i) => {
          const used = sums[i] as number;
          return used + amount > limit ? [{ window, used }] : [];
        });
        if (refusing.length > 0) return { granted: false, refusing };
        const insert = 'INSERT INTO limit_grants (grant_id, window_name, slot, amount, settled, at) VALUES ($1, $2, $3, $4, 0, $5)';
        for (const { window, slot, amount } of amounts) {
          await session.run(ADD, [window, slot, amount]);
          await session.run(insert, [grant, window, slot, amount, clock()]);
        }
        return { granted: true };
      }),
    settle: (grant, used) =>
      driver.transaction(async (session) => {
        const open = await session.query('SELECT window_name, slot, amount FROM limit_grants WHERE grant_id = $1 AND settled = 0', [grant]);
        for (const { window_name, slot, amount } of open) {
          const window = String(window_name);
          await session.run(ADD, [window, Number(slot), (used[window] ?? 0) - Number(amount)]);
        }
        // The grant stays until it is purged, so that a repeated `take` or `settle` is recognised.
        return (await session.run('UPDATE limit_grants SET settled = 1 WHERE grant_id = $1 AND settled = 0', [grant])) > 0;
      }),
  };
}

async function sumOf(session: Session, window: string, since: number): Promise<number> {
  const sql = 'SELECT coalesce(sum(used), 0) AS used FROM limit_slots WHERE window_name = $1 AND slot >= $2';
  const [record] = await session.query(sql, [window, since]);
  return Number(record?.used);
}
