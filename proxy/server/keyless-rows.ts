// Rows of refused requests without a key. Above a rate they are only counted and reported together, so that a flood does not fill the disk
// (S5).
import type { AttemptRow, RequestRow, Store } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';

export interface KeylessRowsOptions {
  readonly requests: Pick<Store['requests'], 'append'>;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: Log;
  /** The most rows per second. */
  readonly rate: () => number;
}

/** The length of a burst that is written completely. */
const BURST_SECONDS = 10;
/** The interval of reports about requests without a row. */
const REPORT_MS = 10_000;
/** The most lines in a report. A line is for one endpoint and code, both from closed lists. */
const REPORTED = 3;

export class KeylessRows {
  readonly #options: KeylessRowsOptions;
  #left = Number.POSITIVE_INFINITY;
  #at = 0;
  /** Requests without a row since the last report, by method, endpoint and code. */
  readonly #unlogged = new Map<string, { readonly row: RequestRow; count: number }>();

  constructor(options: KeylessRowsOptions) {
    this.#options = options;
  }

  append(row: RequestRow, attempts: readonly AttemptRow[]): void {
    if (!isKeyless(row) || this.#takes()) this.#options.requests.append(row, attempts);
    else this.#count(row);
  }

  #takes(): boolean {
    const { clock, rate } = this.#options;
    const now = clock.now();
    const perSecond = rate();
    this.#left = Math.min(BURST_SECONDS * perSecond, this.#left + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  #count(row: RequestRow): void {
    const { clock, counters } = this.#options;
    counters.add('requests_unlogged');
    if (this.#unlogged.size === 0) clock.after(REPORT_MS, () => this.#report());
    const name = `${row.method} ${row.endpoint} ${row.code}`;
    const known = this.#unlogged.get(name);
    if (known) known.count += 1;
    else this.#unlogged.set(name, { row, count: 1 });
  }

  #report(): void {
    const most = [...this.#unlogged.values()].sort((a, b) => b.count - a.count).slice(0, REPORTED);
    this.#unlogged.clear();
    const message = 'more requests without a key than limits.keyless_rows_per_second: these left no row';
    for (const { row, count } of most) {
      const { method, endpoint, status, code } = row;
      this.#options.log.warn('requests_not_logged', {
        message,
        requests: count,
        seconds: REPORT_MS / 1_000,
        method,
        endpoint,
        status,
        code,
      });
    }
  }
}

/** Whether a client without a key can cause any number of such rows. */
const isKeyless = ({ key_id, status, method }: RequestRow): boolean => key_id === null && (status >= 400 || method === 'OPTIONS');
