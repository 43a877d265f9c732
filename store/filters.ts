// Filters and pages of lists.

/** A place in a list, newest first. The last row of a page is the `before` of the next. */
export interface Place {
  readonly at: number;
  readonly id: string;
}

interface ListFilter {
  readonly id?: string | undefined;
  /** Only rows of these Pools; an empty list matches nothing, and a row without a Pool matches no list. */
  readonly pools?: readonly string[] | undefined;
  /** At or after. */
  readonly since?: number | undefined;
  readonly before?: Place | undefined;
  /** 100 by default, 1,000 at most. */
  readonly limit?: number | undefined;
}

export interface RequestFilter extends ListFilter {
  /** Requests that ended at or after this time and began at most an hour before it. */
  readonly ended_since?: number | undefined;
  /** The label, as rows have it. */
  readonly account?: string | undefined;
  readonly key_id?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: number | undefined;
  readonly status_class?: string | undefined;
  readonly code?: string | undefined;
}

export interface AuditFilter extends ListFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
}

export interface FileFilter {
  readonly pool: string;
  readonly purpose?: string | undefined;
  /** By creation; `desc` by default. */
  readonly order?: 'asc' | 'desc' | undefined;
  /** Only files behind this one, in this order. */
  readonly after?: Place | undefined;
  readonly limit: number;
}
