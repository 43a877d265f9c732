// How long an action that has taken effect waits for its audit rows: they are kept in memory where the store cannot be written.
import { type Clock, withDeadline } from '../../base/time/clock.ts';

const AUDIT_MS = 2_000;

/** @param writing rejects where the rows are lost; not after the wait */
export async function auditWait(writing: Promise<unknown>, clock: Pick<Clock, 'after'>): Promise<void> {
  await withDeadline(writing, clock, AUDIT_MS);
}
