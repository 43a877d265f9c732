// The possible cost of an account's test, and its results: types for server and clients, and for the gateway's part (AA87).

export interface AccountTestOrder {
  /** The exposed id. Undefined for the first model that the account serves. */
  readonly model: string | undefined;
  /** Whether a call of a tool is forced, and its result is sent after it. */
  readonly tools: boolean;
  /** If false, only the list of models is read. */
  readonly turn: boolean;
}

/** What a test would do. Nothing has been sent yet. */
export interface AccountTestPlan {
  readonly account: string;
  readonly api: string;
  readonly preset: string | null;
  /** The exposed id. Null without a turn. */
  readonly model: string | null;
  /** The carriers that each get a turn. */
  readonly over: readonly TestedCarrier[];
  /** The most that all turns cost together. Null without a turn, or if the model has no price. */
  readonly at_most_usd: number | null;
}

export type TestedCarrier = 'http' | 'websocket';

export interface AccountTestStep {
  readonly step: 'credential' | 'models' | 'turn' | 'tool_result';
  /** Null for a step that is not a turn. */
  readonly over: TestedCarrier | null;
  readonly ok: boolean;
  readonly ms: number;
  /** The time of a turn's first event. Null if no event came. */
  readonly first_event_ms: number | null;
  /** The result in a few words. */
  readonly found: string | null;
  readonly failure: AccountTestFailure | null;
  /** The usage as the gateway understood it. Null if none was stated. */
  readonly usage: AccountTestUsage | null;
  readonly adapted: readonly string[];
  /** Lines for the account's `quirks` that would have avoided the failure, or that the answer calls for. */
  readonly quirks: readonly string[];
}

export interface AccountTestFailure {
  /** The class of the failure: `request`, `credential`, `quota`, `rate`, `server`, `model`, … */
  readonly class: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string | null;
}

export interface AccountTestUsage {
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly estimated: boolean;
}

export interface AccountTestReply {
  readonly plan: AccountTestPlan;
  readonly steps: readonly AccountTestStep[];
  readonly ok: boolean;
}

/** The gateway's part of a test. */
export interface AccountTester {
  /**
   * Returns a text with the reason if the account cannot be tested in this way. Undefined for an account that is not in the running
   * configuration.
   */
  plan(id: string, order: AccountTestOrder): AccountTestPlan | string | undefined;
  run(plan: AccountTestPlan, order: AccountTestOrder): Promise<AccountTestReply>;
}
