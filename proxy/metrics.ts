// Counters of the running gateway.
/** Name to help text; `_total` is added where they are shown. */
export const COUNTERS = {
  requests: 'Requests whose framing was accepted',
  connections_refused: 'Connections closed because too many were open',
  framing_refused: 'Requests refused for their framing',
  headers_too_large: 'Requests refused for the size or the number of their headers',
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
  admission_waits: 'Turns that waited, for a slot of their class or for an account',
  admission_full: 'Turns refused because their class had too many waiting',
  admission_displaced: 'Waiting turns refused to make room for a turn of a key that had fewer waiting',
  admission_timeouts: 'Turns refused because they had waited for the longest permitted time',
  guard_event_loop_refused: 'Turns refused because the event loop was late',
  guard_memory_refused: 'Turns refused because memory was short',
  slot_claims: 'Times that this node asked for slots of accounts, or gave some back',
  node_leases_lost: 'Leases of this node that were lost because it could not renew them in time',
  limits_unavailable: 'Turns refused because the limits of their key could not be checked in the store',
  account_waits: 'Turns that waited for an account below its max_concurrent',
  soft_pins_left: 'Turns that could not go where their session was',
  probes: 'Attempts that decide whether a failing account has recovered',
  pins_evicted: 'Pins that left memory for newer ones; the store has them',
  pins_late: 'Turns whose end was passed on before the account of their response was stored',
  pins_lost: 'Pins that the store did not accept: other nodes cannot find them',
  hold_expired: 'Replies committed because their head was held for hold_ms',
  upstream_idle_timeouts: 'Replies cut because the provider fell silent',
  upstream_first_byte_timeouts: 'Attempts that got no answer in time',
  upstream_interim_refused: 'Attempts that failed because the account sent too many interim answers (1xx)',
  upstream_events_too_large: 'Replies cut because an event, an answer or the kept parts of the reply were too large',
  replies_guard_refused: 'Replies cut because the replies of all turns held too much together',
  events_parsed: 'Reply events that were parsed because a rule subscribes to them',
  quota_reads: 'Usage reads of accounts',
  quota_read_failures: 'Usage reads without a usable answer',
  quota_rechecks: 'Turns that waited for a usage read before they were refused',
  upstream_frames_dropped: 'Events of accounts that were no JSON object, dropped on the public surface',
  websockets_accepted: 'Client websockets that were accepted',
  websocket_frames_ignored: 'Client frames of a type that is not served',
  websocket_frames_refused: 'Client frames refused because too many waited during a running turn',
  websocket_frames_too_large: 'Client websockets closed for an oversized frame',
  websocket_frames_invalid: 'Client websockets closed for a binary frame or invalid UTF-8',
  clients_stalled: 'Client connections closed because the client read nothing of its answer',
  websocket_idle_timeouts: 'Client websockets closed because they were idle',
  turns_detached: 'Turns on websockets that continued without their client',
  turns_resumed: 'Turns that their client came back for',
  turns_replaced: 'Detached turns that were ended for an edited one',
  detached_turns_expired: 'Detached turns that were ended because no client came back',
  detached_turns_too_large: 'Detached turns that were ended for the size of their kept frames',
  websockets_forwarded: 'Client websockets that were forwarded to the node that owns their session',
  websockets_taken_over: 'Client websockets that other nodes forwarded to this one',
  owners_silent: 'Owners of sessions that did not answer in time',
  sessions_lost: 'Sessions of this node that another node has taken',
  session_claims_failed: 'Claims and renewals of sessions that the store did not answer in time',
  hops_refused: 'Requests to the internal listener that no other node has signed',
  upstream_websockets: 'Websockets opened to accounts',
  upstream_websocket_refusals: 'Websocket upgrades that accounts refused',
  token_counts: 'Token counts of compressed tool outputs that came in time',
  token_counts_late: 'Token counts that did not come in time',
  token_counts_refused: 'Token counts refused because too many were waiting, or their thread had just ended',
  token_threads_ended: 'Threads for token counts that ended because of a fault',
  config_reloads: 'Reloads of the configuration that found a valid file',
  config_reloads_refused: 'Reloads that failed and changed nothing',
  server_errors: 'Unforeseen failures answered with a fixed 500',
} as const;

export type CounterName = keyof typeof COUNTERS;

/** Counters as plain numbers: a turn increments them, the registry reads them when it is scraped. */
export class Counters {
  readonly values: Record<CounterName, number> = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<
    CounterName,
    number
  >;

  add(name: CounterName): void {
    this.values[name]++;
  }
}
