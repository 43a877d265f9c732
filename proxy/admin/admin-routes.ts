// The routes of the admin listener (Q33): health, readiness, metrics, status, explanations, logged turns, reload.

import { RULES } from '../../rules/index.ts';
import { versionOf } from '../config/diff.ts';
import { ConfigError } from '../config/schema/finding.ts';
import { explainTurns } from '../explain/explanation.ts';
import { liveModels } from '../explain/live-models.ts';
import { routeNamed } from '../explain/route-name.ts';
import { isObject } from '../turn/json/json.ts';
import { dispatchedKind } from '../turn/routes/kinds.ts';
import type { Route } from '../turn/turn.ts';
import { reloginAnswer, restoreAnswer } from './account-actions.ts';
import { accountTestAnswer, accountTestPlanAnswer } from './account-test.ts';
import { type AdminAnswer, type AdminBodyBounds, type AdminRoutes, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { loginAnswer, loginStateAnswer } from './login-actions.ts';
import { gatewayMetrics } from './metrics/gateway-metrics.ts';
import { MetricsPage } from './metrics/metrics-page.ts';
import type { ActionRefusal, ExplainReply, ReloadReply, TurnReply } from './replies.ts';
import { requestsAnswer } from './request-log.ts';
import { statusOf } from './status.ts';

export function adminRoutes(gateway: AdminTarget): AdminRoutes {
  const page = new MetricsPage(gatewayMetrics(gateway));
  return {
    'GET /healthz': () => adminJson(200, { status: 'ok' }),
    'GET /readyz': () => (gateway.ready ? adminJson(200, { status: 'ready' }) : adminJson(503, { status: 'not ready' })),
    'GET /metrics': async () => ({ status: 200, type: page.contentType, body: await page.text() }),
    'GET /status': async () => {
      await gateway.services.node?.refresh();
      return adminJson(200, statusOf(gateway));
    },
    'GET /explain': (query) => explainAnswer(gateway, query),
    'POST /explain': (query, body) => explainAnswer(gateway, query, { body }),
    'GET /turn': (query) => turnAnswer(gateway, query),
    'GET /requests': (query) => requestsAnswer(gateway, query),
    'POST /reload': () => reloadAnswer(gateway),
    'POST /account/restore': (query) => restoreAnswer(gateway, query),
    'POST /account/relogin': (query) => reloginAnswer(gateway, query),
    'GET /account/test': (query) => accountTestPlanAnswer(gateway, query),
    'POST /account/test': (query) => accountTestAnswer(gateway, query),
    'GET /account/login': (query) => loginStateAnswer(gateway, query),
    'POST /account/login': (query, body) => loginAnswer(gateway, query, body),
  };
}

/** An explanation takes every body that a turn may have. */
export const adminBodyBounds =
  (gateway: Pick<AdminTarget, 'loaded'>): AdminBodyBounds =>
  (route) =>
    route === 'POST /explain' ? gateway.loaded.config.limits.request_body_bytes : undefined;

/** The routes for other machines: they show measurements and change nothing. */
export function metricsRoutes(routes: AdminRoutes): AdminRoutes {
  return Object.fromEntries(Object.entries(routes).filter(([name]) => FOR_OTHER_MACHINES.has(name)));
}

const FOR_OTHER_MACHINES: ReadonlySet<string> = new Set(['GET /healthz', 'GET /readyz', 'GET /metrics']);

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

/** The path is a template of the route table, or a path that matches one, in the words of `wire`. */
async function explainAnswer(gateway: AdminTarget, query: URLSearchParams, sent?: { readonly body: unknown }): Promise<AdminAnswer> {
  const { config } = gateway.loaded;
  const route = routeNamed(config, query.get('method') ?? '', query.get('path') ?? '');
  if (!route) return adminJson(404, { error: 'no such route' });
  const body = sent?.body;
  if (sent && !isObject(body)) return adminJson(400, { error: 'the body is no JSON object' } satisfies ActionRefusal);
  if (sent && !takesJson(route)) {
    return adminJson(400, {
      error: `a request of ${route.method} ${route.template} has no JSON body for an account`,
    } satisfies ActionRefusal);
  }
  const named = config.keys.find(({ id }) => id === query.get('key'));
  const session = query.get('session') ?? undefined;
  const question = {
    key: query.get('key') ?? undefined,
    model: query.get('model') ?? undefined,
    ...(isObject(body) && { body }),
    // A session belongs to a key.
    ...(named && session !== undefined && { session: { account: await gateway.services.continuity.accountOf(named, session) } }),
  };
  const { previews, services } = gateway;
  const sources = { rules: RULES, providerOf: services.providerOf, live: liveModels(services), previews, now: gateway.wallTime() };
  const turns = await explainTurns(config, route, question, sources);
  if (!turns) return adminJson(404, { error: 'no such key' });
  return adminJson(200, { version: versionOf(config), turns } satisfies ExplainReply);
}

function takesJson({ kind }: Route): boolean {
  const payload = dispatchedKind(kind)?.payload;
  return payload === 'json' || payload === 'json or form';
}
