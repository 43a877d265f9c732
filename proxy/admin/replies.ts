// The JSON replies of the admin listener: their types for both sides, and the checks of a client that receives one.

import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from '../../store/schema/logged-rows.ts';
import type { ChangedField } from '../../store/schema/rows.ts';
import type { ConfigChange } from '../config/diff.ts';
import type { Reloaded } from '../config/loading/reloader.ts';
import type { Finding } from '../config/schema/finding.ts';
import type { ExplainedAccount } from '../explain/candidates.ts';
import type { ExplainedChain, ExplainedLink } from '../explain/chain.ts';
import type { ExplainedChoice } from '../explain/choice.ts';
import type { ExplainedTurn } from '../explain/explanation.ts';
import type { ExplainedCap } from '../explain/facts.ts';
import { LACKS } from '../turn/provider/lack.ts';
import type { ExplainedMode } from '../turn/rules/rule.ts';
import type { Prices } from '../turn/settings.ts';
import type { AccountTestFailure, AccountTestPlan, AccountTestReply, AccountTestStep, AccountTestUsage } from './account-test-report.ts';
import { boolean, type Check, list, nullable, number, object, oneOf, optional, record, rowOf, string } from './reply-checks.ts';

/** POST /reload, status 200. */
export type ReloadReply = Reloaded;

/** POST /reload, status 422: the file has errors and nothing changed. */
export interface ReloadRefusal {
  readonly findings: readonly Finding[];
}

/** GET /explain. */
export interface ExplainReply {
  /** `versionOf` the running configuration. */
  readonly version: string;
  readonly turns: readonly ExplainedTurn[];
}

/** GET /turn. */
export interface TurnReply {
  readonly turn: RequestRow;
  readonly attempts: readonly AttemptRow[];
}

/** GET /requests. */
export interface RequestsReply {
  /** The gateway's clock, Unix milliseconds: with it a client asks for what has ended since. */
  readonly now: number;
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /** Whether further rows match, which the limit left off. */
  readonly more: boolean;
  /** Rows of the store that cannot be written at the moment: the newest requests may be among them. Absent where all are. */
  readonly unwritten?: number;
}

/** POST /account/restore and POST /account/relogin. */
export interface AccountActionReply {
  readonly account: string;
  /** Whether another credential was found; null where none was looked for. */
  readonly credential: 'imported' | 'unchanged' | null;
  /** What changed; empty where nothing did. */
  readonly fields: readonly ChangedField[];
}

/** The answer of the same routes with status 404 and 409: the reason why nothing changed. */
export interface ActionRefusal {
  readonly error: string;
}

/** GET /account/login: what a login has to know before it begins. */
export interface LoginStateReply {
  readonly account: string;
  /** Whether the running configuration has the account, with an `oauth` section. */
  readonly configured: boolean;
  /** Where it logs in; those of a simulated account are addresses of the running provider. */
  readonly addresses: { readonly token_url: string; readonly device_url: string | null; readonly authorize_url: string | null } | null;
  readonly login: {
    /** A digest that stays the same while the login is refreshed. */
    readonly name: string;
    /** When its current tokens were stored, Unix milliseconds. */
    readonly at: number;
    readonly identity: string | null;
  } | null;
}

/** The body of POST /account/login. */
export interface LoginRequest {
  /** As in a tokens file. */
  readonly tokens: Readonly<Record<string, unknown>>;
  /** Where their expiry is known beside them; Unix milliseconds. */
  readonly expires_at?: number;
  readonly by: 'login' | 'import';
  /** `login.name` of the state before; absent where it does not matter. */
  readonly former?: string | null;
  readonly another_user: boolean;
  /** Of an account that the running configuration does not have yet. */
  readonly identity_claim?: string | readonly string[];
}

/** POST /account/login, status 200. */
export interface LoginReply {
  readonly account: string;
  /** False where it was the login of the account already. */
  readonly stored: boolean;
  /** Null where the tokens do not state it. */
  readonly identity: string | null;
  /** Models of the list that was read with it; null where it was not read. */
  readonly models: number | null;
  /** Why the list of models could not be read. */
  readonly failure: string | null;
  readonly quota: readonly { readonly window: string; readonly used_percent: number }[];
}

/** GET /requests, status 400. */
export interface FilterRefusal {
  /** The filter that cannot be read, and its valid values. */
  readonly error: string;
  readonly param: string;
}

const isChange = object<ConfigChange>({ path: string, kind: oneOf('added', 'removed', 'changed', 'reordered'), restart: boolean });

const isFinding = object<Finding>({
  file: string,
  line: number,
  column: number,
  message: string,
  severity: oneOf('error', 'warning'),
});

const isMode = object<ExplainedMode>({
  configured: oneOf('auto', 'lite', 'full'),
  effective: nullable(oneOf('lite', 'full')),
  source: nullable(oneOf('catalog', 'override')),
  why: string,
});

const isPrices = object<Prices>({ input: number, cached_input: number, output: number });

