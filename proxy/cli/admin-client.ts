// The client of a running gateway's admin listener; every reply is checked before a command uses it.
import type { AccountTestOrder, AccountTestPlan, AccountTestReply } from '../admin/account-test-report.ts';
import {
  type AccountActionReply,
  type ExplainReply,
  isAccountActionReply,
  isAccountTestPlan,
  isAccountTestReply,
  isActionRefusal,
  isExplainReply,
  isFilterRefusal,
  isLoginReply,
  isLoginStateReply,
  isReloadRefusal,
  isReloadReply,
  isRequestsReply,
  isTurnReply,
  type LoginReply,
  type LoginRequest,
  type LoginStateReply,
  type ReloadReply,
  type RequestsReply,
  type TurnReply,
} from '../admin/replies.ts';
import { isRunningReply, isStatusReply, type RunningReply, type StatusReply } from '../admin/status-reply.ts';
import type { Config } from '../config/config.ts';
import { listenersIn } from '../config/file/listeners.ts';
import { readConfig } from '../config/loading/load.ts';
import { isObject, type JsonObject } from '../turn/json/json.ts';
import type { Route } from '../turn/turn.ts';
import { CommandFailure, originOf } from './command.ts';

const TIMEOUT_MS = 15_000;

/** A login may wait for a refresh, and its models and its quota are read. */
const LOGIN_TIMEOUT_MS = 40_000;

/** Four turns, each within its own deadline. */
const TEST_TIMEOUT_MS = 540_000;

/** For replies that a command can do without. */
const OPTIONAL_TIMEOUT_MS = 2_000;

/** The part of the configuration with the address of the running gateway's admin listener. */
export type AdminAddress = Pick<Config, 'admin'>;

/**
 * The address in a file that may have errors elsewhere: that is when the state of a running gateway is of interest.
 * @throws {ConfigError} with the errors of the listeners
 */
export async function adminIn(path: string): Promise<AdminAddress> {
  return listenersIn(await readConfig(path), path);
}

/** No gateway answered. */
export class Unreachable extends CommandFailure {}

/** @throws {CommandFailure} when no gateway answers, or it answers in another form. */
export async function fetchStatus(config: AdminAddress): Promise<StatusReply> {
  const answer = await ask(config, 'GET /status');
  if (answer.status === 200 && isStatusReply(answer.body)) return answer.body;
  throw unexpected(answer);
}

/** The exposed ids of each Pool; undefined where no gateway states them. */
export async function fetchExposed(config: AdminAddress): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  try {
    const { status, body } = await ask(config, 'GET /status', { timeoutMs: OPTIONAL_TIMEOUT_MS });
    return status === 200 && isStatusReply(body) ? new Map(body.pools.map(({ pool, models }) => [pool, models])) : undefined;
  } catch (thrown) {
    if (thrown instanceof Unreachable) return undefined;
    throw thrown;
  }
}

/**
 * The part of the status that a comparison of configurations needs; every version replies it.
 * @throws {CommandFailure} when no gateway answers, or it answers in another form.
 */
export async function fetchRunning(config: AdminAddress): Promise<RunningReply> {
  const answer = await ask(config, 'GET /status');
  if (answer.status === 200 && isRunningReply(answer.body)) return answer.body;
  throw unexpected(answer);
}

/**
 * @param query the filters of `GET /requests`
 * @throws {CommandFailure} also when the gateway refuses a filter
 */
export async function fetchRequests(config: AdminAddress, query: Readonly<Record<string, string>>): Promise<RequestsReply> {
  const answer = await ask(config, 'GET /requests', { query });
  const { status, body } = answer;
  if (status === 200 && isRequestsReply(body)) return body;
  if (status === 400 && isFilterRefusal(body)) throw new CommandFailure(body.error, { exitCode: 2 });
  throw unexpected(answer);
}

/** @throws {CommandFailure} also when the gateway refuses, with its reason */
export async function requestAccountAction(config: AdminAddress, action: 'restore' | 'relogin', id: string): Promise<AccountActionReply> {
  const answer = await ask(config, `POST /account/${action}`, { query: { id } });
  const { status, body } = answer;
  if (status === 200 && isAccountActionReply(body)) return body;
  if (status === 422 && isReloadRefusal(body)) {
    throw new CommandFailure('nothing changed; the file has errors:', { findings: body.findings });
  }
  if ((status === 404 || status === 409) && isActionRefusal(body)) throw new CommandFailure(body.error);
  throw unexpected(answer);
}

