// The result of a turn: how it ended for its client, its attempts, and its one row in the request log (S5).
import type { AttemptRow, RequestRow, Why } from '../../../store/schema/logged-rows.ts';
import type { Spending } from '../costs/spending.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { AccountConfig } from '../settings.ts';
import type { OverflowReason } from '../tiers.ts';
import type { Outcome } from '../turn.ts';

/** How a turn ended for its client. */
export interface Ending {
  readonly outcome: Outcome;
  /** The status that the client got; 499 if the client left before. */
  readonly status: number;
  /** The error code that is logged. */
  readonly code: string | null;
}

/** The part of a turn that accounts served. */
export interface Attempts {
  readonly rows: readonly AttemptRow[];
  /** Whether any attempt was sent. Otherwise the turn has used nothing. */
  readonly wasSent: boolean;
  /** Label of the account that answered, or that was tried last. */
  readonly account: string | null;
  /** The tier of that account, and why the turn left the lower ones. */
  readonly tier: number | null;
  readonly overflow: OverflowReason | null;
  readonly served?: AccountConfig | undefined;
  /** The amount that the turn has reserved of the tier's caps. */
  readonly spending?: Spending | undefined;
  /** Why that account was chosen, and why others were not. */
  readonly why: Why | null;
}

export const NO_ATTEMPTS: Attempts = Object.freeze({ rows: [], wasSent: false, account: null, tier: null, overflow: null, why: null });

export const clientGone = ({ shown }: { readonly shown: boolean }): Ending => ({
  outcome: { kind: 'client_gone', shown },
  status: 499,
  code: null,
});

/** Token counts of a turn. Null means unknown, not zero. */
export interface TokenCounts {
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** The tokens that the provider stated. For a turn that broke off before, the estimate (Q18). */
function tokensOf(
  { noted }: LiveTurn,
  { outcome: { kind } }: Ending,
  estimate: () => TokenCounts | undefined,
): TokenCounts & { readonly tokens_estimated: boolean } {
  const { input_tokens = null, cached_input_tokens = null, output_tokens = null, tokens_estimated = false } = noted;
  if ((kind === 'cut' || kind === 'client_gone') && input_tokens === null && output_tokens === null) {
    const estimated = estimate();
    if (estimated) return { ...estimated, tokens_estimated: true };
  }
  return { input_tokens, cached_input_tokens, output_tokens, tokens_estimated };
}

/** @param estimate returns the usage of a turn that was dispatched and broke off; undefined if nothing is known of its body */
export function requestRow(turn: LiveTurn, ending: Ending, attempts: Attempts, estimate: () => TokenCounts | undefined): RequestRow {
  const { noted, identity } = turn;
  const { status } = ending;
  // Computed outside the literal: in it, V8 discards the compiled function each time that the difference is a small integer.
  const duration = turn.now() - turn.at;
  const tokens = tokensOf(turn, ending, estimate);
  return {
    id: turn.id,
    at: turn.arrivedAt,
    family: turn.route.family,
    surface: turn.surface.name,
    endpoint: turn.route.template,
    method: turn.method,
    status,
    status_class: `${Math.floor(status / 100)}xx`,
    pool: identity?.pool.id ?? null,
    pool_label: identity?.pool.label ?? null,
    account: attempts.account,
    api: attempts.rows.at(-1)?.api ?? null,
    adapted: attempts.rows.at(-1)?.adapted ?? null,
    tier: attempts.tier,
    overflow: attempts.overflow,
    key_id: identity?.key.id ?? null,
    model: noted.model ?? null,
    requested_model: turn.requestedModel ?? null,
    code: ending.code,
    retries: Math.max(0, attempts.rows.length - 1),
    duration_ms: duration,
    first_event_ms: turn.committedAt === undefined ? null : turn.committedAt - turn.at,
    detached_ms: noted.detached_ms ?? null,
    effort: noted.effort ?? null,
    input_tokens: tokens.input_tokens,
    cached_input_tokens: tokens.cached_input_tokens,
    output_tokens: tokens.output_tokens,
    client_address: turn.generation.config.log.client_address ? (turn.address ?? null) : null,
    tokens_estimated: tokens.tokens_estimated,
    configured_mode: noted.configured_mode ?? null,
    effective_mode: noted.effective_mode ?? null,
    mode_source: noted.mode_source ?? null,
    reason_class: noted.reason_class ?? null,
    error_class: noted.error_class ?? null,
    payload_compression: noted.payload_compression ?? null,
    upstream_error_param: noted.upstream_error_param ?? null,
    why: attempts.why,
    outcome: ending.outcome.kind,
  };
}
