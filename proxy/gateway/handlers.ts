// What serves each route kind over HTTP, and what turns ask of the process around them.
import { keyUsageAnswers } from '../answers/key-usage.ts';
import { catalogAnswers, modelAnswers } from '../answers/model-lists.ts';
import { type PoolUsageOptions, poolUsageAnswers } from '../answers/pool-usage.ts';
import { admitted } from '../clients/http/admitted.ts';
import { forwarding } from '../clients/http/forward.ts';
import type { Handler } from '../clients/http/http-turn.ts';
import { jsonTurns } from '../clients/http/json-turn.ts';
import { limited } from '../clients/http/limited.ts';
import { BodyGuard } from '../clients/http/request-body.ts';
import { Dispatch } from '../dispatch/dispatch.ts';
import { ReplyObservers } from '../dispatch/reply-observers.ts';
import { placeOf } from '../log.ts';
import type { LiveTurn, TurnHost } from '../turn/live-turn.ts';
import type { HttpKind } from '../turn/served.ts';
import type { Services } from './services.ts';

export function handlersOf(services: Services): Record<HttpKind, Handler> {
  const { accounting, catalog, continuity, counters, credentials, models, usage } = services;
  const { admission, selection } = services.capacity;
  const dispatch = new Dispatch({
    admission,
    selection,
    credentials,
    continuity,
    witnesses: new ReplyObservers([continuity.witness, usage.observer]),
    counters,
    ownHeaders: (turn) => ownHeaders(turn, services),
  });
  const turns = jsonTurns(dispatch, { guard: new BodyGuard(), counters, accounting });
  return {
    catalog: admitted(admission, catalogAnswers(models, catalog.whenReady)),
    models: admitted(admission, modelAnswers(models, catalog.whenReady)),
    responses: turns,
    'public-responses': turns,
    'pool-usage': admitted(admission, poolUsageAnswers(poolUsage(services))),
    'key-usage': admitted(admission, keyUsageAnswers(accounting)),
    forward: limited(accounting, forwarding({ admission, selection, credentials, continuity, counters })),
  };
}

/** Headers of ours on every answer of a turn that an account gave (Q1, Q14). */
function ownHeaders(turn: LiveTurn, { models }: Services): Record<string, string> {
  const own: Record<string, string> = { 'x-request-id': turn.id };
  if (turn.native) own['x-models-etag'] = models.etag(turn.pool, turn.key);
  return own;
}

function poolUsage({ capacity, loaded, usage }: Services): PoolUsageOptions {
  const { quota, reads } = usage;
  const usable = (id: string): boolean => loaded().config.accounts.some((account) => account.id === id && account.visible);
  return {
    quota,
    known: (accounts) => reads.firstReads(accounts),
    routable: ({ assignments }) =>
      assignments.flatMap(({ account, active, eligible }) =>
        active && eligible && usable(account) && capacity.health.routable(account, '(pool-usage)') ? account : [],
      ),
  };
}

export function turnHost({ accounting, capacity, clock, counters, credentials, log, models, store }: Services): TurnHost {
  return {
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    secretOf: (account, loaded) => credentials.secretOf(account, loaded),
    findModel: (_generation, pool, id) => models.find(pool, id),
    recoversIn: (pool, id) => capacity.recoversIn(pool, id),
    record: (row, attempts, turn) => {
      accounting.settle(turn, turn.bill, row, attempts);
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
