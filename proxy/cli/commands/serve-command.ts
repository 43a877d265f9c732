// `serve`: runs the gateway until SIGTERM or SIGINT. SIGHUP reloads its configuration.
import type { AddressInfo } from 'node:net';
import { constants } from 'node:os';
import { keepTickObject } from '../../base/process/internals/tick-object.ts';
import { Log, placeOf } from '../../base/process/log.ts';
import { stateOf } from '../../config/file/file-watch.ts';
import { loadConfig } from '../../config/loading/load.ts';
import { type Addresses, Gateway } from '../../gateway/gateway.ts';

export interface ServeOptions {
  readonly config: string;
  /** A text that is printed when the gateway serves. */
  readonly hint?: string;
}

/**
 * The time in which two signals count as one. A service manager that signals all processes of a service stops this one twice: directly, and
 * through the launcher.
 */
const SAME_STOP_MS = 500;

/** The time after the start at which modules for operators are loaded, so that the first turns do not wait for them. */
const WARM_UP_AFTER_MS = 1_000;

/** The interval of a timer that keeps the process alive. */
const ALIVE_MS = 60_000;

/**
 * Ends the process when the gateway has stopped, with exit code 1 if rows or settlements were lost.
 * @throws ConfigError, StoreError, or the Error of an address that cannot be listened on
 */
export async function serve({ config, hint = '' }: ServeOptions): Promise<void> {
  let serving: Gateway | undefined;
  let reloadWanted = false;
  const reload = (gateway: Gateway): void => void gateway.follower.reload('signal').catch(() => undefined);
  // Installed first. A signal during the start takes effect after it, because the files may have been read before.
  process.on('SIGHUP', () => {
    if (serving) reload(serving);
    else reloadWanted = true;
  });
  // Process 1 of a container has no default action for signals, so a stop during the start would be lost.
  const endStart = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.on('SIGTERM', endStart).on('SIGINT', endStart);
  // If the process that reads the log ends, running turns continue, and nothing more is logged.
  process.stderr.on('error', () => undefined);
  keepTickObject();
  const state = stateOf(config);
  const { loaded, warnings } = await loadConfig(config);
  const log = new Log(loaded.config.log.level);
  logWarningsOfNode(log);
  for (const { line, column, message } of warnings) log.warn('config_warning', { line, column, message });
  const gateway = await Gateway.open({ loaded, log });
  process.on('uncaughtException', (thrown) => crash(gateway, thrown)).on('unhandledRejection', (thrown) => crash(gateway, thrown));
  const { main, admin, metrics } = await listening(gateway);
  void gateway.follower.started();
  const unwatch = gateway.follower.watch(state);
  serving = gateway;
  if (reloadWanted) reload(gateway);
  const stopped = new Promise<boolean>((resolve, reject) => {
    let stoppedAt: number | undefined;
    const stop = (): void => {
      const now = performance.now();
      // A second signal stops at once, without the drain.
      if (stoppedAt !== undefined && now - stoppedAt >= SAME_STOP_MS) process.exit(1);
      if (stoppedAt !== undefined) return;
      stoppedAt = now;
      unwatch();
      closed(gateway).then(resolve, reject);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
    process.off('SIGTERM', endStart).off('SIGINT', endStart);
  });
  // Printed last, because a reader of this line may send a signal or a request at once.
  const { tls, unix } = loaded.config.listen;
  const served = [main && urlOf(main, tls ? 'https' : 'http'), unix?.path].filter((place) => place !== undefined);
  const others = Object.entries({ admin, metrics }).map(([name, address]) => (address ? `, ${name} ${urlOf(address)}` : ''));
  const settings = loaded.config.admin;
  const page = admin && settings !== false && settings.console ? `console ${urlOf(admin)}\n` : '';
  process.stdout.write(`poolgate serves ${served.join(' and ')}${others.join('')}\n${page}${hint}`);
  setTimeout(() => void gateway.warmUp().catch(() => undefined), WARM_UP_AFTER_MS).unref();
  const isWhole = await stopped;
  process.exit(isWhole ? 0 : 1);
}

const urlOf = ({ address, port, family }: AddressInfo, scheme = 'http'): string =>
  `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;

/** Writes warnings of Node and of libraries as lines of the log. Node would print them as text between the lines. */
function logWarningsOfNode(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    const code = 'code' in warning && typeof warning.code === 'string' ? warning.code : undefined;
    // The text of a deprecation may quote its object, such as an address (S4). Its code identifies it.
    const message = warning.name === 'DeprecationWarning' ? undefined : warning.message;
    log.warn('process_warning', { name: warning.name, code, message });
  });
}

/** Listens. If an address cannot be listened on, it closes the gateway, so that nothing keeps the process alive. */
async function listening(gateway: Gateway): Promise<Addresses> {
  try {
    return await gateway.listen();
  } catch (thrown) {
    await closed(gateway);
    throw thrown;
  }
}

/**
 * Closes the gateway. A timer of this command keeps the process alive until settlements are written, because the timers of the gateway's
 * clock do not.
 */
async function closed(gateway: Gateway): Promise<boolean> {
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    return await gateway.close();
  } finally {
    clearInterval(alive);
  }
}

/** Logs the place of an unexpected error, without its message (S4), and ends the process. */
function crash(gateway: Gateway, thrown: unknown): void {
  gateway.services.log.error('crashed', placeOf(thrown));
  process.exit(1);
}
