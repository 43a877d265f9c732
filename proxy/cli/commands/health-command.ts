// `health`: whether the gateway of a file runs, or takes traffic; for containers and service managers.
import type { Command } from 'commander';
import { listenersIn } from '../../config/file/listeners.ts';
import { readConfig } from '../../config/loading/load.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, originOf } from '../command.ts';

interface HealthOptions extends CommonOptions {
  readonly ready?: boolean;
}

const TIMEOUT_MS = 3_000;

export function addHealth(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'health',
    description: 'ask whether the gateway on this machine runs; exit code 1 if it does not. Errors in other settings do not count',
    examples: ['poolgate health', 'poolgate health --ready'],
    json: false,
  })
    .option('--ready', 'ask whether it takes traffic')
    .action(async ({ config: path, ready = false }: HealthOptions) => {
      const { listen, admin, metrics } = listenersIn(await readConfig(path), path);
      const listener = admin || metrics;
      if (!listener && ready) throw new CommandFailure('readiness needs the admin listener or the metrics listener, and both are off');
      const { port } = listener || listen;
      if (port === 0) throw new CommandFailure('the listener takes a free port (port: 0), so it cannot be found');
      const url = `${originOf(listener || listen)}${ready ? '/readyz' : '/healthz'}`;
      const status = await statusOf(url);
      if (status === undefined) throw new CommandFailure(`no gateway answers at ${url}`);
      // Without an admin or metrics listener the request goes to the client listener: any answer shows that the gateway runs.
      if (listener && status !== 200) throw new CommandFailure(`${url} answers ${status}`);
      io.out(ready ? 'ready\n' : 'ok\n');
    });
}

/** Undefined where nothing answers in time. */
async function statusOf(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
