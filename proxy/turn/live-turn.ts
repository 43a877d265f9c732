// One turn from arrival to its single end: what rules see of it, and the metadata it leaves behind.
import type { AttemptRow, RequestRow, Why } from '../../store/rows.ts';
import type { ClientConnection } from '../clients/http/client-connection.ts';
import type { LoadedConfig } from '../config/config.ts';
import type { Generation } from '../gateway/generation.ts';
import type { Reservation } from '../keys/reservation.ts';
import type { Tokens } from '../keys/usage-totals.ts';
import { requestId } from '../request-id.ts';
import type { Continuation } from '../sessions/continuity.ts';
import { promptOf } from './prompt.ts';
import type { Refusal } from './refusal.ts';
import { RuleRun } from './rule-chain.ts';
import type { AccountConfig, KeyConfig, Limits, PoolConfig, WireWords } from './settings.ts';
import type { Event, Headers, ModelView, Outcome, Route, SafeFields, Turn, Work } from './turn.ts';

/** Shorter values are words, and would be found in every text. */
const SHORTEST_SECRET = 8;

/** What a turn asks of the process around it. */
export interface TurnHost {
  readonly now: () => number;
  /** Runs once after `ms` milliseconds; what it returns cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** The credential that an account is asked with. */
  secretOf(account: string, loaded: LoadedConfig): string | undefined;
  findModel(generation: Generation, pool: PoolConfig, id: string): ModelView | undefined | Promise<ModelView | undefined>;
  /** Milliseconds until the first source of a model that cools down is back. */
  recoversIn(pool: PoolConfig, id: string): number | undefined;
  /** Takes the one log row of an ended turn, and its attempts. Never throws, never waits. */
  record(row: RequestRow, attempts: readonly AttemptRow[], turn: LiveTurn): void;
  /** Takes what nobody foresaw, of the turn with this id. Never throws. */
  fault(thrown: unknown, requestId: string): void;
}

export interface Arrival {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly client: 'http' | 'websocket';
  readonly method: string;
  readonly headers: Headers;
  readonly connection: ClientConnection;
}

/** Where a turn stands when it ends: what the client was told. */
export interface Ending {
  readonly outcome: Outcome;
  /** The status the client got; 499 when it left before one. */
  readonly status: number;
  readonly code: string | null;
}

export class LiveTurn implements Turn {
  readonly id: string;
  readonly at: number;
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly client: 'http' | 'websocket';
  readonly method: string;
  readonly headers: Headers;
  readonly generation: Generation;
  readonly rules: RuleRun;
  model: ModelView | undefined;
  /** The account that answered, or was tried last. */
  account: Pick<AccountConfig, 'id' | 'label' | 'headers'> | undefined;
  why: Why | undefined;
  /** What is asked, once it has been read. */
  work: Work | undefined;
  /** Set once the turn has reserved its share of the key's limits. */
  bill: Reservation | undefined;
  /** Set before an account is chosen. */
  continuation: Continuation | undefined;
  readonly attempts: AttemptRow[] = [];
  #identity: { readonly key: KeyConfig; readonly pool: PoolConfig } | undefined;
  #ending: Ending | undefined;
  #recorded = false;
  readonly #connection: ClientConnection;
  readonly #host: TurnHost;
  readonly #noted: Partial<SafeFields> = {};

  constructor(arrival: Arrival, generation: Generation, host: TurnHost) {
    this.at = host.now();
    this.id = requestId(this.at);
    this.route = arrival.route;
    this.params = arrival.params;
    this.client = arrival.client;
    this.method = arrival.method;
    this.headers = arrival.headers;
    this.generation = generation;
    this.#connection = arrival.connection;
    this.#host = host;
    this.rules = new RuleRun(generation.chains.of(arrival.route.kind), this);
  }

  get wire(): WireWords {
    return this.generation.config.wire;
  }

  get limits(): Limits {
    return this.generation.config.limits;
  }

  get key(): KeyConfig {
    return this.#known().key;
  }

  get pool(): PoolConfig {
    return this.#known().pool;
  }

  /** Q2, Q15, Q17: native streams are relayed, all others are the compatible surface. */
  get native(): boolean {
    return this.route.kind === 'responses' || this.route.kind === 'compact' || this.route.kind === 'forward';
  }

  now(): number {
    return this.#host.now();
  }

