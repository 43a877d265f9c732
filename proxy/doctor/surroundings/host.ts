// What the system says about the process: its environment, its user, and the files in which Linux states them. Tests state it themselves.
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

export interface Host {
  readonly env: NodeJS.ProcessEnv;
  /** Undefined on systems without numbers of users. */
  readonly uid: number | undefined;
  readonly hostname: string;
  /** Undefined for a file that cannot be read. */
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
