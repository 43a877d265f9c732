// `mode set POOL MODEL MODE`: edits a serving mode of the file (Q30).
import { Argument, type Command } from 'commander';
import { isMapping, mapping, rowsOf } from '../../config/checks/rows.ts';
import type { Edit } from '../../config/file/edit.ts';
import { type EditInput, rewriteConfig } from '../../config/file/file-replacement.ts';
import { addCommand, type CommonOptions, type Io, indexOfId, json } from '../command.ts';

export function addModeCommands(program: Command, io: Io): void {
  const mode = program.command('mode').description('set serving modes');

  addCommand(mode, {
    usage: 'set <pool> <model>',
    description: 'set the serving mode of an exposed model id in a Pool; auto removes its row, so that the catalog decides',
    examples: ['poolgate mode set team model-a lite', 'poolgate mode set team model-a auto'],
  })
    .addArgument(new Argument('<mode>', 'the serving mode').choices(['auto', 'lite', 'full']))
    .action(async (pool: string, model: string, value: 'auto' | 'lite' | 'full', options: CommonOptions) => {
      const changed = await rewriteConfig(options.config, (input) => modeEdits(input, { pool, model, value }));
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

function modeEdits({ config, content }: EditInput, { pool, model, value }: Choice): readonly Edit[] {
  const index = indexOfId(config.pools, pool, 'Pool');
  const path = ['pools', index, 'serving_modes', model];
  // `auto` is compiled to no override (PL3), but the file may contain it: so the written value is compared.
  const written = mapping(rowsOf(content, 'pools')[index]?.row.serving_modes);
  const now = isMapping(written) && Object.hasOwn(written, model) ? written[model] : undefined;
  if (value === 'auto') return now === undefined ? [] : [{ remove: path }];
  return now === value ? [] : [{ set: path, to: value }];
}
