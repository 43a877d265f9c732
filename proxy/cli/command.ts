// One command with the options that all of them have.
import type { Command } from 'commander';

export interface CommandSpec {
  /** Name and arguments, as commander reads them: `explain <method> <path>`. */
  readonly usage: string;
  readonly description: string;
  /** Whole lines, first in the command's help. */
  readonly examples: readonly string[];
  /** Whether it can answer in JSON; it does by default. */
  readonly json?: boolean;
}

export function addCommand(parent: Command, { usage, description, examples, json = true }: CommandSpec): Command {
  const command = parent
    .command(usage)
    .description(description)
    .option('-c, --config <file>', 'the configuration file', 'config.yaml')
    .addHelpText('before', `${['Examples:', ...examples.map((example) => `  ${example}`)].join('\n')}\n`);
  return json ? command.option('--json', 'answer in JSON') : command;
}

/** For options that may stand several times: `--model a --model b`. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
