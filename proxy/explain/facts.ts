// The facts of one turn from which it is explained: configuration, mode, and the state of the running gateway.
import type { Standing } from '../accounts/selection/candidate-accounts.ts';
import type { Config } from '../config/config.ts';
import type { JsonObject } from '../turn/json/json.ts';
import type { AccountModel } from '../turn/provider/account-model.ts';
import type { Lack } from '../turn/provider/lack.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { TurnFacts } from '../turn/rules/rule.ts';
import type { KeyConfig, PoolConfig, Prices } from '../turn/settings.ts';
import type { ModeDecision, Route } from '../turn/turn.ts';

/** The part of a configuration that explanations read. It may be limited to what one operator may see. */
export type ExplainedConfig = Pick<Config, 'accounts' | 'keys' | 'pools'>;

export interface Facts extends TurnFacts {
  readonly config: ExplainedConfig;
  /** Undefined without the running gateway, or without a model. */
  readonly live: LiveModel | undefined;
  readonly providerOf: ProviderOf;
  /** What the turn's body shows. Undefined if no body is given, or without the running gateway. */
  readonly preview: TurnPreview | undefined;
  /** The caps of the Pool's higher tiers. */
  readonly caps: readonly ExplainedCap[];
  /** What accounts lack for such turns, by account. */
  readonly lacking: ReadonlyMap<string, Lack>;
  /** The session that the turn names; undefined if it names none. */
  readonly session: ExplainedSession | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A session in the store. */
export interface ExplainedSession {
  /** The account of its last turn; undefined if the session is unknown. */
  readonly account: string | undefined;
}

/** The catalogs and the health of accounts in the running gateway. No account is contacted. */
export interface LiveModels {
  model(pool: PoolConfig, id: string): LiveModel;
  caps(pool: PoolConfig): readonly ExplainedCap[];
}

/** A cap of higher tiers in US dollars (AA69). */
export interface ExplainedCap {
  /** The tier of the cap. Null for all tiers above 0 together. */
  readonly tier: number | null;
  readonly window: 'day' | 'month';
  readonly max: number;
  /** Null without the running gateway. */
  readonly spent: number | null;
  readonly left: number | null;
}

/** Runs a request through its rules and encodes it for each account. Nothing is sent (AA85). */
export interface TurnPreviews {
  of(request: PreviewedRequest): Promise<TurnPreview>;
}

export interface PreviewedRequest {
  readonly route: Route;
  readonly pool: PoolConfig;
  /** Undefined for any key of the Pool. */
  readonly key: KeyConfig | undefined;
  readonly body: JsonObject;
}

export interface TurnPreview {
  /** The refusal of its rules, such as `400 unsupported_parameter at tools.2.type`. */
  readonly refused: string | undefined;
  /** The account that the turn must go to, because it continues a response or has files there (Q10). */
  readonly hard: string | undefined;
  readonly accounts: ReadonlyMap<string, PreviewedAttempt>;
  /** The cost in US dollars with the least output (AA69). */
  readonly leastCost: (prices: Prices) => number;
}

/** The turn in the form that one account would get. */
export interface PreviewedAttempt {
  readonly lack: Lack | undefined;
  /** The names of what the encoding changes or removes (AA16). */
  readonly adapted: readonly string[];
  /** Undefined if the turn asks for none. */
  readonly effort: string | undefined;
}

export interface LiveModel {
  /**
   * The presence in the whole Pool: `routable`, `unroutable`, `invisible`, `suppressed`, `absent`. `unknown` before any catalog of the Pool
   * was read.
   */
  readonly presence: string;
  readonly mode: ModeDecision | undefined;
  /** Whether the model makes embeddings. Such a model takes no turns. */
  readonly makesEmbeddings: boolean;
  /** The entry of the canonical cohort. Undefined if the model is absent. */
  readonly entry: JsonObject | undefined;
  readonly sources: readonly LiveSource[];
  /** The answer that a turn would get if no account can take it now, such as `429 usage_limit_reached`. Undefined if one can. */
  readonly refusal: string | undefined;
}

/** An account of the Pool that lists the model. */
export interface LiveSource {
  readonly account: string;
  /**
   * `cohort`: in the canonical cohort. `overflow`: outside it, with a window of at least the same size. `smaller`: with a smaller window,
   * for pinned turns only (Q12). `higher`: in a higher tier.
   */
  readonly place: 'cohort' | 'overflow' | 'smaller' | 'higher';
  /** The tier of its assignment (AA65). */
  readonly tier: number;
  readonly routable: boolean;
  /** Whether the account's entry has a literal `true` for Lite. */
  readonly lite: boolean;
  /** The context window in the account's entry, in tokens. */
  readonly window: number | undefined;
  /** Undefined if the configuration excludes the account. */
  readonly standing: Standing | undefined;
  /** What is known of the model at an API account. */
  readonly own: AccountModel | undefined;
}
