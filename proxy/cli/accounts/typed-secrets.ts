// Secrets that a person typed. Each is written to a separate file next to the configuration, which only its owner can read.
import { chmod, open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeFolderOf, writeFaultOf } from '../../../store/folder.ts';
import { CommandFailure } from '../command.ts';

export interface TypedSecret {
  /** The path in the configuration file, relative to its folder. */
  readonly path: string;
  readonly secret: string;
}

/** The path of the file with the secret of an account. */
export const secretPath = (id: string): string => join('secrets', `${id}.key`);

export interface WrittenSecrets {
  /** Keeps the files, because they belong to an account now. */
  keep(): void;
  /** Removes them unless they are kept. */
  discard(): Promise<void>;
}

/** @param config the path of the configuration file @throws {CommandFailure} if a file exists already, or cannot be written */
export async function writtenSecrets(config: string, secrets: readonly TypedSecret[]): Promise<WrittenSecrets> {
  const folder = dirname(resolve(config));
  const written: string[] = [];
  const discard = async (): Promise<void> => {
    for (const path of written) await rm(path, { force: true });
  };
  try {
    for (const { path, secret } of secrets) {
      const file = join(folder, path);
      await makeFolderOf(file);
      const handle = await open(file, 'wx', 0o600);
      written.push(file);
      await handle.writeFile(`${secret}\n`);
      await handle.close();
      // Set again, because the umask of the process may have changed the mode.
      await chmod(file, 0o600);
    }
  } catch (thrown) {
    await discard();
    throw new CommandFailure(`the secret cannot be written to its file: ${writeFaultOf(thrown)}`);
  }
  return {
    keep: () => {
      written.length = 0;
    },
    discard,
  };
}
