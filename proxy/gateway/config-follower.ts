// The running gateway follows its file: when it is saved, on SIGHUP, or when asked; every change is logged and audited (S9).
import type { AuditRow } from '../../store/store.ts';
import { type AuditEntry, auditEntries } from '../config/audit-changes.ts';
import type { LoadedConfig } from '../config/config.ts';
import { formatChange, versionOf } from '../config/diff.ts';
import { type FileState, watchFile } from '../config/file-watch.ts';
import { ConfigError } from '../config/finding.ts';
import { type Reloaded, Reloader } from '../config/reloader.ts';
import type { Services } from './services.ts';

export interface ReloadTarget {
  readonly loaded: LoadedConfig;
  readonly services: Pick<Services, 'clock' | 'log' | 'store'>;
  reload(loaded: LoadedConfig): Promise<void>;
  /** Looks again at the files that the configuration names, where it stayed as it was: accounts may have logged in anew (Q9). */
  refresh(): Promise<void>;
}

/** Who made the gateway read its file. */
export type ReloadActor = 'file' | 'signal' | 'command';

export class ConfigFollower {
  readonly #target: ReloadTarget;
  readonly #reloader: Reloader;

  constructor(target: ReloadTarget, loaded: LoadedConfig) {
    this.#target = target;
    this.#reloader = new Reloader(loaded, (next) => target.reload(next));
  }

  /** What was changed while no gateway ran, and what waited for this start, took effect now: the audit log says at least that. */
  async started(): Promise<void> {
    const { loaded, services } = this.#target;
    const { log, store } = services;
    const version = versionOf(loaded.config);
    const last = async (action: string) => (await store.audit.list({ action, limit: 1 }))[0];
    try {
      const [start, reload] = await Promise.all([last('config.start'), last('config.reload')]);
      const known = (start?.at ?? 0) > (reload?.at ?? 0) ? start : reload;
      if (known?.target === version) return;
      const fields = [{ path: 'version', from: known?.target ?? null, to: version }];
      await this.#audit('start', [{ action: 'config.start', target: version, pool: null, fields }]);
    } catch {
      log.error('audit_failed', { actor: 'start' });
    }
  }

  /**
   * Reloads whenever the file changes.
   * @param since its state when it was read: what was saved after that is a change
   * @returns the undo
   */
  watch(since?: FileState): () => void {
    return watchFile(this.#target.loaded.path, () => void this.reload('file').catch(() => undefined), { since });
  }

  /** @throws ConfigError when the file has mistakes; nothing changed then */
  async reload(actor: ReloadActor): Promise<Reloaded> {
    const { log } = this.#target.services;
    try {
      const before = this.#reloader.running.config;
      const reloaded = await this.#reloader.reload();
      const { changes, version, warnings } = reloaded;
      log.info('config_read', { actor, version, changes: changes.length });
      for (const change of changes) log.info('config_changed', { actor, change: formatChange(change) });
      for (const { line, column, message } of warnings) log.warn('config_warning', { line, column, message });
      // What waits for a restart is still the difference at the next save: it is audited when it takes effect.
      const effective = changes.filter(({ restart }) => !restart);
      if (effective.length > 0) await this.#audit(actor, auditEntries(effective, version, before, this.#reloader.running.config));
      else await this.#target.refresh();
      return reloaded;
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) log.error('reload_failed', { actor });
      else for (const { line, column, message } of thrown.findings) log.error('reload_refused', { actor, line, column, message });
      throw thrown;
    }
  }

  /** The change stands already: a store that cannot take its rows is told, and nothing else. */
  async #audit(actor: AuditRow['actor'], rows: readonly AuditEntry[]): Promise<void> {
    const { clock, log, store } = this.#target.services;
    const at = clock.now();
    try {
      await Promise.all(rows.map((row) => store.audit.record({ at, actor, ...row })));
    } catch {
      log.error('audit_failed', { actor, rows: rows.length });
    }
  }
}
