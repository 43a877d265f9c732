// A gateway that was stopped, or died, and comes back on the same store before the same accounts.

import type { Clock } from '../../proxy/clock.ts';
import { Gateway } from '../../proxy/gateway/gateway.ts';
import { Log } from '../../proxy/log.ts';
import { TestGateway } from './gateway.ts';

export interface RestartOptions {
  readonly clock?: Clock;
}

/** Stops the gateway in order, and starts it again; its upstream goes on. Needs a store in a file. */
export async function restarted(gate: TestGateway, { clock }: RestartOptions = {}): Promise<TestGateway> {
  const { loaded } = gate.gateway;
  await gate.gateway.close();
  const logged: string[] = [];
  const gateway = await Gateway.open({ loaded, log: new Log('debug', (line) => void logged.push(line)), ...(clock ? { clock } : {}) });
  const { main, admin } = await gateway.listen();
  await Promise.all([gateway.services.catalog.whenReady, gateway.services.usage.whenReady]);
  const url = `http://127.0.0.1:${main.port}`;
  return new TestGateway({ gateway, upstream: gate.upstream, url, adminUrl: `http://127.0.0.1:${admin?.port}`, logged, draft: {} });
}
