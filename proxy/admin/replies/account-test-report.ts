// What a test of an account may cost, and what it found: the types of both sides, and of the gateway's part (AA87).

export interface AccountTestOrder {
  /** Exposed id; undefined for the first model that the account serves. */
  readonly model: string | undefined;
  /** Whether a call of a tool is forced, and its result is sent after it. */
  readonly tools: boolean;
  /** False: only the list of models is read. */
  readonly turn: boolean;
}

/** What a test would do, before anything is sent. */
export interface AccountTestPlan {
  readonly account: string;
  readonly api: string;
  readonly preset: string | null;
  /** Exposed id; null without a turn. */
  readonly model: string | null;
  /** The carriers that get a turn each. */
  readonly over: readonly TestedCarrier[];
  /** The most that all its turns cost; null without a turn, and where the model has no price. */
  readonly at_most_usd: number | null;
}

export type TestedCarrier = 'http' | 'websocket';

export interface AccountTestStep {
  readonly step: 'credential' | 'models' | 'turn' | 'tool_result';
  /** Null for a step that is no turn. */
  readonly over: TestedCarrier | null;
  readonly ok: boolean;
  readonly ms: number;
  /** Of a turn; null where no event came. */
  readonly first_event_ms: number | null;
  /** What was found, in a few words. */
  readonly found: string | null;
  readonly failure: AccountTestFailure | null;
  /** As the gateway understood it; null where none was stated. */
  readonly usage: AccountTestUsage | null;
  readonly adapted: readonly string[];
  /** Lines for the account's `quirks` that would have avoided the failure, or that the answer asks for. */
  readonly quirks: readonly string[];
}

export interface AccountTestFailure {
  /** Its class: `request`, `credential`, `quota`, `rate`, `server`, `model`, … */
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
  /** A text where the account cannot be tested so: the reason. Undefined for an account that is not in the running configuration. */
  plan(id: string, order: AccountTestOrder): AccountTestPlan | string | undefined;
  run(plan: AccountTestPlan, order: AccountTestOrder): Promise<AccountTestReply>;
}
