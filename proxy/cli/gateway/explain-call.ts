// Asks a running gateway to explain a turn. Without one, commands explain it from the file.
import { type ExplainReply, isExplainReply, isRefusal } from '../../admin/replies/configuration-replies.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import type { Route } from '../../turn/turn.ts';
import { CommandFailure } from '../command.ts';
import type { AdminAddress } from './address.ts';
import { ask, OPTIONAL_TIMEOUT_MS, refusal } from './ask.ts';

/** The reply, or the reason why there is none. A turn can also be explained from the file. */
export type Explained = ExplainReply | { readonly unavailable: string } | { readonly refused: string };

interface ExplainedRequest extends Readonly<Partial<Record<'key' | 'model' | 'session', string | undefined>>> {
  readonly body?: JsonObject | undefined;
}

/**
 * The reply, or the reason why there is none; `refused` if the gateway does not take the body.
 * @param route the route, whose template has the words of `wire`
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
