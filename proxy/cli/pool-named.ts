// Finds the Pool that an option names, or the only one in the file.
import type { Config } from '../config/config.ts';
import { indexIn } from '../config/file/edits/invalid-edit.ts';
import { CommandFailure } from './command.ts';

/** @throws {CommandFailure} for an unknown Pool, or if the option is missing and the file has several */
export function poolNamed({ pools }: Config, id: string | undefined): string {
  const [only, ...others] = pools;
  if (id === undefined && only && others.length === 0) return only.id;
  if (id === undefined) {
    const known = pools.map((pool) => pool.id).join(', ');
    throw new CommandFailure(`--pool is missing; the Pools of the file: ${known || 'none'}`, { exitCode: 2 });
  }
  indexIn(pools, id, 'Pool');
  return id;
}
