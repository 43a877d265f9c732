// Requests of commands to a running gateway. Every reply is checked before a command uses it.
import { isRefusal, isReloadReply } from '../../admin/replies/configuration-replies.ts';
import { type ConfigurationFileReply, isConfigurationFileReply } from '../../admin/replies/edit-replies.ts';
import { isRequestsReply, isTurnReply, type RequestsReply, type TurnReply } from '../../admin/replies/log-replies.ts';
import { isStatusReply, type StatusReply } from '../../admin/replies/status-reply.ts';
import { isUsageReply, type UsageReply } from '../../admin/replies/usage-reply.ts';
import type { Reloaded } from '../../config/loading/reloader.ts';
import type { EditCall } from '../edits/edit-calls.ts';
import type { AdminAddress } from './address.ts';
import { ask, OPTIONAL_TIMEOUT_MS, refusal, Unreachable } from './ask.ts';

/** @throws {CommandFailure} if no gateway answers, or if its answer has another form */
export async function fetchStatus(config: AdminAddress): Promise<StatusReply> {
  const answer = await ask(config, 'GET /api/status');
  if (answer.status === 200 && isStatusReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** The exposed ids of each Pool; undefined if no gateway states them. */
export async function fetchExposed(config: AdminAddress): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  try {
    const { status, body } = await ask(config, 'GET /api/status', { timeoutMs: OPTIONAL_TIMEOUT_MS });
    return status === 200 && isStatusReply(body) ? new Map(body.pools.map(({ pool, models }) => [pool, models])) : undefined;
  } catch (thrown) {
    if (thrown instanceof Unreachable) return undefined;
    throw thrown;
  }
}

/** @throws {CommandFailure}, also if the gateway runs on another file */
export async function fetchConfiguration(config: AdminAddress): Promise<ConfigurationFileReply> {
  const answer = await ask(config, 'GET /api/config');
  if (answer.status === 200 && isConfigurationFileReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure}, also with the reason if the gateway refuses the edit */
export async function requestEdit<Result>(config: AdminAddress, { request, body, result }: EditCall<Result>): Promise<Result> {
  const answer = await ask(config, request, body === undefined ? {} : { body });
  const edited = answer.status === 200 ? result(answer.body) : undefined;
  if (edited) return edited;
  throw refusal(answer, isRefusal(answer.body) ? `${answer.body.error}:` : '');
}

/**
 * Repeats the request if the gateway has not searched its whole log in one answer.
 * @param query the filters of `GET /api/requests`
 * @throws {CommandFailure}, also if the gateway refuses a filter
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

/** @throws {CommandFailure}, also if the gateway refuses a filter */
export async function fetchUsage(config: AdminAddress, query: readonly (readonly [string, string])[]): Promise<UsageReply> {
  const answer = await ask(config, 'GET /api/usage', { query });
  if (answer.status === 200 && isUsageReply(answer.body)) return answer.body;
  throw refusal(answer);
}

/** @throws {CommandFailure}, also with the findings if the gateway refuses its file */
export async function requestReload(config: AdminAddress): Promise<Reloaded> {
  const answer = await ask(config, 'POST /api/reload');
  if (answer.status === 200 && isReloadReply(answer.body)) return answer.body;
  throw refusal(answer, 'the gateway keeps its configuration; the file has errors:');
}

/** @throws {CommandFailure}, also if the gateway's request log has no such turn */
export async function fetchTurn(config: AdminAddress, id: string): Promise<TurnReply> {
  const answer = await ask(config, `GET /api/requests/${encodeURIComponent(id)}`);
  if (answer.status === 200 && isTurnReply(answer.body)) return answer.body;
  throw refusal(answer);
}
