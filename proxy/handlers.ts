// What serves each route kind over HTTP, and what turns ask of the process around them.
import { keyUsageAnswers } from './answers/key-usage.ts';
import { catalogAnswers, modelAnswers } from './answers/models.ts';
import { type PoolUsageOptions, poolUsageAnswers } from './answers/pool-usage.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { Witnesses } from './dispatch/evidence.ts';
import { admitted } from './intake/admitted.ts';
import { BodyGuard } from './intake/body.ts';
import { forwarding } from './intake/forward.ts';
import type { Handler } from './intake/http-turn.ts';
import { jsonTurns } from './intake/json-turn.ts';
import { limited } from './intake/limited.ts';
import type { LiveTurn, TurnHost } from './live-turn.ts';
import { placeOf } from './log.ts';
import type { Parts } from './parts.ts';
import type { HttpKind } from './served.ts';

export function handlersOf(parts: Parts): Record<HttpKind, Handler> {
  const { accounting, catalog, continuity, counters, credentials, models, usage } = parts;
  const { admission, selection } = parts.capacity;
  const dispatch = new Dispatch({
    admission,
    selection,
    credentials,
    continuity,
    witnesses: new Witnesses([continuity.witness, usage.witness]),
    counters,
    ownHeaders: (turn) => ownHeaders(turn, parts),
  });
  const turns = jsonTurns(dispatch, { guard: new BodyGuard(), counters, accounting });
  return {
    catalog: admitted(admission, catalogAnswers(models, catalog.whenReady)),
    models: admitted(admission, modelAnswers(models, catalog.whenReady)),
    responses: turns,
    'public-responses': turns,
    'pool-usage': admitted(admission, poolUsageAnswers(poolUsage(parts))),
    'key-usage': admitted(admission, keyUsageAnswers(accounting)),
    forward: limited(accounting, forwarding({ admission, selection, credentials, continuity, counters })),
  };
}

/** Headers of ours on every answer of a turn that an account gave (Q1, Q14). */
function ownHeaders(turn: LiveTurn, { models }: Parts): Record<string, string> {
  const own: Record<string, string> = { 'x-request-id': turn.id };
  if (turn.native) own['x-models-etag'] = models.etag(turn.pool, turn.key);
  return own;
}

function poolUsage({ capacity, loaded, usage }: Parts): PoolUsageOptions {
  const { quota, reads } = usage;
  const usable = (id: string): boolean => loaded().config.accounts.some((account) => account.id === id && account.visible);
  return {
    quota,
    known: (accounts) => reads.known(accounts),
    routable: ({ assignments }) =>
      assignments.flatMap(({ account, active, eligible }) =>
        active && eligible && usable(account) && capacity.health.routable(account, '(pool-usage)') ? account : [],
      ),
  };
}

export function turnHost({ accounting, capacity, clock, counters, credentials, log, models, store }: Parts): TurnHost {
  return {
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    secretOf: (account, loaded) => credentials.secretOf(account, loaded),
    findModel: (_generation, pool, id) => models.find(pool, id),
    recoversIn: (pool, id) => capacity.recoversIn(pool, id),
    record: (row, attempts, turn) => {
      accounting.settle(turn, row);
      store.requests.append(row, attempts);
      if (!log.debugs) return;
      const { id, endpoint, method, status, code, account, retries, duration_ms } = row;
      log.debug('request', { id, endpoint, method, status, code, account, retries, duration_ms });
    },
    fault: (thrown, requestId) => {
      counters.add('server_errors');
      log.error('unforeseen', { request_id: requestId, ...placeOf(thrown) });
    },
  };
}