  /** What the account was sent of its own: never to be shown, whoever says it. */
  secrets(): readonly string[] {
    if (!this.account) return [];
    const bearer = this.#host.secretOf(this.account.id, this.generation.loaded);
    const own = Object.values(this.account.headers).filter(({ length }) => length >= SHORTEST_SECRET);
    return bearer === undefined ? own : [bearer, ...own];
  }

  /** What the client said, as far as it is text: a provider might repeat it. */
  prompt(): string {
    return promptOf(this.work?.body);
  }

  after(ms: number, run: () => void): () => void {
    return this.#host.after(ms, run);
  }

  /** Tells operators that something unforeseen happened in this turn. */
  fault(thrown: unknown): void {
    this.#host.fault(thrown, this.id);
  }

  identify(secret: string): KeyConfig | undefined {
    const key = this.#connection.keyOf(secret, this.generation);
    const pool = key && this.generation.pools.get(key.pool);
    if (!pool) return undefined;
    this.#identity = { key, pool };
    return key;
  }

  findModel(id: string): ModelView | undefined | Promise<ModelView | undefined> {
    return this.#host.findModel(this.generation, this.pool, id);
  }

  recoversIn(): number | undefined {
    return this.model && this.#host.recoversIn(this.pool, this.model.id);
  }

  note<F extends keyof SafeFields>(field: F, value: SafeFields[F]): void {
    this.#noted[field] = value;
  }

  /** The turn is decided: runs the rules' end phases. A second call does nothing. Never throws. */
  end(ending: Ending): readonly (Event | Refusal)[] {
    if (this.#ending) return [];
    this.#ending = ending;
    return this.rules.end(ending.outcome, (thrown) => this.fault(thrown));
  }

  /** Leaves the one log row, once everything that belongs to the turn is over. Never throws. */
  record(): void {
    if (!this.#ending || this.#recorded) return;
    this.#recorded = true;
    const { outcome, status, code } = this.#ending;
    try {
      this.#host.record(this.#row(outcome, status, code), this.attempts, this);
    } catch (thrown) {
      this.fault(thrown);
    }
  }

  #known(): { readonly key: KeyConfig; readonly pool: PoolConfig } {
    if (!this.#identity) throw new Error('the turn has not been authenticated');
    return this.#identity;
  }

  /** As the provider states them; of a turn that broke off before it did, an estimate (Q18). */
  #tokens({ kind }: Outcome): Tokens & Pick<RequestRow, 'tokens_estimated'> {
    const { input_tokens = null, cached_input_tokens = null, output_tokens = null, tokens_estimated = false } = this.#noted;
    const stated = { input_tokens, cached_input_tokens, output_tokens, tokens_estimated };
    const brokeOff = (kind === 'cut' || kind === 'client_gone') && this.attempts.length > 0;
    if (!brokeOff || input_tokens !== null || output_tokens !== null) return stated;
    const estimate = this.bill?.estimatedUsage();
    return estimate ? { ...estimate, tokens_estimated: true } : stated;
  }

  #row(outcome: Outcome, status: number, code: string | null): RequestRow {
    const noted = this.#noted;
    const tokens = this.#tokens(outcome);
    return {
      id: this.id,
      at: this.at,
      family: this.route.family,
      endpoint: this.route.template,
      method: this.method,
      status,
      status_class: `${Math.floor(status / 100)}xx`,
      pool: this.#identity?.pool.id ?? null,
      pool_label: this.#identity?.pool.label ?? null,
      account: this.account?.label ?? null,
      key_id: this.#identity?.key.id ?? null,
      model: noted.model ?? null,
      code,
      retries: Math.max(0, this.attempts.length - 1),
      duration_ms: Math.max(0, this.#host.now() - this.at),
      input_tokens: tokens.input_tokens,
      cached_input_tokens: tokens.cached_input_tokens,
      output_tokens: tokens.output_tokens,
      tokens_estimated: tokens.tokens_estimated,
      configured_mode: noted.configured_mode ?? null,
      effective_mode: noted.effective_mode ?? null,
      mode_source: noted.mode_source ?? null,
      reason_class: noted.reason_class ?? null,
      error_class: noted.error_class ?? null,
      payload_compression: (noted.payload_compression as Record<string, number> | undefined) ?? null,
      upstream_error_param: noted.upstream_error_param ?? null,
      why: this.why ?? null,
      outcome: outcome.kind,
    };
  }
}
