// Deletes rows after their retention: by age soon after the start and every hour, by size every minute.
import type { Store } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import { DAY_MS } from '../base/time/utc-days.ts';
import type { Config } from '../config/config.ts';

const EVERY_MS = 3_600_000;
/** The time of the first deletion. It is after the other work of a start, and early enough for gateways that never run for an hour. */
const FIRST_MS = 60_000;
/** The interval of deletions by size, in which a log may exceed its size. */
const TRIM_MS = 60_000;
/** The days that answers about usage read, and one more for differences between clocks (D5). */
const USAGE_DAYS = 29;

export interface RetentionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly retention: () => Config['retention'];
}

/** @returns a function that stops the deletions */
export function keepRetention({ store, clock, log, counters, retention }: RetentionOptions): () => void {
  const purge = async (): Promise<void> => {
    const { requests_days, audit_days } = retention();
    // The earlier of both clocks, because a clock that was set forward by mistake must not delete rows.
    const now = Math.min(clock.now(), clock.wallTime());
    const purged = await store.purge({
      requestsBefore: now - requests_days * DAY_MS,
      auditBefore: now - audit_days * DAY_MS,
      pinsBefore: now,
      filesBefore: now,
      usageBefore: now - Math.max(requests_days, USAGE_DAYS) * DAY_MS,
    });
    log.debug('purged', { ...purged });
  };
  const trim = async (): Promise<void> => {
    const rows = await store.trimLog(retention().requests_bytes);
    if (rows === 0) return;
    counters.add('requests_trimmed', rows);
    log.debug('log_trimmed', { rows });
  };
  // A locked or full disk is tried again at the next time.
  const endPurges = repeated(clock, purge, { firstMs: FIRST_MS, everyMs: EVERY_MS, failed: () => log.warn('purge_failed') });
  const endTrims = repeated(clock, trim, { firstMs: TRIM_MS, everyMs: TRIM_MS, failed: () => log.warn('purge_failed') });
  return () => {
    endPurges();
    endTrims();
  };
}

interface Repetition {
  readonly firstMs: number;
  readonly everyMs: number;
  readonly failed: () => void;
}

function repeated(clock: Clock, work: () => Promise<void>, { firstMs, everyMs, failed }: Repetition): () => void {
  let running = false;
  const run = (): void => {
    cancel = clock.after(everyMs, run);
    if (running) return;
    running = true;
    void work()
      .catch(failed)
      .finally(() => (running = false));
  };
  let cancel = clock.after(firstMs, run);
  return () => cancel();
}
