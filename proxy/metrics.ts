// Plain counters, one per limit or event that an operator may want to see; /metrics reads them when it is asked.

/** Name to help text; `_total` is added where they are shown. */
export const COUNTERS = {
  requests: 'Requests whose framing was accepted',
  framing_refused: 'Requests refused for their framing',
  headers_too_large: 'Requests refused for oversized headers',
  header_timeouts: 'Connections closed because headers did not arrive in time',
  body_timeouts: 'Requests refused because their body stalled',
  bodies_too_large: 'Requests refused for their compressed or decoded size, or their expansion',
  bodies_guard_refused: 'Requests refused because too many bytes of bodies were being read',
  drain_refused: 'Turns refused during shutdown',
  turns: 'Turns that were dispatched',
  attempts: 'Attempts at accounts',
  retries: 'Attempts after the first of their turn',
  retries_withheld: 'Retries not made because the retry budget was spent',
  client_gone: 'Turns whose client left before the end',
  admission_waits: 'Turns that waited for a place',
  admission_full: 'Turns refused because their class had too many waiting',
  admission_timeouts: 'Turns refused because they had waited long enough',
  account_waits: 'Turns that waited for an account below its max_concurrent',
  soft_pins_left: 'Turns that could not go where their session was',
  probes: 'Attempts that decide whether a failing account is back',
  hold_expired: 'Replies committed because their head was held for hold_ms',
  upstream_idle_timeouts: 'Replies cut because the provider fell silent',
  upstream_first_byte_timeouts: 'Attempts that got no answer in time',
  upstream_events_too_large: 'Replies cut because one event or answer was too large',
  events_parsed: 'Reply events that a rule wanted, and so were parsed',
  quota_reads: 'Usage reads of accounts',
  quota_read_failures: 'Usage reads that brought no answer that could be used',
  quota_rechecks: 'Turns that waited for a usage read before they were refused',
  server_errors: 'Unforeseen failures answered with a fixed 500',
} as const;

export type CounterName = keyof typeof COUNTERS;

export class Counters {
  readonly values: Record<CounterName, number> = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<
    CounterName,
    number
  >;

  add(name: CounterName): void {
    this.values[name]++;
  }
}
