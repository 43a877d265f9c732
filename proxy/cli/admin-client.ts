// The client of a running gateway's admin listener; every reply is checked before a command uses it.
import { resolve } from 'node:path';
import { FILE_HEADER } from '../admin/access/stated-file.ts';
import { COMMAND_HEADER } from '../admin/access/web-pages.ts';
import type { RefusalCode } from '../admin/api/endpoint.ts';
import {
  type AccountActionReply,
  isAccountActionReply,
  isAccountTestPlan,
  isAccountTestReply,
  isLoginReply,
  isLoginStateReply,
  type LoginReply,
  type LoginRequest,
  type LoginStateReply,
} from '../admin/replies/account-replies.ts';
import type { AccountTestOrder, AccountTestPlan, AccountTestReply } from '../admin/replies/account-test-report.ts';
import { type ExplainReply, isExplainReply, isRefusal, isReloadReply } from '../admin/replies/configuration-replies.ts';
import { type ConfigurationFileReply, isConfigurationFileReply } from '../admin/replies/edit-replies.ts';
import { isRequestsReply, isTurnReply, type RequestsReply, type TurnReply } from '../admin/replies/log-replies.ts';
import { isStatusReply, type StatusReply } from '../admin/replies/status-reply.ts';
import { isUsageReply, type UsageReply } from '../admin/replies/usage-reply.ts';
import type { Config } from '../config/config.ts';
import type { EditResult } from '../config/file/edits/edit-config.ts';
import { listenersIn } from '../config/file/listeners.ts';
import { readConfig } from '../config/loading/load.ts';
import type { Reloaded } from '../config/loading/reloader.ts';
import type { Finding } from '../config/schema/finding.ts';
import { isObject, type JsonObject } from '../turn/json/json.ts';
import type { Route } from '../turn/turn.ts';
import { CommandFailure, type Io, originOf } from './command.ts';
import type { EditCall } from './edits/edit-calls.ts';

const TIMEOUT_MS = 15_000;

/** A login may wait for a refresh, and its models and its quota are read. */
const LOGIN_TIMEOUT_MS = 40_000;

/** Four turns, each within its own deadline. */
const TEST_TIMEOUT_MS = 540_000;

/** For replies that a command can do without. */
const OPTIONAL_TIMEOUT_MS = 2_000;

/** Where the running gateway is asked, and by whom. */
export interface AdminAddress {
  readonly admin: Config['admin'];
  /** Of an operator: outside loopback the gateway requires it. */
  readonly token: string | undefined;
  /** Absolute path of the command's file: a gateway on another one refuses what is about the file. */
  readonly file: string;
}

/** @param path of the configuration file */
export const adminOf = ({ admin }: Pick<Config, 'admin'>, { env }: Pick<Io, 'env'>, path: string): AdminAddress => ({
  admin,
  token: env.POOLGATE_TOKEN,
  file: resolve(path),
});

/**
 * The address in a file that may have errors elsewhere: that is when the state of a running gateway is of interest.
 * @throws {ConfigError} with the errors of the listeners
 */
export async function adminIn(path: string, io: Pick<Io, 'env'>): Promise<AdminAddress> {
  return adminOf(listenersIn(await readConfig(path), path), io, path);
}

/** No gateway answered. */
export class Unreachable extends CommandFailure {
  /** Whether one took the request, and did not answer in time: what it did is not known. */
  readonly isLate: boolean;

  constructor(message: string, { isLate = false } = {}) {
    super(message);
    this.isLate = isLate;
  }
}

/** The gateway refused, with a reason. */
export class Refused extends CommandFailure {
  readonly status: number;
  readonly code: RefusalCode | undefined;

  constructor(message: string, { status, code, ...how }: RefusedOptions) {
    super(message, how);
    this.status = status;
    this.code = code;
  }
}

interface RefusedOptions {
  readonly status: number;
  readonly code: RefusalCode | undefined;
  readonly exitCode?: 1 | 2;
  readonly findings?: readonly Finding[];
}

