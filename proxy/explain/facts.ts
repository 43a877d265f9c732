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

/** The part of a configuration that explanations read: all of it, or what one operator may see. */
export type ExplainedConfig = Pick<Config, 'accounts' | 'keys' | 'pools'>;

export interface Facts extends TurnFacts {
  readonly config: ExplainedConfig;
  /** Undefined without the running gateway, or without a model. */
  readonly live: LiveModel | undefined;
  readonly providerOf: ProviderOf;
  /** What its body shows; undefined if none is given, or without the running gateway. */
  readonly preview: TurnPreview | undefined;
  /** The caps of the Pool's higher tiers. */
  readonly caps: readonly ExplainedCap[];
  /** By account, for such turns. */
  readonly lacking: ReadonlyMap<string, Lack>;
  /** The session that the turn names; undefined if it names none. */
  readonly session: ExplainedSession | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A session as the store has it. */
export interface ExplainedSession {
  /** The account of its last turn; undefined for a session that is not known. */
  readonly account: string | undefined;
}

/** The running gateway's catalogs and account health, without a request to any account. */
export interface LiveModels {
  model(pool: PoolConfig, id: string): LiveModel;
  caps(pool: PoolConfig): readonly ExplainedCap[];
}

/** A cap of higher tiers in US dollars (AA69). */
export interface ExplainedCap {
  /** Null for all tiers above 0 together. */
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
  /** What its rules refuse it with, such as `400 unsupported_parameter at tools.2.type`. */
  readonly refused: string | undefined;
  /** The account that it must go to: it continues a response of it, or has files there (Q10). */
  readonly hard: string | undefined;
  readonly accounts: ReadonlyMap<string, PreviewedAttempt>;
  /** US dollars, with the least output (AA69). */
  readonly leastCost: (prices: Prices) => number;
}

/** The turn as one account would get it. */
export interface PreviewedAttempt {
  readonly lack: Lack | undefined;
  /** Names of what its encoding changes or removes (AA16). */
  readonly adapted: readonly string[];
  /** Undefined if the turn asks for none. */
  readonly effort: string | undefined;
}

export interface LiveModel {
  /** In the whole Pool: `routable`, `unroutable`, `invisible`, `suppressed`, `absent`; `unknown` before any of its catalogs was read. */
  readonly presence: string;
  readonly mode: ModeDecision | undefined;
  /** Such a model takes no turns. */
  readonly makesEmbeddings: boolean;
  /** The entry of the canonical cohort; undefined for a model that is absent. */
  readonly entry: JsonObject | undefined;
  readonly sources: readonly LiveSource[];
  /** What a turn would get while no account can take it, such as `429 usage_limit_reached`; undefined while one can. */
  readonly refusal: string | undefined;
}

/** An account of the Pool that lists the model. */
export interface LiveSource {
  readonly account: string;
  /** In the canonical cohort; outside it with a window of at least the same size; or with a smaller one, for pinned turns only (Q12). `higher`: in a higher tier. */
  readonly place: 'cohort' | 'overflow' | 'smaller' | 'higher';
  /** The tier of its assignment (AA65). */
  readonly tier: number;
  readonly routable: boolean;
  /** Whether its own entry has a literal `true`. */
  readonly lite: boolean;
  /** The context window that its entry states, in tokens. */
  readonly window: number | undefined;
  /** Undefined if the configuration excludes the account. */
  readonly standing: Standing | undefined;
  /** What is known of the model at an API account. */
  readonly own: AccountModel | undefined;
}
