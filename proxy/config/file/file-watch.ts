// Watches a file for changes, including replacement by editors, `mv`, and symlink swaps of mounted volumes.
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface WatchOptions {
  /** Milliseconds without further signals before the file is compared, because it may still be written. */
  readonly settle_ms?: number;
  /** Milliseconds between polls, for file systems without change signals (network mounts). 0 disables polling. */
  readonly poll_ms?: number;
  /** The known state. If the file already differs from it, that counts as a change. */
  readonly since?: FileState | undefined;
}

/** Identifies a file and its state. Undefined if no file can be read. */
export type FileState = string | undefined;

/** Take the state before reading a file, so that a save during the read counts as a change. */
export const stateOf = (path: string): FileState => signature(resolve(path));

/**
 * Calls `changed` after the content changed, or another file got this name, but not while the file is missing.
 * @returns a function that stops watching
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

  /** Watches the folders, because a watch on a file stays with the old file after a replacement. */
  const arm = () => {
    const wanted = foldersOf(file);
    if (wanted.map(signature).join() === armed) return;
    for (const watcher of watchers) watcher.close();
    watchers = wanted.flatMap((folder) => {
      try {
        return [watch(folder, { persistent: false }, signal).on('error', signal)];
      } catch {
        // If the folder is missing or cannot be watched, polling finds later changes.
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

/** The signature of a file. For a folder it is only its identity, because its watcher reports changes inside. */
function signature(path: string): FileState {
  try {
    const stat = statSync(path, { bigint: true });
    // ctime detects copies that keep mtime, and changes of permissions.
    return [stat.dev, stat.ino, ...(stat.isDirectory() ? [] : [stat.size, stat.mtimeNs, stat.ctimeNs])].join(' ');
  } catch {
    return undefined;
  }
}
