// What the system states about the process: its environment, its user, and the files in which Linux states them. Tests replace it.
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Host {
  readonly env: NodeJS.ProcessEnv;
  /** The number of the user. Undefined on systems without such numbers. */
  readonly uid: number | undefined;
  readonly hostname: string;
  /** The text of a file. Undefined if it cannot be read. */
  read(path: string): string | undefined;
  exists(path: string): boolean;
}

export const thisHost = (env: NodeJS.ProcessEnv): Host => ({
  env,
  uid: process.getuid?.(),
  hostname: hostname(),
  read: (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  },
  exists: (path) => statSync(path, { throwIfNoEntry: false }) !== undefined,
});
