// How long an action that has taken effect waits for its audit rows. If the store cannot be written, the rows are kept in memory.
import { type Clock, withDeadline } from '../../base/time/clock.ts';

const AUDIT_MS = 2_000;

/** @param writing rejects if the rows are lost; a rejection after the wait is ignored */
export async function auditWait(writing: Promise<unknown>, clock: Pick<Clock, 'after'>): Promise<void> {
  await withDeadline(writing, clock, AUDIT_MS);
}
