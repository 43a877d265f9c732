// Filters and pages of lists, and groups of sums.

/** A place in a list, newest first. The last row of a page is the `before` of the next. */
export interface ListPlace {
  readonly at: number;
  readonly id: string;
}

interface ListFilter {
  readonly id?: string | undefined;
  /** Only rows of these Pools. An empty list matches nothing. A row without a Pool matches no list. */
  readonly pools?: readonly string[] | undefined;
  /** The earliest time that counts; Unix milliseconds. */
  readonly since?: number | undefined;
  /** The first time that no longer counts; Unix milliseconds. */
  readonly until?: number | undefined;
  readonly before?: ListPlace | undefined;
  /** The most rows: 100 by default, 1,000 at most. */
  readonly limit?: number | undefined;
}

export interface RequestFilter extends ListFilter {
  /** Label of the account. */
  readonly account?: string | undefined;
  readonly key_id?: string | undefined;
  readonly model?: string | undefined;
  readonly family?: string | undefined;
  /** Requests that ended at or after this time and began at most an hour before it. */
  readonly ended_since?: number | undefined;
  readonly status?: number | undefined;
  readonly status_class?: string | undefined;
  readonly code?: string | undefined;
  /** Rows with at least this duration. */
  readonly min_duration_ms?: number | undefined;
  /** Rows with at least this number of retries. */
  readonly min_retries?: number | undefined;
}

export interface AuditFilter extends ListFilter {
  /** With `pools`: also rows about these accounts (actions `account.…` and `credential.…`), which belong to no Pool. */
  readonly accounts?: readonly string[] | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
}

/** What usage is grouped by. If none is given, there is one sum of all rows. */
export type UsageGroup = 'key_id' | 'pool' | 'day';

export interface UsageFilter {
  readonly by: readonly UsageGroup[];
  readonly pools?: readonly string[] | undefined;
  readonly key_ids?: readonly string[] | undefined;
  /** The first day, Unix milliseconds at midnight UTC. */
  readonly since?: number | undefined;
  /** The first day that does not count. */
  readonly until?: number | undefined;
  /** The number of sums to skip. */
  readonly offset?: number | undefined;
  /** The most sums: 100 by default, 1,000 at most. */
  readonly limit?: number | undefined;
}

/** What the sums of hours are grouped by. If none is given, there is one sum of all rows. */
export type HourGroup = 'hour' | 'day' | 'pool' | 'account' | 'model';

export interface HourFilter extends Pick<UsageFilter, 'pools' | 'offset' | 'limit'> {
  readonly by: readonly HourGroup[];
  /** Labels of accounts. */
  readonly accounts?: readonly string[] | undefined;
  readonly model?: string | undefined;
  /** The first hour, Unix milliseconds at its beginning. */
  readonly since?: number | undefined;
  /** The first hour that does not count. */
  readonly until?: number | undefined;
}

export interface FileFilter {
  readonly pool: string;
  readonly purpose?: string | undefined;
  /** The order by creation time; `desc` by default. */
  readonly order?: 'asc' | 'desc' | undefined;
  /** Only files after this one, in this order. */
  readonly after?: ListPlace | undefined;
  readonly limit: number;
}
