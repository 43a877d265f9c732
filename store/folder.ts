// Creates the folder of a file if it is missing, and says in words for operators why a file or its folder cannot be created.
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Reasons for the error codes that operators meet most often. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'one of its folders is a file',
  EISDIR: 'it is a folder',
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

/** Creates the folder of a file and its missing parents, readable by the owner only. */
export async function makeFolderOf(file: string): Promise<void> {
  const folder = dirname(file);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    // Node reports a read-only file system and a full disk as a missing folder. Creating the first missing folder gives the true reason.
    await mkdir(await firstMissing(folder), { mode: 0o700 });
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
}

async function firstMissing(folder: string): Promise<string> {
  const parent = dirname(folder);
  const exists = await stat(parent).then(
    () => true,
    () => parent === folder,
  );
  return exists ? folder : firstMissing(parent);
}
