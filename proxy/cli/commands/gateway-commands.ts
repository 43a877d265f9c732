// `diff` and `reload`: compares the configuration of the running gateway with the file, and reloads it.
import type { Command } from 'commander';
import { formatChange } from '../../config/config-diff.ts';
import { formatFinding } from '../../config/schema/finding.ts';
import { addCommand, CommandFailure, type CommonOptions, type Io, json } from '../command.ts';
import { adminIn } from '../gateway/address.ts';
import { fetchConfiguration, requestReload } from '../gateway/calls.ts';

interface DiffOptions extends CommonOptions {
  readonly exitCode?: boolean;
}

export function addDiff(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'diff',
    description: 'compare the file with the running gateway; a secret is shown only as changed',
    examples: ['poolgate diff', 'poolgate diff --exit-code --json'],
  })
    .option('--exit-code', 'exit with 1 when they differ')
    .action(async ({ config: path, json: asJson, exitCode = false }: DiffOptions) => {
      const { version: running, file_version: file, changes, findings } = await fetchConfiguration(await adminIn(path, io));
      if (!changes) throw new CommandFailure('', { findings });
      if (asJson) io.out(json({ running, file, changes }));
      else io.out(changes.length === 0 ? 'no difference\n' : changes.map(formatChange).join('\n').concat('\n'));
      if (exitCode && changes.length > 0) throw new CommandFailure('');
    });
}

export function addReload(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'reload',
    description: 'make the running gateway read its file again; running turns keep their configuration',
    examples: ['poolgate reload', 'poolgate check --strict && poolgate reload'],
  }).action(async ({ config: path, json: asJson }: CommonOptions) => {
    const reply = await requestReload(await adminIn(path, io));
    if (asJson) return io.out(json(reply));
    const lines = [...reply.changes.map(formatChange), ...reply.warnings.map(formatFinding)];
    return io.out([...lines, reply.changes.length === 0 ? 'nothing changed' : `now running on ${reply.version}`].join('\n').concat('\n'));
  });
}
