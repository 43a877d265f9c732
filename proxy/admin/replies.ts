// The JSON replies of the admin listener: their types for both sides, and the checks of a client that receives one.

import type { AttemptRow, RequestRow, Why } from '../../store/rows.ts';
import type { Change, Json } from '../config/diff.ts';
import type { Finding } from '../config/finding.ts';
import type { Reloaded } from '../config/reloader.ts';
import type { ExplainedAccount } from '../explain/candidates.ts';
import type { ExplainedChoice } from '../explain/choice.ts';
import type { ExplainedTurn } from '../explain/explanation.ts';
import type { ExplainedMode } from '../turn/rule.ts';

/** GET /status. Members beside these are for people, and differ between versions. */
export interface StatusReply {
  /** `versionOf` the running configuration. */
  readonly version: string;
  /** `redact` of the running configuration. */
  readonly config: Json;
}

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

type Check<Value> = (value: unknown) => value is Value;

const string = (value: unknown): value is string => typeof value === 'string';
const number = (value: unknown): value is number => typeof value === 'number';
const boolean = (value: unknown): value is boolean => typeof value === 'boolean';

const oneOf =
  <Word extends string>(...words: readonly Word[]): Check<Word> =>
  (value): value is Word =>
    (words as readonly unknown[]).includes(value);

const nullable =
  <Value>(check: Check<Value>): Check<Value | null> =>
  (value): value is Value | null =>
    value === null || check(value);

const list =
  <Value>(check: Check<Value>): Check<readonly Value[]> =>
  (value): value is readonly Value[] =>
    Array.isArray(value) && value.every(check);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What came out of `JSON.parse`. */
const isConfig = (value: unknown): value is Json => isRecord(value);

const record =
  <Value>(check: Check<Value>): Check<Readonly<Record<string, Value>>> =>
  (value): value is Readonly<Record<string, Value>> =>
    isRecord(value) && Object.values(value).every(check);

/** A check for each required member of `Reply`: a member without one does not compile. Further members are accepted. */
type Checks<Reply> = { readonly [Name in keyof Reply as undefined extends Reply[Name] ? never : Name]-?: Check<Reply[Name]> };

const object =
  <Reply extends object>(checks: Checks<Reply>): Check<Reply> =>
  (value): value is Reply =>
    isRecord(value) && Object.entries<(value: unknown) => boolean>(checks).every(([name, check]) => check(value[name]));

const isChange = object<Change>({ path: string, kind: oneOf('added', 'removed', 'changed', 'reordered'), restart: boolean });

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

const isAccount = object<ExplainedAccount>({
  account: string,
  takes: oneOf('first', 'overflow', 'pinned', 'no', 'unknown'),
  why: string,
});

const isChoice = object<ExplainedChoice>({ account: nullable(string), tied: list(string), reason: nullable(string), why: string });

const isExplainedTurn = object<ExplainedTurn>({
  pool: string,
  key: nullable(string),
  model: nullable(string),
  refused: nullable(string),
  mode: nullable(isMode),
  rules: record(string),
  accounts: list(isAccount),
  choice: nullable(isChoice),
});

const isWhy = object<Why>({ reason: string, others: record(number) });

const isRequestRow = object<RequestRow>({
  id: string,
  at: number,
  family: string,
  endpoint: string,
  method: string,
  status: number,
  status_class: string,
  pool: nullable(string),
  pool_label: nullable(string),
  account: nullable(string),
  key_id: nullable(string),
  model: nullable(string),
  code: nullable(string),
  retries: number,
  duration_ms: number,
  input_tokens: nullable(number),
  cached_input_tokens: nullable(number),
  output_tokens: nullable(number),
  tokens_estimated: boolean,
  configured_mode: nullable(oneOf('auto', 'lite', 'full')),
  effective_mode: nullable(oneOf('lite', 'full')),
  mode_source: nullable(oneOf('catalog', 'override')),
  reason_class: nullable(string),
  error_class: nullable(string),
  payload_compression: nullable(record(number)),
  upstream_error_param: nullable(string),
  why: nullable(isWhy),
  outcome: oneOf('completed', 'incomplete', 'failed', 'cut', 'client_gone', 'refused'),
});

const isAttemptRow = object<AttemptRow>({
  request_id: string,
  ordinal: number,
  at: number,
  account: string,
  cause: string,
  status: nullable(number),
  error_class: nullable(string),
  duration_ms: number,
  upstream_error_param: nullable(string),
});

export const isStatusReply = object<StatusReply>({ version: string, config: isConfig });
export const isReloadReply = object<ReloadReply>({ version: string, changes: list(isChange), warnings: list(isFinding) });
export const isReloadRefusal = object<ReloadRefusal>({ findings: list(isFinding) });
export const isExplainReply = object<ExplainReply>({ version: string, turns: list(isExplainedTurn) });
export const isTurnReply = object<TurnReply>({ turn: isRequestRow, attempts: list(isAttemptRow) });
