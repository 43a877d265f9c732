// `reload`: makes the running gateway read its file again, now.
import type { Command } from 'commander';
import { formatChange } from '../config/diff.ts';
import { formatFinding } from '../config/finding.ts';
import { requestReload } from './admin-client.ts';
import { addCommand } from './command.ts';
import { inspectValid } from './config-file.ts';
import { type Common, type Io, json } from './output.ts';

export function addReload(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'reload',
    description: 'make the running gateway read its file again; running turns keep the configuration they began with',
    examples: ['poolgate reload', 'poolgate check --strict && poolgate reload'],
  }).action(async ({ config: path, json: asJson }: Common) => {
    const reply = await requestReload(await inspectValid(path, io));
    if (asJson) return io.out(json(reply));
    const lines = [...reply.changes.map(formatChange), ...reply.warnings.map(formatFinding)];
    return io.out([...lines, reply.changes.length === 0 ? 'nothing changed' : `now running on ${reply.version}`].join('\n').concat('\n'));
  });
}
