// `serve`: runs the gateway until it is told to stop.
import { formatFinding } from '../config/finding.ts';
import { loadConfig } from '../config/load.ts';
import { Gateway } from '../gateway.ts';

export interface ServeOptions {
  readonly config: string;
}

/** Resolves when the gateway has stopped in order. @throws ConfigError, StoreError */
export async function serve({ config }: ServeOptions): Promise<void> {
  const { loaded, warnings } = await loadConfig(config);
  for (const warning of warnings) process.stderr.write(`${formatFinding(warning)}\n`);
  const gateway = await Gateway.open({ loaded });
  const { main, admin } = await gateway.listen();
  const at = ({ address, port, family }: typeof main): string => `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  process.stdout.write(`poolgate serves ${at(main)}${admin ? `, admin ${at(admin)}` : ''}\n`);
  const unwatch = gateway.follower.watch();
  process.on('SIGHUP', () => void gateway.follower.reload('signal').catch(() => undefined));
  await new Promise<void>((resolve) => {
    let stopping = false;
    const stop = (): void => {
      // A second signal is an operator who will not wait.
      if (stopping) process.exit(1);
      stopping = true;
      unwatch();
      void gateway.close().finally(resolve);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
  process.exit(0);
}
