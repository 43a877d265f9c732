// `diff`: what a reload would change.
import type { Command } from 'commander';
import { diffConfigs, formatChange, redact, versionOf } from '../config/diff.ts';
import { fetchStatus } from './admin-client.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './config-file.ts';
import { CommandFailure, type Common, type Io, json } from './output.ts';

interface DiffOptions extends Common {
  readonly exitCode?: boolean;
}

export function addDiff(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'diff',
    description: 'compare the file with the running gateway; secrets only show that they changed',
    examples: ['poolgate diff', 'poolgate diff --exit-code --json'],
  })
    .option('--exit-code', 'exit with 1 where they differ')
    .action(async ({ config: path, json: asJson, exitCode = false }: DiffOptions) => {
      const config = await inspectValid(path, io);
      const running = await fetchStatus(config);
      const changes = diffConfigs(running.config, redact(config));
      if (asJson) io.out(json({ running: running.version, file: versionOf(config), changes }));
      else io.out(changes.length === 0 ? 'no difference\n' : changes.map(formatChange).join('\n').concat('\n'));
      if (exitCode && changes.length > 0) throw new CommandFailure('');
    });
}
