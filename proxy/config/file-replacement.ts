// Replaces a file by an edited one: whole or not at all, one editor at a time, its mode kept.
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from './config.ts';
import { type Edit, EditError, edited } from './edit.ts';
import { ConfigError, isError } from './finding.ts';
import { inspect, readConfig } from './load.ts';
import { parseYaml } from './yaml.ts';

/** How long another edit of the same file is waited for. */
const PATIENCE_MS = 3000;

export interface Subject {
  readonly config: Config;
  /** The file's content as it is written: no defaults, nothing dropped. */
  readonly content: unknown;
}

/**
 * Reads the file, applies edits, checks the result as `check` would (but for secrets, which may not be readable here), and puts it in
 * the file's place. Where the path is a link, the file that it leads to is replaced.
 * @param choose Given the configuration as it is, the edits to make; none leaves the file alone.
 * @returns Whether the file was changed.
 * @throws {ConfigError} when the file is invalid.
 * @throws {EditRefused} when the edit would make it so.
 * @throws {EditError} when the file cannot be edited or replaced.
 */
export async function rewriteConfig(path: string, choose: (subject: Subject) => readonly Edit[]): Promise<boolean> {
  // Of a file that is not there, reading tells it best.
  const target = await realpath(path).catch(async () => readConfig(path).then(() => path));
  const draft = `${target}.edit`;
  const lock = await locked(draft);
  let replaced = false;
  try {
    const text = await readConfig(path);
    const { config, findings } = await inspect(text, { path, secrets: false });
    if (!config) throw new ConfigError(findings.filter(isError));
    const edits = choose({ config, content: parseYaml(text, path).document.toJS() });
    if (edits.length === 0) return false;
    const result = edits.reduce(edited, text);
    const after = await inspect(result, { path, secrets: false });
    if (!after.config) throw new EditRefused(after.findings.filter(isError));
    await lock.writeFile(result);
    await keepOwner(lock, target);
    await lock.sync();
    // An editor knows nothing of our lock: what it saved meanwhile is not overwritten.
    if ((await readConfig(path)) !== text) throw new EditError('the file was changed meanwhile; please try again');
    await rename(draft, target);
    replaced = true;
    return true;
  } finally {
    await lock.close();
    // Once renamed, a draft of this name is somebody else's.
    if (!replaced) await rm(draft, { force: true });
  }
}

/** The findings are those of the file as it would have become. */
export class EditRefused extends ConfigError {}

/** The draft is the lock: whoever creates it edits, and renaming it into place releases it. */
async function locked(draft: string): Promise<FileHandle> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await open(draft, 'wx', 0o600);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'EEXIST') throw new EditError(`the file cannot be replaced in its folder (${code})`);
      if (performance.now() > deadline) throw new EditError(`another edit is under way; if none is, remove ${draft}`);
      await pause(20);
    }
  }
}

async function keepOwner(draft: FileHandle, target: string): Promise<void> {
  const { mode, uid, gid } = await stat(target);
  // Only root may give a file away; for anybody else the new file is the editor's, as with any editor.
  await draft.chown(uid, gid).catch(() => undefined);
  await draft.chmod(mode & 0o7777);
}
