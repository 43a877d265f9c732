// What the loopback listener answers (Q33): health, readiness, status, reload.
import { redact, versionOf } from '../config/diff.ts';
import { ConfigError } from '../config/finding.ts';
import type { Gateway } from '../gateway.ts';
import { type AdminRoutes, adminJson } from './server.ts';

export function adminRoutes(gateway: Gateway): AdminRoutes {
  return {
    'GET /healthz': () => adminJson(200, { status: 'ok' }),
    'GET /readyz': () => (gateway.ready ? adminJson(200, { status: 'ready' }) : adminJson(503, { status: 'not ready' })),
    'GET /status': () => adminJson(200, statusOf(gateway)),
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
    catalogs: gateway.catalog.accounts.status(),
    store: gateway.store.stats(),
    counters: gateway.counters.values,
    config: redact(config),
  };
}
