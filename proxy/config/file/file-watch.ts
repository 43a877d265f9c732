// Watches a file for changes, including replacement by editors, `mv`, and symlink swaps of mounted volumes.
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface WatchOptions {
  /** Milliseconds without further signals before the file is compared: it may still be being written. */
  readonly settle_ms?: number;
  /** Milliseconds between polls, for file systems without change signals (network mounts); 0: never. */
  readonly poll_ms?: number;
  /** The known state: if the file differs from it already, that is a change. */
  readonly since?: FileState | undefined;
}

/** Identifies a file and its state; undefined while no file is readable. */
export type FileState = string | undefined;

/** Take the state before reading a file: a save during the read is then a change. */
export const stateOf = (path: string): FileState => signature(resolve(path));

/**
 * Calls `changed` after the content changed or another file has this name; not while the file is missing.
 * @returns stops watching
 */
export function watchFile(path: string, changed: () => void, options: WatchOptions = {}): () => void {
  const { settle_ms = 100, poll_ms = 5000 } = options;
  const file = resolve(path);
  let known = options.since ?? signature(file);
  let armed = '';
  let watchers: readonly FSWatcher[] = [];
  let settling: NodeJS.Timeout | undefined;

  const signal = () => {
    clearTimeout(settling);
    settling = setTimeout(compare, settle_ms);
    settling.unref();
  };

  const compare = () => {
    arm();
    const now = signature(file);
    if (now === undefined || now === known) return;
    known = now;
    changed();
  };

  /** Watches folders, because a watch on a file stays with the old file when it is replaced. */
  const arm = () => {
    const wanted = foldersOf(file);
    if (wanted.map(signature).join() === armed) return;
    for (const watcher of watchers) watcher.close();
    watchers = wanted.flatMap((folder) => {
      try {
        return [watch(folder, { persistent: false }, signal).on('error', signal)];
      } catch {
        // The folder is missing or cannot be watched: polling finds later changes.
        return [];
      }
    });
    armed = wanted.map(signature).join();
  };

  arm();
  if (signature(file) !== known) signal();
  const poll = poll_ms > 0 ? setInterval(() => signature(file) !== known && signal(), poll_ms).unref() : undefined;
  return () => {
    clearTimeout(settling);
    clearInterval(poll);
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };
}

/** The folder of the path, and the folder of the file that it links to. */
function foldersOf(file: string): readonly string[] {
  try {
    return [...new Set([dirname(file), dirname(realpathSync(file))])];
  } catch {
    return [dirname(file)];
  }
}

/** For a folder only its identity: its watcher reports changes inside. */
function signature(path: string): FileState {
  try {
    const stat = statSync(path, { bigint: true });
    // ctime covers copies that keep mtime, and permission changes.
    return [stat.dev, stat.ino, ...(stat.isDirectory() ? [] : [stat.size, stat.mtimeNs, stat.ctimeNs])].join(' ');
  } catch {
    return undefined;
  }
}
