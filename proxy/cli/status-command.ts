// `status`: how the running gateway is.
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { fetchStatus } from './admin-client.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './config-file.ts';
import { type Common, type Io, json } from './output.ts';

export function addStatus(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'status',
    description: 'show how the running gateway is; with --json also the configuration that it runs on',
    examples: ['poolgate status', 'poolgate status --json'],
  }).action(async ({ config: path, json: asJson }: Common) => {
    const reply = await fetchStatus(await inspectValid(path, io));
    if (asJson) return io.out(json(reply));
    const { config: _, ...rest } = reply;
    return io.out(stringify(rest));
  });
}
