// Reloads the configuration when the file is saved, on SIGHUP and on command. Every change is logged and audited (S9).
import { auditWait } from '../admin/answers/audit-wait.ts';
import { type AuditEntry, auditEntries, keysOf } from '../config/audit-changes.ts';
import type { LoadedConfig } from '../config/config.ts';
import { diffConfigs, formatChange, redact, versionOf } from '../config/config-diff.ts';
import type { EditOptions, ResultOf } from '../config/file/edits/edit-config.ts';
import type { EditOrder } from '../config/file/edits/edit-order.ts';
import { type FileState, watchFile } from '../config/file/file-watch.ts';
import { EditError } from '../config/file/yaml-places.ts';
import { type Reloaded, Reloader, type ReloadPreview } from '../config/loading/reloader.ts';
import { ConfigError, isError } from '../config/schema/finding.ts';
import type { Json } from '../turn/json/json.ts';
import type { Services } from './services.ts';

export interface ReloadTarget {
  readonly loaded: LoadedConfig;
  readonly services: Pick<Services, 'clock' | 'counters' | 'log' | 'store'>;
  reload(loaded: LoadedConfig): Promise<void>;
  /** Reads the credential files again if the configuration did not change, because an operator may have logged an account in again (Q9). */
  refresh(): Promise<void>;
}

/** What caused the gateway to read its file: `file`, `signal`, `command`, or `operator:` with the id of a signed-in operator. */
export type ReloadActor = string;

export class ConfigFollower {
  readonly #target: ReloadTarget;
  readonly #reloader: Reloader;
  #lastReloadSucceeded = true;
  #started: Promise<void> = Promise.resolve();

  constructor(target: ReloadTarget, loaded: LoadedConfig) {
    this.#target = target;
    this.#reloader = new Reloader(loaded, (next) => target.reload(next));
  }

  /** Whether the last reload found a valid file; true before the first. */
  get lastReloadSucceeded(): boolean {
    return this.#lastReloadSucceeded;
  }

  /** Audits changes that take effect now: those made while no gateway ran, and those that waited for a restart. */
  started(): Promise<void> {
    this.#started = this.#auditStart();
    return this.#started;
  }

  /** Resolves when the audit rows of the start are written, or when the write has failed. */
  get startAudited(): Promise<void> {
    return this.#started;
  }

  async #auditStart(): Promise<void> {
    const { loaded, services } = this.#target;
    const { log, store } = services;
    const { config } = loaded;
    const version = versionOf(config);
    try {
      const running = await store.runningConfig.find(this.#name);
      const known = running?.version ?? null;
      if (known === version) return;
      const before = running?.config as Json | undefined;
      const changes = before === undefined ? [] : diffConfigs(before, redact(config));
      const [whole, ...rows] = auditEntries(changes, { version, before: keysOf(before), after: config.keys });
      const fields = [{ path: 'version', from: known, to: version }, ...(whole?.fields ?? [])];
      await this.#audit('start', [{ action: 'config.start', target: version, pool: null, fields }, ...rows]);
    } catch {
      log.error('audit_failed', { actor: 'start' });
    }
  }

  /**
   * Reloads whenever the file changes, or a file of the listener's certificate.
   * @param since the file's state when it was read, so that a later save counts as a change
   * @returns a function that stops watching
   */
  watch(since?: FileState): () => void {
    const { path, config } = this.#target.loaded;
    const changed = (): void => void this.reload('file').catch(() => undefined);
    const { cert, key } = config.listen.tls ?? {};
    const certificates = [cert, key].filter((file) => file !== undefined).map((file) => watchFile(file, changed));
    const watches = [watchFile(path, changed, { since }), ...certificates];
    return () => {
      for (const unwatch of watches) unwatch();
    };
  }

  /** Reloads the file. @throws ConfigError if the file is invalid; nothing changes then */
  reload(actor: ReloadActor): Promise<Reloaded> {
    return this.#reloader.alone((reload) => this.#reloaded(actor, reload));
  }

  /** The changes that a reload would make. @throws ConfigError if the file is invalid */
  preview(): Promise<ReloadPreview> {
    return this.#reloader.preview();
  }

  /**
   * Edits the file, and reloads it before another edit or reload. The change is audited with this actor.
   * @throws what `editConfig` throws; nothing changes then
   */
  edit<Order extends EditOrder>(actor: ReloadActor, order: Order, owned: EditOptions['owned']): Promise<ResultOf<Order>> {
    const { path } = this.#target.loaded;
    return this.#reloader.alone(async (reload) => {
      // Loaded with the first edit, so that it does not delay the start.
      const { editConfig } = await import('../config/file/edits/edit-config.ts');
      const result = await editConfig(path, order, { owned, secrets: true });
      // An unchanged file is reloaded too, because it may have been edited a moment ago.
      await this.#reloaded(actor, reload).catch((thrown: unknown) => {
        if (!result.changed || !(thrown instanceof ConfigError)) throw thrown;
        throw new EditError(
          'the file has the edit, and errors that others saved at the same time: the edit is in force when they are corrected',
        );
      });
      return result;
    });
  }

  async #reloaded(actor: ReloadActor, reload: () => Promise<Reloaded>): Promise<Reloaded> {
    const { counters, log } = this.#target.services;
    try {
      const before = this.#reloader.running.config;
      const reloaded = await reload();
      const { changes, version, warnings } = reloaded;
      this.#lastReloadSucceeded = true;
      counters.add('config_reloads');
      log.info('config_read', { actor, version, changes: changes.length });
      for (const change of changes) log.info('config_changed', { actor, change: formatChange(change) });
      for (const { line, column, message } of warnings) log.warn('config_warning', { line, column, message });
      // A change that needs a restart is audited when it takes effect.
      const effective = changes.filter(({ restart }) => !restart);
      if (effective.length > 0) {
        const rows = auditEntries(effective, { version, before: before.keys, after: this.#reloader.running.config.keys });
        await auditWait(this.#audit(actor, rows), this.#target.services.clock);
      } else await this.#target.refresh();
      return reloaded;
    } catch (thrown) {
      this.#lastReloadSucceeded = false;
      counters.add('config_reloads_refused');
      if (!(thrown instanceof ConfigError)) log.error('reload_failed', { actor });
      else
        for (const { line, column, message } of thrown.findings.filter(isError)) {
          log.error('reload_refused', { actor, line, column, message });
        }
      throw thrown;
    }
  }

  /** The name under which the configuration is kept. Each node has a file of its own. */
  get #name(): string {
    const { loaded, services } = this.#target;
    return services.store.shared ? `node/${loaded.config.node.id}` : 'running';
  }

  /** Writes audit rows. The change has taken effect already, so a failure of the store is only logged. */
  async #audit(by: ReloadActor, rows: readonly AuditEntry[]): Promise<void> {
    const { clock, log, store } = this.#target.services;
    const { config: running } = this.#reloader.running;
    const at = clock.wallTime();
    const actor = store.shared ? `${by}@${running.node.id}` : by;
    try {
      await Promise.all([
        ...rows.map((row) => store.audit.record({ at, actor, ...row })),
        // Written after the audit rows. If the process dies between the two writes, the rows are written twice, but are not lost.
        store.runningConfig.save({ name: this.#name, config: redact(running) as object, version: versionOf(running), at }),
      ]);
    } catch {
      log.error('audit_failed', { actor, rows: rows.length });
    }
  }
}
