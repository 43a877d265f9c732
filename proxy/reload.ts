// The running gateway follows its file: when it is saved, on SIGHUP, or when asked; every change is logged and audited (S9).
import type { ChangedField, Store } from '../store/store.ts';
import type { LoadedConfig } from './config/config.ts';
import { type Change, formatChange } from './config/diff.ts';
import { ConfigError } from './config/finding.ts';
import { type Reloaded, Reloader } from './config/reload.ts';
import { watchFile } from './config/watch.ts';
import type { Log } from './log.ts';

export interface ReloadTarget {
  readonly loaded: LoadedConfig;
  readonly store: Store;
  readonly log: Log;
  reload(loaded: LoadedConfig): Promise<void>;
  /** Looks again at the files that the configuration names, where it stayed as it was: accounts may have logged in anew (Q9). */
  refresh(): Promise<void>;
}

/** Who made the gateway read its file. */
export type ReloadActor = 'file' | 'signal' | 'command';

export class ConfigFollower {
  readonly #target: ReloadTarget;
  readonly #reloader: Reloader;
  readonly #now: () => number;

  constructor(target: ReloadTarget, loaded: LoadedConfig, now: () => number) {
    this.#target = target;
    this.#now = now;
    this.#reloader = new Reloader(loaded, (next) => target.reload(next));
  }

  /** Reloads whenever the file changes. @returns the undo */
  watch(): () => void {
    return watchFile(this.#target.loaded.path, () => void this.reload('file').catch(() => undefined));
  }

  /** @throws ConfigError when the file has mistakes; nothing changed then */
  async reload(actor: ReloadActor): Promise<Reloaded> {
    const { log, store } = this.#target;
    try {
      const reloaded = await this.#reloader.reload();
      const { changes, version } = reloaded;
      for (const change of changes) log.info('config_changed', { actor, change: formatChange(change) });
      // What waits for a restart is still the difference at the next save: it is audited when it takes effect.
      const effective = changes.filter(({ restart }) => !restart);
      if (effective.length === 0) await this.#target.refresh();
      if (effective.length > 0) {
        await store.audit.record({
          at: this.#now(),
          actor,
          action: 'config.reload',
          target: version,
          pool: null,
          fields: effective.map(fieldOf),
        });
      }
      return reloaded;
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) log.error('reload_failed', { actor });
      else for (const { line, column, message } of thrown.findings) log.error('reload_refused', { actor, line, column, message });
      throw thrown;
    }
  }
}

/** Scalars as they are; rows and private values as that they changed. */
function fieldOf({ path, kind, from, to }: Change): ChangedField {
  if (kind === 'changed' && from === undefined) return { path, from: '(changed)', to: '(changed)' };
  return { path: kind === 'changed' ? path : `${path} (${kind})`, from: scalar(from), to: scalar(to) };
}

function scalar(value: Change['from']): ChangedField['from'] {
  if (value === undefined) return null;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
