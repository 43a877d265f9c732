// `mode set POOL MODEL MODE`: edits a serving mode in the file (Q30).
import { Argument, type Command } from 'commander';
import { isMapping, mapping, rowsOf } from '../config/checks/rows.ts';
import type { Config } from '../config/config.ts';
import type { Edit } from '../config/edit.ts';
import { rewriteConfig, type Subject } from '../config/file-replacement.ts';
import { suggestion } from '../config/suggestion.ts';
import { addCommand } from './command.ts';
import { CommandFailure, type Common, type Io, json } from './output.ts';

export function addModeCommands(program: Command, io: Io): void {
  const mode = program.command('mode').description('set serving modes');

  addCommand(mode, {
    usage: 'set <pool> <model>',
    description: 'set the serving mode of an exposed model id in a Pool; auto takes its row out, so that the catalog decides',
    examples: ['poolgate mode set team model-a lite', 'poolgate mode set team model-a auto'],
  })
    .addArgument(new Argument('<mode>', 'the serving mode').choices(['auto', 'lite', 'full']))
    .action(async (pool: string, model: string, value: 'auto' | 'lite' | 'full', options: Common) => {
      const changed = await rewriteConfig(options.config, (subject) => modeEdits(subject, { pool, model, value }));
      io.out(
        options.json ? json({ pool, model, mode: value, changed }) : `${model} in Pool ${pool} is ${changed ? '' : 'already '}${value}\n`,
      );
    });
}

interface Choice {
  readonly pool: string;
  readonly model: string;
  readonly value: 'auto' | 'lite' | 'full';
}

function modeEdits({ config, content }: Subject, { pool, model, value }: Choice): readonly Edit[] {
  const index = indexOf(config, pool);
  const path = ['pools', index, 'serving_modes', model];
  // `auto` is stored as no override (PL3), but may stand in the file all the same: so it is asked what is written.
  const written = mapping(rowsOf(content, 'pools')[index]?.row.serving_modes);
  const now = isMapping(written) && Object.hasOwn(written, model) ? written[model] : undefined;
  if (value === 'auto') return now === undefined ? [] : [{ remove: path }];
  return now === value ? [] : [{ set: path, to: value }];
}

function indexOf({ pools }: Config, id: string): number {
  const index = pools.findIndex((pool) => pool.id === id);
  if (index < 0)
    throw new CommandFailure(
      `there is no Pool '${id}'${suggestion(
        id,
        pools.map((pool) => pool.id),
      )}`,
    );
  return index;
}
