// Reads the file again while the gateway runs: a valid one takes effect whole, a broken one changes nothing.
import { loadConfigAside } from './background-load.ts';
import type { Config, LoadedConfig } from './config.ts';
import { type Change, diffConfigs, versionOf } from './diff.ts';
import type { Finding } from './finding.ts';
import type { LoadOptions } from './load.ts';

export interface Reloaded {
  /** `versionOf` what runs now. */
  readonly version: string;
  /** What the file changed; of settings that take a restart, also what it still wants changed. */
  readonly changes: readonly Change[];
  readonly warnings: readonly Finding[];
}

export class Reloader {
  #running: LoadedConfig;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #apply: (next: LoadedConfig, changes: readonly Change[]) => void | Promise<void>;
  readonly #options: LoadOptions;

  /**
   * @param running What the gateway started with.
   * @param apply Swaps it for the next; called only when something changed that takes effect now. If it throws, `running` stays.
   */
  constructor(
    running: LoadedConfig,
    apply: (next: LoadedConfig, changes: readonly Change[]) => void | Promise<void>,
    options: LoadOptions = {},
  ) {
    this.#running = running;
    this.#apply = apply;
    this.#options = options;
  }

  get running(): LoadedConfig {
    return this.#running;
  }

  /**
   * One at a time, whoever asks: file watch, signal, command.
   * @throws {ConfigError} when the file has mistakes; everything stays as it was.
   */
  reload(): Promise<Reloaded> {
    const result = this.#queue.then(() => this.#reload());
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async #reload(): Promise<Reloaded> {
    const running = this.#running;
    const { loaded, warnings } = await loadConfigAside(running.path, this.#options);
    const changes = [...diffConfigs(running.config, loaded.config), ...rotatedSecrets(running, loaded)];
    if (changes.some(({ restart }) => !restart)) {
      const next = { ...loaded, config: stillRunning(running.config, loaded.config) };
      await this.#apply(next, changes);
      this.#running = next;
    }
    return { version: versionOf(this.#running.config), changes, warnings };
  }
}

/** A configuration says what runs: settings that take a restart keep their values until then. */
function stillRunning(running: Config, next: Config): Config {
  const { listen, admin, store, store_key } = running;
  return Object.freeze({
    ...next,
    listen,
    admin,
    store,
    store_key,
    limits: Object.freeze({ ...next.limits, header_bytes: running.limits.header_bytes }),
  });
}

/** A variable or file that names the same secret as before may hold another one now. */
function* rotatedSecrets(running: LoadedConfig, next: LoadedConfig): Generator<Change> {
  for (const [account, bearer] of next.bearers) {
    const before = running.bearers.get(account);
    if (before === undefined || before === bearer) continue;
    const same = (config: Config) => JSON.stringify(config.accounts.find(({ id }) => id === account)?.credential);
    if (same(running.config) === same(next.config)) yield { path: `accounts[${account}].credential`, kind: 'changed', restart: false };
  }
}
