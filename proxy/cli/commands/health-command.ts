// `health`: prints whether the gateway of a file runs, or takes traffic, for containers and service managers.
import { once } from 'node:events';
import { connect } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { listenersIn } from '../../config/file/listeners.ts';
import { readConfig } from '../../config/loading/load.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, originOf, reachable } from '../command.ts';

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
      const { listen, admin, metrics } = await listenersIn(await readConfig(path), path);
      const listener = admin || metrics;
      if (!listener && ready) throw new CommandFailure('readiness needs the admin listener or the metrics listener, and both are off');
      if (!listener) return io.out(await clientsConnect(listen, path));
      if (listener.port === 0) throw new CommandFailure(UNKNOWN_PORT);
      const url = `${originOf(listener)}${ready ? '/readyz' : '/healthz'}`;
      const status = await statusOf(url);
      if (status === undefined) throw new CommandFailure(`no gateway answers at ${url}`);
      if (status !== 200) throw new CommandFailure(`${url} answers ${status}`);
      return io.out(ready ? 'ready\n' : 'ok\n');
    });
}

const UNKNOWN_PORT = 'the listener takes a free port (port: 0), so it cannot be found';

/** Whether clients can connect. Without an admin or metrics listener, this shows that the gateway runs. */
async function clientsConnect({ host, port, unix }: Config['listen'], file: string): Promise<string> {
  if (port === 0) throw new CommandFailure(UNKNOWN_PORT);
  const place = unix && resolve(dirname(file), unix.path);
  const socket = connect(port === false ? { path: place ?? '' } : { host: reachable(host), port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return 'ok\n';
  } catch {
    throw new CommandFailure(`no gateway answers at ${port === false ? place : originOf({ host, port })}`);
  } finally {
    socket.destroy();
  }
}

/** Undefined if there is no answer in time. */
async function statusOf(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
