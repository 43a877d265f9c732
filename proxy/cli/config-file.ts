// The file that a command looks at: valid, its secrets left unread.
import type { Config } from '../config/config.ts';
import { ConfigError, isError } from '../config/finding.ts';
import { inspect, readConfig } from '../config/load.ts';
import type { Io } from './output.ts';

/** @throws {ConfigError} with the file's errors. */
export async function inspectValid(path: string, { env }: Io): Promise<Config> {
  const { config, findings } = await inspect(await readConfig(path), { path, env, secrets: false });
  if (!config) throw new ConfigError(findings.filter(isError));
  return config;
}
