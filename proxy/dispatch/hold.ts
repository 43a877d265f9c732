// What is held of a reply's head before commit: events that show nothing of the work, so that a refusal behind them can be retried.

/** Of a successful and of a failed turn alike. */
export const LIFECYCLE: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.metadata',
  'keepalive',
]);

/** A head beyond this is passed on. */
export const HELD_BYTES = 1_048_576;

/** Whether an event of this type is held before commit. Comments (no data) are held too. */
export function isHeld(type: string, hasData: boolean): boolean {
  return !hasData || LIFECYCLE.has(type) || type.endsWith('.response.metadata') || type.endsWith('.rate_limits');
}

const TERMINAL = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  error: 'failed',
} as const;

/** The end of a reply that has this event in it; undefined for all other events. */
export function endOf(type: string): 'completed' | 'incomplete' | 'failed' | undefined {
  return Object.hasOwn(TERMINAL, type) ? TERMINAL[type as keyof typeof TERMINAL] : undefined;
}

export const TERMINAL_TYPES: ReadonlySet<string> = new Set(Object.keys(TERMINAL));
