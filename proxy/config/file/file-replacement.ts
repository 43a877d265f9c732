// Replaces a file with its edited version: atomically, one edit at a time, and with the same file mode.
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { inspect, readConfig } from '../loading/load.ts';
import { ConfigError, isError } from '../schema/finding.ts';
import { type Edit, editText } from './edit.ts';
import { parseYaml } from './yaml.ts';
import { EditError, FileChanged } from './yaml-places.ts';

/** The longest wait for another edit of the same file that does nothing. */
const LOCK_TIMEOUT_MS = 3000;

export interface EditInput {
  readonly config: Config;
  /** The content of the file without defaults. */
  readonly content: unknown;
}

/**
 * Reads the file, applies edits, checks the result as `check` does (by default without secrets, which may not be readable here), and
 * replaces the file. If the path is a link, the linked file is replaced.
 * @param choose returns the edits for the current content; none leaves the file unchanged
 * @param secrets whether secrets are read too, as for a reload
 * @returns whether the file was changed
 * @throws {ConfigError} if the file is invalid
 * @throws {EditRefused} if the edited file would be invalid
 * @throws {EditError} if the file cannot be edited or replaced
 */
export async function rewriteConfig(
  path: string,
  choose: (input: EditInput) => readonly Edit[],
  { secrets = false }: { readonly secrets?: boolean } = {},
): Promise<boolean> {
  // If the file is missing, readConfig throws the finding.
  const target = await realpath(path).catch(async () => readConfig(path).then(() => path));
  const draft = `${target}.edit`;
  const lock = await createDraft(draft);
  let replaced = false;
  try {
    const text = await readConfig(path);
    const { config, findings } = await inspect(text, { path, secrets });
    if (!config) throw new ConfigError(findings.filter(isError));
    const edits = choose({ config, content: parseYaml(text, path).document.toJS() });
    if (edits.length === 0) return false;
    const result = edits.reduce(editText, text);
    const after = await inspect(result, { path, secrets });
    if (!after.config) throw new EditRefused(after.findings.filter(isError));
    await lock.writeFile(result).catch(notReplaced);
    await keepOwner(lock, target).catch(notReplaced);
    await lock.sync().catch(notReplaced);
    // Text editors do not use this lock, so a file that one of them saved in the meantime must not be overwritten.
    if ((await readConfig(path)) !== text) throw new FileChanged('the file was changed during the edit; try again');
    await rename(draft, target).catch(notReplaced);
    replaced = true;
    return true;
  } finally {
    await lock.close();
    // After the rename, a draft with this name belongs to another edit.
    if (!replaced) await rm(draft, { force: true });
  }
}

/** The findings are those of the edited file. */
export class EditRefused extends ConfigError {}

/** Creates the draft file, which is the lock. Creating it takes the lock; renaming or removing it releases the lock. */
async function createDraft(draft: string): Promise<FileHandle> {
  let [seen, since] = ['', performance.now()];
  for (;;) {
    try {
      return await open(draft, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') notReplaced(error);
    }
    // Several edits run one after another, so the time counts from the last change of the draft that is in the way.
    const found = await stat(draft).then(
      ({ ino, ctimeMs }) => `${ino} ${ctimeMs}`,
      () => 'none',
    );
    const now = performance.now();
    if (found !== seen) [seen, since] = [found, now];
    else if (now - since > LOCK_TIMEOUT_MS) throw new EditError(`another edit is in progress; if none is, remove ${draft}`);
    await pause(20);
  }
}

/** Texts for the most frequent failures. `EBUSY` means that the file itself is a mount, as in a container. */
export const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'its folder cannot be written by this user',
  EBUSY: 'it is mounted by itself; mount its folder, or edit it outside the container',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  EPERM: 'its folder cannot be written by this user',
  EROFS: 'its file system is read-only',
};

/** @throws {EditError} */
function notReplaced(thrown: unknown): never {
  const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
  throw new EditError(`the file is unchanged, since ${REASONS[code] ?? 'it cannot be replaced in its folder'} (${code})`);
}

async function keepOwner(draft: FileHandle, target: string): Promise<void> {
  const { mode, uid, gid } = await stat(target);
  // Only root may change the owner. For other users the new file belongs to them.
  await draft.chown(uid, gid).catch(() => undefined);
  await draft.chmod(mode & 0o7777);
}
