// What may be held back of a reply's head: events that show nothing of the work, so that a refusal behind them can be retried.
export const LIFECYCLE: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.metadata',
  'keepalive',
]);

/** A head longer than this is no head: what comes after is passed on. */
export const HELD_BYTES = 1_048_576;

/** Whether an event of this type may wait before commit; comments (no data) may as well. */
export function isHeld(type: string, hasData: boolean): boolean {
  return !hasData || LIFECYCLE.has(type) || type.endsWith('.response.metadata') || type.endsWith('.rate_limits');
}

const TERMINAL = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  error: 'failed',
} as const;

/** How a reply ends that has this event in it; undefined for all others. */
export function endOf(type: string): 'completed' | 'incomplete' | 'failed' | undefined {
  return Object.hasOwn(TERMINAL, type) ? TERMINAL[type as keyof typeof TERMINAL] : undefined;
}

export const TERMINAL_TYPES: ReadonlySet<string> = new Set(Object.keys(TERMINAL));
