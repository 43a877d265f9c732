// What the loopback listener answers (Q33): health, readiness, metrics, status, explanations, reload.
import { checkInert } from '../config/checks/unused-settings.ts';
import type { Config } from '../config/config.ts';
import { redact, versionOf } from '../config/diff.ts';
import { ConfigError } from '../config/finding.ts';
import { nameOf } from '../config/setting-names.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { RouteTable } from '../turn/route-table.ts';
import { servedOf } from '../turn/served.ts';
import { type AdminRoutes, adminJson } from './admin-listener.ts';
import { explainAnswer } from './explain-answer.ts';
import { metricsAnswer } from './metrics-answer.ts';
import { turnAnswer } from './turn-answer.ts';

export function adminRoutes(gateway: Gateway): AdminRoutes {
  return {
    'GET /healthz': () => adminJson(200, { status: 'ok' }),
    'GET /readyz': () => (gateway.ready ? adminJson(200, { status: 'ready' }) : adminJson(503, { status: 'not ready' })),
    'GET /metrics': () => metricsAnswer(gateway),
    'GET /status': () => adminJson(200, statusOf(gateway)),
    'GET /explain': (query) => explainAnswer(gateway, query),
    'GET /turn': (query) => turnAnswer(gateway, query),
    'POST /reload': async () => {
      try {
        return adminJson(200, await gateway.follower.reload('command'));
      } catch (thrown) {
        if (thrown instanceof ConfigError) return adminJson(422, { findings: thrown.findings });
        throw thrown;
      }
    },
  };
}

function statusOf(gateway: Gateway): Readonly<Record<string, unknown>> {
  const { config } = gateway.loaded;
  return {
    version: versionOf(config),
    started_at: new Date(gateway.startedAt).toISOString(),
    ready: gateway.ready,
    node: process.version,
    warnings: warningsOf(config),
    not_served: notServedIn(config),
    ...gateway.services.capacity.status(),
    catalogs: gateway.services.catalog.accounts.status(),
    quota: gateway.services.usage.quota.status(),
    store: gateway.services.store.stats(),
    counters: gateway.services.counters.values,
    config: redact(config),
  };
}

/** Settings that are set in vain. */
const warningsOf = (config: Config): readonly string[] =>
  checkInert(config).map(({ path, message }) => `${nameOf(path, config)}: ${message}`);

/** Rows whose status promises more than this version has: `METHOD /path`. */
function notServedIn({ routes, wire }: Config): readonly string[] {
  const rows = new RouteTable(routes, wire).all.filter((route) => servedOf(route) === 'not yet');
  return rows.map(({ method, template }) => `${method} ${template}`);
}
