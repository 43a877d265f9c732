// The routes of the admin listener (Q33): health, readiness, metrics, status, explanations, logged turns, reload.

import { ConfigError } from '../config/finding.ts';
import { counterMetrics, type Metric, MetricsPage } from '../metrics.ts';
import { reloginAnswer, restoreAnswer } from './account-actions.ts';
import { type AdminAnswer, type AdminRoutes, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { explainAnswer } from './explain-answer.ts';
import type { ReloadReply, TurnReply } from './replies.ts';
import { requestsAnswer } from './request-log.ts';
import { statusOf } from './status.ts';

export function adminRoutes(gateway: AdminTarget): AdminRoutes {
  const page = new MetricsPage(metricsOf(gateway));
  return {
    'GET /healthz': () => adminJson(200, { status: 'ok' }),
    'GET /readyz': () => (gateway.ready ? adminJson(200, { status: 'ready' }) : adminJson(503, { status: 'not ready' })),
    'GET /metrics': async () => ({ status: 200, type: page.contentType, body: await page.text() }),
    'GET /status': () => adminJson(200, statusOf(gateway)),
    'GET /explain': (query) => explainAnswer(gateway, query),
    'GET /turn': (query) => turnAnswer(gateway, query),
    'GET /requests': (query) => requestsAnswer(gateway, query),
    'POST /reload': () => reloadAnswer(gateway),
    'POST /account/restore': (query) => restoreAnswer(gateway, query),
    'POST /account/relogin': (query) => reloginAnswer(gateway, query),
  };
}

function metricsOf(gateway: AdminTarget): readonly Metric[] {
  const { services, websockets } = gateway;
  const { counters, store, uploads } = services;
  return [
    { name: 'ready', type: 'gauge', help: 'Whether the gateway takes traffic', read: () => (gateway.ready ? 1 : 0) },
    ...counterMetrics(counters),
    { name: 'websockets_open', type: 'gauge', help: 'Client websockets that are open', read: () => websockets.count },
    {
      name: 'websocket_bytes_held',
      type: 'gauge',
      help: 'Bytes that websocket clients have not taken yet, and those kept for clients that may come back',
      read: () => websockets.heldBytes,
    },
    {
      name: 'upload_bytes_held',
      type: 'gauge',
      help: 'Bytes of streaming uploads that were read and not yet passed on',
      read: () => uploads.held,
    },
    { name: 'upload_bytes_held_max', type: 'gauge', help: 'Most of such bytes that one upload has held', read: () => uploads.most },
    { name: 'store_rows_queued', type: 'gauge', help: 'Rows that wait to be written', read: () => store.stats().queued },
    { name: 'store_rows_written_total', type: 'counter', help: 'Rows written', read: () => store.stats().written },
    { name: 'store_rows_dropped_total', type: 'counter', help: 'Log rows that were given up', read: () => store.stats().dropped },
    { name: 'store_rows_rejected_total', type: 'counter', help: 'Rows that no disk would take', read: () => store.stats().rejected },
  ];
}

/** The request-log row of one turn with its attempts (Q7). */
async function turnAnswer({ services: { store } }: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const id = query.get('id') ?? '';
  // Rows wait in the queue for up to 100 ms, and the caller may ask as soon as the turn has ended.
  await store.flush();
  const [turn] = await store.requests.list({ id, limit: 1 });
  if (!turn) return adminJson(404, { error: 'no such turn' });
  return adminJson(200, { turn, attempts: await store.attempts.of(turn) } satisfies TurnReply);
}

async function reloadAnswer({ follower }: AdminTarget): Promise<AdminAnswer> {
  try {
    return adminJson(200, (await follower.reload('command')) satisfies ReloadReply);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return adminJson(422, { findings: thrown.findings });
    throw thrown;
  }
}
