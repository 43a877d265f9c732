// The log of requests, with the usage of each request in the transaction that writes its rows.
import type { Driver } from '../driver.ts';
import type { HourFilter, RequestFilter, UsageFilter } from '../schema/filters.ts';
import type { AttemptRow, LoggedRequest, RequestRow } from '../schema/logged-rows.ts';
import { equals, operators, select, selectKeys, where } from '../schema/query.ts';
import type { UsageKey, UsageRow } from '../schema/rows.ts';
import { attempts, requests, usage, usageHours } from '../schema/tables.ts';
import { hourRowOf } from '../schema/usage-sums.ts';
import type { TableRow } from '../writing/write-queue.ts';
import type { Writer } from '../writing/writer.ts';
import { type FoundRequests, type RequestOutcome, recentOutcomes, searchRequests } from './request-search.ts';
import { type HourTotal, hourSums } from './sums/hour-groups.ts';
import { type UsageTotal, usageSums } from './sums/usage-groups.ts';

export interface LogVerbs {
  readonly requests: {
    /**
     * Appends a request with its attempts in order, and adds it to the sums of its hour. An attempt that can be derived from its request is
     * not written; `attempts.of` derives it.
     */
    append(row: RequestRow, attempts?: readonly AttemptRow[]): void;
    /** The matching requests, newest first. It has no time limit. */
    list(filter: RequestFilter): Promise<readonly RequestRow[]>;
    /** Like `list`, but ends after this time with the rows found by then. */
    search(filter: RequestFilter, timeMs: number): Promise<FoundRequests>;
    /** How the newest requests ended, for summaries. */
    outcomes(filter: Pick<RequestFilter, 'limit' | 'pools' | 'since'>): Promise<readonly RequestOutcome[]>;
  };
  readonly attempts: {
    /** The attempts of one request, in order. */
    of(request: RequestRow): Promise<readonly AttemptRow[]>;
  };
  readonly usage: {
    /**
     * Adds to the sums of the key on that day. The row is never dropped while the store is open.
     * @param of the request that used it: its rows and its part of the sums of its hour are written in the same transaction, so that a
     * killed process keeps all of them or none
     */
    add(row: UsageRow, of?: LoggedRequest): void;
    /** The rows from this day on; Unix milliseconds. */
    load(since: number): Promise<readonly UsageRow[]>;
    /**
     * Passes on the sums of these keys: what all processes have added, without counting anything twice. It reads while nothing is written,
     * and adds what is queued by then.
     */
    read(keys: readonly UsageKey[], take: (rows: readonly UsageRow[]) => void): Promise<void>;
    /** Sums by key, Pool or day. Sorted by day, newest first, then by key and Pool. */
    sums(filter: UsageFilter): Promise<readonly UsageTotal[]>;
    /** Sums by Pool, account, model, hour or day: the newest first. */
    hours(filter: HourFilter): Promise<readonly HourTotal[]>;
  };
}

export function logVerbs(driver: Driver, writer: Writer): LogVerbs {
  return {
    requests: {
      append(row, made = []) {
        const logged = { row, attempts: made };
        for (const [table, its] of logRowsOf(logged)) writer.append(table, its);
        writer.gather(usageHours, hourRowOf(logged));
      },
      list: async (filter) => (await searchRequests(operators(driver), filter)).rows,
      outcomes: (filter) => recentOutcomes(operators(driver), filter),
      search: (filter, timeMs) => searchRequests(operators(driver), filter, timeMs),
    },
    attempts: {
      async of(request) {
        const made = await select(operators(driver), attempts, { where: [equals('request_id', request.id)], order: 'ordinal' });
        return made.length === 0 && succeededAtOnce(request) ? [derivedAttempt(request)] : made;
      },
    },
    usage: {
      add(row, of) {
        if (!of) writer.put(usage, row);
        else {
          writer.putTogether([usage, row], logRowsOf(of));
          writer.gather(usageHours, hourRowOf(of, row));
        }
      },
      load: (since) => select(driver, usage, { where: [where('day >= ?', since)] }),
      read: (keys, take) =>
        writer.between(async () => {
          const rows = await selectKeys(driver, usage, keys);
          take(rows.map((row) => writer.withQueued(usage, row)));
        }),
      sums: (filter) => usageSums(operators(driver), filter),
      hours: (filter) => hourSums(operators(driver), filter),
    },
  };
}

/** The rows of a request as they are stored. The attempt of a request that its first account answered is derived from the request's row instead. */
export const logRowsOf = ({ row, attempts: made }: LoggedRequest): readonly TableRow[] => [
  [requests, row],
  ...(isDerivable(row, made) ? [] : made.map((attempt): TableRow => [attempts, attempt])),
];

/** The most time that the gateway itself needs before and after an attempt. An attempt that started later had to wait, and is stored. */
const TOLERANCE_MS = 10;

const SUCCESS = { ordinal: 0, cause: 'first', error_class: null, upstream_error_param: null } as const;

/** Whether the attempt can be derived from the request's row. An attempt of a failed or retried request is never derived, even if its row was lost. */
const succeededAtOnce = ({ account, retries, status, outcome }: RequestRow): boolean =>
  account !== null && retries === 0 && status < 300 && outcome === 'completed';

/** Whether these attempts can be derived from their request's row. */
function isDerivable(request: RequestRow, attempts: readonly AttemptRow[]): boolean {
  const [attempt] = attempts;
  if (!attempt || attempts.length > 1 || !succeededAtOnce(request)) return false;
  const before = attempt.at - request.at;
  const after = request.at + request.duration_ms - (attempt.at + attempt.duration_ms);
  return (
    attempt.account === request.account &&
    attempt.api === request.api &&
    attempt.adapted === request.adapted &&
    attempt.cause === SUCCESS.cause &&
    attempt.status === request.status &&
    attempt.error_class === SUCCESS.error_class &&
    attempt.upstream_error_param === SUCCESS.upstream_error_param &&
    before < TOLERANCE_MS &&
    after < TOLERANCE_MS
  );
}

/** The attempt of a request that succeeded at once. */
function derivedAttempt({ id, at, account, api, adapted, status, duration_ms }: RequestRow): AttemptRow {
  return { request_id: id, at, account: account ?? '', api: api ?? 'agent', adapted, status, duration_ms, ...SUCCESS };
}
