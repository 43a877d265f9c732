// Creates the folder of a file if it is missing, and says in words for operators why a file or its folder cannot be created.
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Reasons for the error codes that operators meet most often. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'one of its folders is a file',
  EISDIR: 'it is a folder',
  ENOENT: 'nothing can be created there',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'one of its folders is a file',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
};

export const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown error');

/** Why a file or its folder cannot be created or written. */
export function writeFaultOf(error: unknown): string {
  const code = codeOf(error);
  return Object.hasOwn(REASONS, code) ? `${REASONS[code]} (${code})` : code;
}

/** Creates the folder of a file and its missing parents. @param mode by default, only the owner may read them */
export const makeFolderOf = (file: string, mode = 0o700): Promise<void> => makeFolder(dirname(file), mode);

/**
 * Creates one folder after another. The recursive `mkdir` of Node never ends below a folder in which nothing can be created, such as /proc,
 * and it reports a read-only file system and a full disk as a missing folder.
 */
async function makeFolder(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) await makeFolder(parent, mode);
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (codeOf(error) !== 'EEXIST' || !(await isFolder(folder))) throw error;
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
