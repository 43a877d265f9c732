// The commands as a tree for completion: the words that may follow each command.
import type { Command } from 'commander';

export interface CommandNode {
  /** The words from the program's name on: `poolgate key create`. */
  readonly path: string;
  readonly words: readonly Word[];
}

export interface Word {
  readonly text: string;
  /** A description for people. Empty if the word explains itself. */
  readonly description: string;
}

export function commandNodes(command: Command, before = ''): readonly CommandNode[] {
  const path = `${before}${command.name()}`;
  const commands = command.commands.map((one) => ({ text: one.name(), description: one.summary() || one.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((text) => ({ text, description: '' })));
  const options = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ text: long, description }] : []));
  return [{ path, words: [...commands, ...choices, ...options] }, ...command.commands.flatMap((one) => commandNodes(one, `${path} `))];
}