/** @throws {CommandFailure} when no gateway answers, or it answers in another form. */
export async function fetchStatus(config: AdminAddress): Promise<StatusReply> {
  const answer = await ask(config, 'GET /api/status');
  if (answer.status === 200 && isStatusReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** The exposed ids of each Pool; undefined where no gateway states them. */
export async function fetchExposed(config: AdminAddress): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  try {
    const { status, body } = await ask(config, 'GET /api/status', { timeoutMs: OPTIONAL_TIMEOUT_MS });
    return status === 200 && isStatusReply(body) ? new Map(body.pools.map(({ pool, models }) => [pool, models])) : undefined;
  } catch (thrown) {
    if (thrown instanceof Unreachable) return undefined;
    throw thrown;
  }
}

/** @throws {CommandFailure} also when the gateway runs on another file */
export async function fetchConfiguration(config: AdminAddress): Promise<ConfigurationFileReply> {
  const answer = await ask(config, 'GET /api/config');
  if (answer.status === 200 && isConfigurationFileReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} also when the gateway refuses the edit, with its reason */
export async function requestEdit(config: AdminAddress, { request, body, result }: EditCall): Promise<EditResult> {
  const answer = await ask(config, request, body === undefined ? {} : { body });
  const edited = answer.status === 200 ? result(answer.body) : undefined;
  if (edited) return edited;
  throw refusal(answer, isRefusal(answer.body) ? `${answer.body.error}:` : '');
}

/**
 * Asks on where the gateway has not searched its whole log in one answer.
 * @param query the filters of `GET /api/requests`
 * @throws {CommandFailure} also when the gateway refuses a filter
 */
export async function fetchRequests(config: AdminAddress, query: Readonly<Record<string, string>>): Promise<RequestsReply> {
  const answer = await ask(config, 'GET /api/requests', { query });
  if (answer.status !== 200 || !isRequestsReply(answer.body)) throw refusal(answer);
  const { searched_from, next_cursor: cursor, ...reply } = answer.body;
  if (searched_from === undefined || cursor === null) return answer.body;
  const { limit = '', ...filters } = query;
  const left = limit === '' ? {} : { limit: String(Number(limit) - reply.rows.length) };
  const further = await fetchRequests(config, { ...filters, ...left, cursor });
  return { ...further, ...reply, rows: [...reply.rows, ...further.rows], more: further.more, next_cursor: further.next_cursor };
}

/** @throws {CommandFailure} also when the gateway refuses a filter */
export async function fetchUsage(config: AdminAddress, query: readonly (readonly [string, string])[]): Promise<UsageReply> {
  const answer = await ask(config, 'GET /api/usage', { query });
  if (answer.status === 200 && isUsageReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} also when the gateway refuses, with its reason */
export async function requestAccountAction(config: AdminAddress, action: 'restore' | 'relogin', id: string): Promise<AccountActionReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/${action}`);
  if (answer.status === 200 && isAccountActionReply(answer.body)) return answer.body;
  throw refusal(answer, 'nothing changed; the file has errors:');
}

/** @throws {CommandFailure} also when the account cannot be tested so, with the reason */
export async function fetchTestPlan(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestPlan> {
  const answer = await ask(config, `GET ${accountPath(id)}/test`, { query: testQuery(order) });
  if (answer.status === 200 && isAccountTestPlan(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} as `fetchTestPlan` */
export async function requestTest(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/test`, { query: testQuery(order), timeoutMs: TEST_TIMEOUT_MS });
  if (answer.status === 200 && isAccountTestReply(answer.body)) return answer.body;
  throw refusal(answer);
}

const accountPath = (id: string): string => `/api/accounts/${encodeURIComponent(id)}`;

const testQuery = ({ model, tools, turn }: AccountTestOrder): Record<string, string> => ({
  tools: String(tools),
  turn: String(turn),
  ...(model !== undefined && { model }),
});

/** What the running gateway knows of an account's login, for the login that replaces it. */
export async function fetchLoginState(config: AdminAddress, id: string): Promise<LoginStateReply> {
  const answer = await ask(config, `GET ${accountPath(id)}/login`);
  if (answer.status === 200 && isLoginStateReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} also when the gateway refuses the login, with its reason */
export async function sendLogin(config: AdminAddress, id: string, request: LoginRequest): Promise<LoginReply> {
  const answer = await ask(config, `POST ${accountPath(id)}/login`, { body: request, timeoutMs: LOGIN_TIMEOUT_MS });
  if (answer.status === 200 && isLoginReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure} also when the gateway refuses its file; then with the findings. */
export async function requestReload(config: AdminAddress): Promise<Reloaded> {
  const answer = await ask(config, 'POST /api/reload');
  if (answer.status === 200 && isReloadReply(answer.body)) return answer.body;
  throw refusal(answer, 'the gateway keeps its configuration; the file has errors:');
}

/** @throws {CommandFailure} also when the gateway's request log has no such turn. */
export async function fetchTurn(config: AdminAddress, id: string): Promise<TurnReply> {
  const answer = await ask(config, `GET /api/requests/${encodeURIComponent(id)}`);
  if (answer.status === 200 && isTurnReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** The reply, or why there is none: a turn can also be explained from the file. */
export type Explained = ExplainReply | { readonly unavailable: string } | { readonly refused: string };

interface ExplainedRequest extends Readonly<Partial<Record<'key' | 'model' | 'session', string | undefined>>> {
  readonly body?: JsonObject | undefined;
}

/**
 * The reply, or why there is none; `refused` where the gateway does not take the body.
 * @param route with its template in the words of `wire`
 */
export async function fetchExplained(
  config: AdminAddress,
  { method, template }: Pick<Route, 'method' | 'template'>,
  { key, model, session, body }: ExplainedRequest,
): Promise<Explained> {
  const query = {
    method,
    path: template,
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(session !== undefined && { session }),
  };
  try {
    const answer = await (body === undefined
      ? ask(config, 'GET /api/explain', { query, timeoutMs: OPTIONAL_TIMEOUT_MS })
      : ask(config, 'POST /api/explain', { query, body }));
    const { status, body: reply } = answer;
    if (status === 200 && isExplainReply(reply)) return reply;
    if ((status === 400 || status === 413) && isRefusal(reply)) return { refused: reply.error };
    if (status === 404 && isObject(reply)) {
      return { unavailable: `the running gateway answers '${String(reply.error)}'; its configuration differs from this file` };
    }
    throw refusal(answer);
  } catch (thrown) {
    if (thrown instanceof CommandFailure) return { unavailable: thrown.message };
    throw thrown;
  }
}

interface Answer {
  /** `GET /api/status`, as it was asked. */
  readonly request: string;
  readonly origin: string;
  readonly status: number;
  /** Undefined for a body that is not JSON. */
  readonly body: unknown;
}

interface AskOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly timeoutMs?: number;
}

async function ask(config: AdminAddress, request: string, { body: sent, query, timeoutMs = TIMEOUT_MS }: AskOptions = {}): Promise<Answer> {
  const origin = adminOrigin(config);
  const [method = '', path = ''] = request.split(' ');
  try {
    const response = await fetch(`${origin}${path}${query ? `?${new URLSearchParams(query as Record<string, string>)}` : ''}`, {
      method,
      // No web page can send this header to another origin without a preflight.
      headers: {
        [COMMAND_HEADER]: '1',
        [FILE_HEADER]: encodeURIComponent(config.file),
        ...(config.token !== undefined && { authorization: `Bearer ${config.token}` }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
      },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body: unknown = await response.json().catch((thrown: unknown) => {
      if (isTimeout(thrown)) throw thrown;
    });
    return { request, origin, status: response.status, body };
  } catch (thrown) {
    throw new Unreachable(
      isTimeout(thrown)
        ? `the gateway at ${origin} did not answer within ${timeoutMs / 1000} s`
        : `no gateway answers at ${origin}; is it running, and on this file?`,
      { isLate: isTimeout(thrown) },
    );
  }
}

const isTimeout = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'TimeoutError';

function adminOrigin({ admin }: AdminAddress): string {
  if (admin === false) {
    throw new Unreachable(
      'the admin listener is turned off in the file (admin: false), so a running gateway cannot be asked; SIGHUP reloads it',
    );
  }
  if (admin.port === 0) throw new Unreachable('the admin listener takes a free port (admin.port: 0), so it cannot be found');
  return originOf(admin);
}

/** The reason of an answer that is no reply. @param faulty what it means that the file has errors */
function refusal(answer: Answer, faulty = ''): CommandFailure {
  const { status, body } = answer;
  if (!REFUSED.has(status) || !isRefusal(body)) return unexpected(answer);
  const { code, error, findings } = body;
  if (status === 401) {
    return new Refused(`${answer.origin} requires an operator: set POOLGATE_TOKEN to a token of one`, { status, code });
  }
  if (findings) return new Refused(faulty, { status, code, findings });
  return new Refused(error, { status, code, exitCode: status === 400 ? 2 : 1 });
}

const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 422]);

const unexpected = ({ request, origin, status }: Answer): CommandFailure =>
  new CommandFailure(
    status === 500
      ? `the gateway failed to answer ${request}; its log has the reason`
      : `the answer of ${origin} to ${request} (HTTP ${status}) is not from a gateway of this version; is another version running?`,
  );
