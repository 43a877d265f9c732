// Deletes rows past their retention: soon after the start, and every hour.
import type { Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../log.ts';

const EVERY_MS = 3_600_000;
/** Later than the other work of a start, and early enough for gateways that never run for an hour. */
const FIRST_MS = 60_000;
const DAY_MS = 86_400_000;
/** The days that usage answers read, and one more for differences between clocks (D5). */
const USAGE_DAYS = 29;

/** @returns the undo */
export function keepRetention(store: Store, clock: Clock, log: Log, retention: () => Config['retention']): () => void {
  const purge = (): void => {
    const { requests_days, audit_days } = retention();
    // A clock that was set forward by mistake must not delete rows.
    const now = Math.min(clock.now(), clock.wallTime());
    store
      .purge({
        requestsBefore: now - requests_days * DAY_MS,
        auditBefore: now - audit_days * DAY_MS,
        pinsBefore: now,
        filesBefore: now,
        usageBefore: now - Math.max(requests_days, USAGE_DAYS) * DAY_MS,
      })
      .then((purged) => log.debug('purged', { ...purged }))
      // A locked or full disk: the next hour tries again.
      .catch(() => log.warn('purge_failed'));
    cancel = clock.after(EVERY_MS, purge);
  };
  let cancel = clock.after(FIRST_MS, purge);
  return () => cancel();
}
