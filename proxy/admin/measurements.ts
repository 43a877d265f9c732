// The paths that the listeners for operators and for other machines share: health, readiness, metrics. They change nothing.
import { type AdminAnswer, type AdminSite, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { gatewayMetrics } from './metrics/gateway-metrics.ts';
import { MetricsPage } from './metrics/metrics-page.ts';

export class Measurements {
  readonly #gateway: AdminTarget;
  readonly #page: MetricsPage;

  constructor(gateway: AdminTarget) {
    this.#gateway = gateway;
    this.#page = new MetricsPage(gatewayMetrics(gateway));
  }

  /** Whether the process runs, or takes traffic, as one word without a sign-in. Undefined for any other path. */
  health(name: string): AdminAnswer | undefined {
    if (name === 'GET /healthz') return adminJson(200, { status: 'ok' });
    if (name !== 'GET /readyz') return undefined;
    return this.#gateway.ready ? adminJson(200, { status: 'ready' }) : adminJson(503, { status: 'not ready' });
  }

  async metrics(): Promise<AdminAnswer> {
    return { status: 200, type: this.#page.contentType, body: await this.#page.text() };
  }

  /** What the listener `metrics` serves, to any machine that can connect to it. */
  get site(): AdminSite {
    return {
      isProxied: () => true,
      answer: ({ method, path }) => {
        const name = `${method} ${path}`;
        return name === 'GET /metrics' ? this.metrics() : (this.health(name) ?? adminJson(404, { error: 'unknown path' }));
      },
    };
  }
}
