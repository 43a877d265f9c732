// `completion`: prints the completion of the commands for a shell, made from the commands' own definitions.
import { Argument, type Command } from 'commander';
import { addCommand, type Io } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export function addCompletion(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'completion',
    description: 'print the completion of commands and options for a shell',
    examples: [
      'source <(poolgate completion bash)               in ~/.bashrc',
      'source <(poolgate completion zsh)                in ~/.zshrc, after compinit',
      'poolgate completion fish | source                in ~/.config/fish/config.fish',
    ],
    json: false,
    config: false,
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => io.out(SCRIPTS[shell](commandNodes(program))));
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (nodes: readonly CommandNode[]) => string>> = {
  bash: (nodes) => `_poolgate() {
  local path=poolgate words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${inner(nodes)}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${nodes.map(({ path, words }) => `    '${path}') words='${words.map(({ text }) => text).join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _poolgate poolgate
`,
  zsh: (nodes) => `#compdef poolgate
_poolgate() {
  local at=poolgate i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${inner(nodes)}) at="$at \${words[i]}" ;;
    esac
  done
  case "$at" in
${nodes.map(({ path, words }) => `    '${path}') list=(${words.map(({ text, description }) => quoted(`${text}:${short(description)}`)).join(' ')}) ;;`).join('\n')}
  esac
  _describe poolgate list || _files
}
compdef _poolgate poolgate
`,
  fish: (nodes) => `function __poolgate_at
  set -l at poolgate
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${inner(nodes).replaceAll('|', ' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c poolgate -e
${nodes.flatMap(({ path, words }) => words.map(({ text, description }) => fishLine(path, text, description))).join('\n')}
`,
};

/** The commands below the program, as patterns of a case. */
const inner = (nodes: readonly CommandNode[]): string =>
  nodes
    .slice(1)
    .map(({ path }) => `'${path}'`)
    .join('|');

const fishLine = (path: string, text: string, description: string): string => {
  const word = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`;
  return `complete -c poolgate -n '__poolgate_at "${path}"' ${word} -d ${quoted(short(description))}`;
};

const quoted = (text: string): string => `'${text.replaceAll('\\', '').replaceAll("'", '’')}'`;

/** The first words of a description, because a list has one line for each. */
const short = (text: string): string => {
  const [first = ''] = text.replaceAll(':', ',').split(/[;\n]/);
  return first.length > 60 ? `${first.slice(0, 59)}…` : first;
};

/** A command with the words that may follow it. */
interface CommandNode {
  /** The words from the program's name on: `poolgate key create`. */
  readonly path: string;
  readonly words: readonly Word[];
}

interface Word {
  readonly text: string;
  /** A description for people. Empty if the word explains itself. */
  readonly description: string;
}

function commandNodes(command: Command, before = ''): readonly CommandNode[] {
  const path = `${before}${command.name()}`;
  const commands = command.commands.map((one) => ({ text: one.name(), description: one.summary() || one.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((text) => ({ text, description: '' })));
  const options = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ text: long, description }] : []));
  return [{ path, words: [...commands, ...choices, ...options] }, ...command.commands.flatMap((one) => commandNodes(one, `${path} `))];
}