const isCap = object<ExplainedCap>({
  tier: nullable(number),
  window: oneOf('day', 'month'),
  max: number,
  spent: nullable(number),
  left: nullable(number),
});

const isAccount = object<ExplainedAccount>({
  account: string,
  api: string,
  preset: nullable(string),
  tier: number,
  takes: oneOf('first', 'overflow', 'pinned', 'higher_tier', 'no', 'unknown'),
  lack: nullable(oneOf(...LACKS)),
  prices: nullable(isPrices),
  caps: list(isCap),
  efforts: record(nullable(string)),
  adapted: nullable(list(string)),
  why: string,
});

const isChoice = object<ExplainedChoice>({ account: nullable(string), tied: list(string), reason: nullable(string), why: string });

const isChain = object<ExplainedChain>({
  models: list(object<ExplainedLink>({ model: string, account: nullable(string), why: string })),
  ends: nullable(string),
});

const isExplainedTurn = object<ExplainedTurn>({
  pool: string,
  key: nullable(string),
  model: nullable(string),
  alias: nullable(string),
  refused: nullable(string),
  mode: nullable(isMode),
  rules: record(string),
  accounts: list(isAccount),
  choice: nullable(isChoice),
  chain: nullable(isChain),
});

const isRequestRow = rowOf(REQUEST);
const isAttemptRow = rowOf(ATTEMPT);

export const isReloadReply = object<ReloadReply>({ version: string, changes: list(isChange), warnings: list(isFinding) });
export const isReloadRefusal = object<ReloadRefusal>({ findings: list(isFinding) });
export const isExplainReply = object<ExplainReply>({ version: string, turns: list(isExplainedTurn) });
export const isTurnReply = object<TurnReply>({ turn: isRequestRow, attempts: list(isAttemptRow) });
const isRequests = object<RequestsReply>({ now: number, rows: list(isRequestRow), more: boolean });
export const isRequestsReply: Check<RequestsReply> = (value): value is RequestsReply =>
  isRequests(value) && optional(number)(value.unwritten);
export const isFilterRefusal = object<FilterRefusal>({ error: string, param: string });

const isAddresses = object<NonNullable<LoginStateReply['addresses']>>({
  token_url: string,
  device_url: nullable(string),
  authorize_url: nullable(string),
});

export const isLoginStateReply = object<LoginStateReply>({
  account: string,
  configured: boolean,
  addresses: nullable(isAddresses),
  login: nullable(object<NonNullable<LoginStateReply['login']>>({ name: string, at: number, identity: nullable(string) })),
});

const isAnything = (value: unknown): value is unknown => value !== undefined;

const isOrder = object<LoginRequest>({ tokens: record(isAnything), by: oneOf('login', 'import'), another_user: boolean });

const isClaim = (value: unknown): value is string | readonly string[] => string(value) || list(string)(value);

export const isLoginRequest: Check<LoginRequest> = (value): value is LoginRequest => {
  if (!isOrder(value)) return false;
  const { expires_at, former, identity_claim } = value as Partial<LoginRequest>;
  return optional(number)(expires_at) && optional(nullable(string))(former) && optional(isClaim)(identity_claim);
};

export const isLoginReply = object<LoginReply>({
  account: string,
  stored: boolean,
  identity: nullable(string),
  models: nullable(number),
  failure: nullable(string),
  quota: list(object<LoginReply['quota'][number]>({ window: string, used_percent: number })),
});

const isScalar = (value: unknown): value is ChangedField['from'] =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

export const isAccountActionReply = object<AccountActionReply>({
  account: string,
  credential: nullable(oneOf('imported', 'unchanged')),
  fields: list(object<ChangedField>({ path: string, from: isScalar, to: isScalar })),
});
export const isActionRefusal = object<ActionRefusal>({ error: string });

export const isAccountTestPlan = object<AccountTestPlan>({
  account: string,
  api: string,
  preset: nullable(string),
  model: nullable(string),
  over: list(oneOf('http', 'websocket')),
  at_most_usd: nullable(number),
});

const isTestFailure = object<AccountTestFailure>({
  class: string,
  status: nullable(number),
  code: nullable(string),
  param: nullable(string),
  message: nullable(string),
});

const isTestUsage = object<AccountTestUsage>({
  input_tokens: nullable(number),
  cached_input_tokens: nullable(number),
  output_tokens: nullable(number),
  reasoning_tokens: nullable(number),
  estimated: boolean,
});

const isTestStep = object<AccountTestStep>({
  step: oneOf('credential', 'models', 'turn', 'tool_result'),
  over: nullable(oneOf('http', 'websocket')),
  ok: boolean,
  ms: number,
  first_event_ms: nullable(number),
  found: nullable(string),
  failure: nullable(isTestFailure),
  usage: nullable(isTestUsage),
  adapted: list(string),
  quirks: list(string),
});

export const isAccountTestReply = object<AccountTestReply>({ plan: isAccountTestPlan, steps: list(isTestStep), ok: boolean });
