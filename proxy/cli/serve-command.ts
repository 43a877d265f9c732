// `serve`: runs the gateway until it is told to stop.

import { stateOf } from '../config/file-watch.ts';
import { formatFinding } from '../config/finding.ts';
import { loadConfig } from '../config/load.ts';
import { type Addresses, Gateway } from '../gateway/gateway.ts';
import { placeOf } from '../log.ts';

export interface ServeOptions {
  readonly config: string;
}

/** Ends the process when the gateway has stopped. @throws ConfigError, StoreError, or Error for an address that cannot be had */
export async function serve({ config }: ServeOptions): Promise<void> {
  let serving: Gateway | undefined;
  // From the first moment on: unheard, it would end the process.
  process.on('SIGHUP', () => void serving?.follower.reload('signal').catch(() => undefined));
  const state = stateOf(config);
  const { loaded, warnings } = await loadConfig(config);
  for (const warning of warnings) process.stderr.write(`${formatFinding(warning)}\n`);
  const gateway = await Gateway.open({ loaded });
  process.on('uncaughtException', (thrown) => crash(gateway, thrown)).on('unhandledRejection', (thrown) => crash(gateway, thrown));
  const { main, admin } = await listening(gateway);
  const audited = gateway.follower.started();
  const unwatch = gateway.follower.watch(state);
  serving = gateway;
  const stopped = new Promise<void>((resolve, reject) => {
    let stopping = false;
    const stop = (): void => {
      // A second signal is an operator who will not wait.
      if (stopping) process.exit(1);
      stopping = true;
      unwatch();
      audited.then(() => gateway.close()).then(resolve, reject);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
  const at = ({ address, port, family }: typeof main): string => `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  // Last: whoever reads it may stop us at once, or ask for anything else.
  process.stdout.write(`poolgate serves ${at(main)}${admin ? `, admin ${at(admin)}` : ''}\n`);
  await stopped;
  process.exit(0);
}

/** A gateway that gets no address leaves nothing behind that would keep the process alive. */
async function listening(gateway: Gateway): Promise<Addresses> {
  try {
    return await gateway.listen();
  } catch (thrown) {
    await gateway.close();
    throw thrown;
  }
}

/** What nobody foresaw ends the process as it would anyway, but says where it was and not what it said (S4). */
function crash(gateway: Gateway, thrown: unknown): void {
  gateway.services.log.error('crashed', placeOf(thrown));
  process.exit(1);
}