/** @throws {CommandFailure} also when the account cannot be tested so, with the reason */
export async function fetchTestPlan(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestPlan> {
  const answer = await ask(config, 'GET /account/test', { query: testQuery(id, order) });
  const { status, body } = answer;
  if (status === 200 && isAccountTestPlan(body)) return body;
  if ((status === 404 || status === 409) && isActionRefusal(body)) throw new CommandFailure(body.error);
  throw unexpected(answer);
}

/** @throws {CommandFailure} as `fetchTestPlan` */
export async function requestTest(config: AdminAddress, id: string, order: AccountTestOrder): Promise<AccountTestReply> {
  const answer = await ask(config, 'POST /account/test', { query: testQuery(id, order), timeoutMs: TEST_TIMEOUT_MS });
  const { status, body } = answer;
  if (status === 200 && isAccountTestReply(body)) return body;
  if ((status === 404 || status === 409) && isActionRefusal(body)) throw new CommandFailure(body.error);
  throw unexpected(answer);
}

const testQuery = (id: string, { model, tools, turn }: AccountTestOrder): Record<string, string> => ({
  id,
  tools: String(tools),
  turn: String(turn),
  ...(model !== undefined && { model }),
});

/** What the running gateway knows of an account's login, for the login that replaces it. */
export async function fetchLoginState(config: AdminAddress, id: string): Promise<LoginStateReply> {
  const answer = await ask(config, 'GET /account/login', { query: { id } });
  if (answer.status === 200 && isLoginStateReply(answer.body)) return answer.body;
  throw unexpected(answer);
}

/** @throws {CommandFailure} also when the gateway refuses the login, with its reason */
export async function sendLogin(config: AdminAddress, id: string, request: LoginRequest): Promise<LoginReply> {
  const answer = await ask(config, 'POST /account/login', { query: { id }, body: request, timeoutMs: LOGIN_TIMEOUT_MS });
  const { status, body } = answer;
  if (status === 200 && isLoginReply(body)) return body;
  if ((status === 400 || status === 409) && isActionRefusal(body)) throw new CommandFailure(body.error);
  throw unexpected(answer);
}

/** @throws {CommandFailure} also when the gateway refuses its file; then with the findings. */
export async function requestReload(config: AdminAddress): Promise<ReloadReply> {
  const answer = await ask(config, 'POST /reload');
  const { status, body } = answer;
  if (status === 200 && isReloadReply(body)) return body;
  if (status === 422 && isReloadRefusal(body)) {
    throw new CommandFailure('the gateway keeps its configuration; the file has errors:', { findings: body.findings });
  }
  throw unexpected(answer);
}

/** @throws {CommandFailure} also when the gateway's request log has no such turn. */
export async function fetchTurn(config: AdminAddress, id: string): Promise<TurnReply> {
  const answer = await ask(config, 'GET /turn', { query: { id } });
  if (answer.status === 404) throw new CommandFailure(`the request log has no turn '${id}'`);
  if (answer.status === 200 && isTurnReply(answer.body)) return answer.body;
  throw unexpected(answer);
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
      ? ask(config, 'GET /explain', { query, timeoutMs: OPTIONAL_TIMEOUT_MS })
      : ask(config, 'POST /explain', { query, body }));
    const { status, body: reply } = answer;
    if (status === 200 && isExplainReply(reply)) return reply;
    if ((status === 400 || status === 413) && isActionRefusal(reply)) return { refused: reply.error };
    if (status === 404 && isObject(reply)) {
      return { unavailable: `the running gateway answers '${String(reply.error)}'; its configuration differs from this file` };
    }
    throw unexpected(answer);
  } catch (thrown) {
    if (thrown instanceof CommandFailure) return { unavailable: thrown.message };
    throw thrown;
  }
}

interface Answer {
  /** `GET /status`, as it was asked. */
  readonly request: string;
  readonly origin: string;
  readonly status: number;
  /** Undefined for a body that is not JSON. */
  readonly body: unknown;
}

interface AskOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

async function ask(config: AdminAddress, request: string, { body: sent, query, timeoutMs = TIMEOUT_MS }: AskOptions = {}): Promise<Answer> {
  const origin = adminOrigin(config);
  const [method = '', path = ''] = request.split(' ');
  try {
    const response = await fetch(`${origin}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      method,
      // No web page can send this header to another origin without a preflight.
      headers: { 'x-poolgate-command': '1', ...(sent !== undefined && { 'content-type': 'application/json' }) },
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

const unexpected = ({ request, origin, status }: Answer): CommandFailure =>
  new CommandFailure(
    status === 500
      ? `the gateway failed to answer ${request}; its log has the reason`
      : `the answer of ${origin} to ${request} (HTTP ${status}) is not from a gateway of this version; is another version running?`,
  );
