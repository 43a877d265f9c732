// The address of a running gateway's admin listener, as a configuration file has it.
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { listenersIn } from '../../config/file/listeners.ts';
import { readConfig } from '../../config/loading/load.ts';
import type { Io } from '../command.ts';

/** Where the running gateway is asked, and by whom. */
export interface AdminAddress {
  readonly admin: Config['admin'];
  /** Of an operator: outside loopback the gateway requires it. */
  readonly token: string | undefined;
  /** Absolute path of the command's file: a gateway on another one refuses what is about the file. */
  readonly file: string;
}

/** @param path of the configuration file */
export const adminOf = ({ admin }: Pick<Config, 'admin'>, { env }: Pick<Io, 'env'>, path: string): AdminAddress => ({
  admin,
  token: env.POOLGATE_TOKEN,
  file: resolve(path),
});

/**
 * The address in a file that may have errors elsewhere: that is when the state of a running gateway is of interest.
 * @throws {ConfigError} with the errors of the listeners
 */
export async function adminIn(path: string, io: Pick<Io, 'env'>): Promise<AdminAddress> {
  return adminOf(await listenersIn(await readConfig(path), path), io, path);
}
