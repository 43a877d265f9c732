// Reloads the file of a running gateway. A valid file takes effect as a whole, and an invalid one changes nothing.
import type { Config, LoadedConfig } from '../config.ts';
import { type ConfigChange, diffConfigs, RESTART_SETTINGS, versionOf } from '../config-diff.ts';
import type { Finding } from '../schema/finding.ts';
import { loadConfigInBackground } from './background-load.ts';
import type { LoadOptions } from './load.ts';

export interface Reloaded {
  /** `versionOf` the running configuration. */
  readonly version: string;
  /** The changes in the file, including those of earlier reloads that still need a restart. */
  readonly changes: readonly ConfigChange[];
  readonly warnings: readonly Finding[];
}

export interface ReloadPreview extends Reloaded {
  /** `versionOf` the configuration in the file. */
  readonly file_version: string;
}

export class Reloader {
  #running: LoadedConfig;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #apply: (next: LoadedConfig, changes: readonly ConfigChange[]) => void | Promise<void>;
  readonly #options: LoadOptions;

  /**
   * @param running the configuration at the start
   * @param apply puts the next configuration into use; it is called only for changes that take effect now, and if it throws, `running`
   * stays
   */
  constructor(
    running: LoadedConfig,
    apply: (next: LoadedConfig, changes: readonly ConfigChange[]) => void | Promise<void>,
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
   * Reloads the file. Reloads by file watch, signal and command run one after another.
   * @throws {ConfigError} if the file has errors; nothing changes then
   */
  reload(): Promise<Reloaded> {
    return this.alone((reload) => reload());
  }

  /** Runs work without another reload before its end, such as an edit of the file and the reload that makes it effective. */
  alone<Value>(work: (reload: () => Promise<Reloaded>) => Promise<Value>): Promise<Value> {
    const result = this.#queue.then(() => work(() => this.#reload()));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** The changes that a reload would make. @throws {ConfigError} if the file has errors */
  async preview(): Promise<ReloadPreview> {
    const { loaded, changes, warnings } = await this.#next();
    return { version: versionOf(this.#running.config), file_version: versionOf(loaded.config), changes, warnings };
  }

  async #next(): Promise<{ loaded: LoadedConfig; changes: readonly ConfigChange[]; warnings: readonly Finding[] }> {
    const running = this.#running;
    const { loaded, warnings } = await loadConfigInBackground(running.path, this.#options);
    return { loaded, warnings, changes: [...diffConfigs(running.config, loaded.config), ...rotatedSecrets(running, loaded)] };
  }

  async #reload(): Promise<Reloaded> {
    const running = this.#running;
    const { loaded, changes, warnings } = await this.#next();
    if (changes.some(({ restart }) => !restart)) {
      const config = withRunningSettings(running.config, loaded.config);
      // If the setting names other files, they are used only after the restart that the setting needs.
      const listenTls = isSame(running.config.listen.tls, loaded.config.listen.tls) ? loaded.listenTls : running.listenTls;
      const next = { ...loaded, config, listenTls };
      await this.#apply(next, changes);
      this.#running = next;
    }
    return { version: versionOf(this.#running.config), changes, warnings };
  }
}

/** The next configuration, in which settings that need a restart keep their running values. */
const withRunningSettings = (running: Config, next: Config): Config =>
  RESTART_SETTINGS.reduce(
    (config, path) => withValueOf(running as unknown as Mapping, config, path.split('.')),
    next as unknown as Mapping,
  ) as unknown as Config;

type Mapping = Readonly<Record<string, unknown>>;

/** @returns `to` with the value that `from` has at this path, which may be none */
function withValueOf(from: Mapping, to: Mapping, [name = '', ...inner]: readonly string[]): Mapping {
  const { [name]: replaced, ...others } = to;
  const value = inner.length === 0 ? from[name] : withValueOf(from[name] as Mapping, replaced as Mapping, inner);
  return Object.freeze(value === undefined ? others : { ...to, [name]: value });
}

/** Secrets that changed although their references did not. */
function* rotatedSecrets(running: LoadedConfig, next: LoadedConfig): Generator<ConfigChange> {
  for (const [account, bearer] of next.bearers) {
    const before = running.bearers.get(account);
    if (before === undefined || before === bearer) continue;
    const same = (config: Config) => JSON.stringify(config.accounts.find(({ id }) => id === account)?.credential);
    if (same(running.config) === same(next.config)) yield { path: `accounts[${account}].credential`, kind: 'changed', restart: false };
  }
  yield* rotatedConnections(running, next);
}

/** Certificates and passwords that changed although their paths and references did not. */
function* rotatedConnections(running: LoadedConfig, next: LoadedConfig): Generator<ConfigChange> {
  for (const [account, connection] of next.connections) {
    const before = running.connections.get(account);
    for (const name of ['proxy', 'tls'] as const) {
      const setting = (config: Config) => config.accounts.find(({ id }) => id === account)?.[name];
      if (isSame(before?.[name], connection[name]) || !isSame(setting(running.config), setting(next.config))) continue;
      yield { path: `accounts[${account}].${name}`, kind: 'changed', restart: false };
    }
  }
  if (isSame(running.config.listen.tls, next.config.listen.tls) && !isSame(running.listenTls, next.listenTls))
    yield { path: 'listen.tls', kind: 'changed', restart: false };
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
