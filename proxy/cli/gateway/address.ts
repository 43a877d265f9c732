// The address of a running gateway's admin listener, from a configuration file.
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { listenersIn } from '../../config/file/listeners.ts';
import { readConfig } from '../../config/loading/load.ts';
import type { Io } from '../command.ts';

/** The address of the running gateway, and the operator's token for it. */
export interface AdminAddress {
  readonly admin: Config['admin'];
  /** The token of an operator, which the gateway requires outside loopback. */
  readonly token: string | undefined;
  /** The absolute path of the command's file. A gateway with another file refuses requests about the file. */
  readonly file: string;
}

/** @param path the path of the configuration file */
export const adminOf = ({ admin }: Pick<Config, 'admin'>, { env }: Pick<Io, 'env'>, path: string): AdminAddress => ({
  admin,
  token: env.POOLGATE_TOKEN,
  file: resolve(path),
});

/**
 * The address in a file that may have errors elsewhere, because the state of a running gateway is then of interest.
 * @throws {ConfigError} with the errors of the listeners
 */
export async function adminIn(path: string, io: Pick<Io, 'env'>): Promise<AdminAddress> {
  return adminOf(await listenersIn(await readConfig(path), path), io, path);
}
