// `mode set POOL MODEL MODE`: sets a serving mode in the file (Q30).
import { Argument, type Command } from 'commander';
import { addCommand, type CommonOptions, type Io, json } from '../command.ts';
import { unlistedModels } from '../gateway/unknown-names.ts';
import { orderEdit } from './ordered-edit.ts';

export function addModeCommands(program: Command, io: Io): void {
  const mode = program.command('mode').description('set serving modes');

  addCommand(mode, {
    usage: 'set <pool> <model>',
    description: 'set the serving mode of an exposed model id in a Pool; auto removes its row, so that the catalog decides',
    examples: ['poolgate mode set team model-a lite', 'poolgate mode set team model-a auto'],
  })
    .addArgument(new Argument('<mode>', 'the serving mode').choices(['auto', 'lite', 'full']))
    .action(async (pool: string, model: string, value: 'auto' | 'lite' | 'full', options: CommonOptions) => {
      const { changed } = await orderEdit({ do: 'mode.set', pool, model, mode: value }, options, io);
      if (value !== 'auto') io.err(await unlistedModels(options.config, [model], io));
      io.out(
        options.json ? json({ pool, model, mode: value, changed }) : `${model} in Pool ${pool} is ${changed ? '' : 'already '}${value}\n`,
      );
    });
}
