// Whether a command line prints a file. If it does, the client's model will edit what it printed, and no byte of the output may change
// (F7.4).
import { printsOnly } from './sed-script.ts';
import { type Pipeline, readShell, type ShellWord, type SimpleCommand } from './shell-words.ts';

const READERS: ReadonlySet<string> = new Set(['cat', 'nl', 'head', 'tail']);
const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash']);
/** Commands that run another command, which follows their own options and values. */
const RUNNERS: ReadonlySet<string> = new Set([
  'builtin',
  'command',
  'env',
  'exec',
  'nice',
  'nohup',
  'stdbuf',
  'sudo',
  'time',
  'timeout',
  'xargs',
]);
const RESERVED: ReadonlySet<string> = new Set(['!', '{', '}', 'do', 'done', 'elif', 'else', 'fi', 'if', 'then', 'until', 'while']);
const ASSIGNMENT = /^\w+\+?=/;
const DEEPEST_SHELL = 4;
/** How many words after a runner are searched for its command. */
const MOST_RUNNER_WORDS = 16;

/**
 * Whether any pipeline of the line is a file read: one reading command, or several after another (`nl FILE | sed -n 1,9p`). Also true if
 * the line cannot be parsed, or the shell computes the name of the command.
 */
export function readsFile(line: string, depth = 0): boolean {
  const pipelines = depth > DEEPEST_SHELL ? undefined : readShell(line);
  return pipelines === undefined || pipelines.some((pipeline) => isRead(pipeline, depth));
}

/** Whether a list of arguments that no shell parses prints a file: `["bash", "-lc", "cat FILE"]`. */
export const argumentsReadFile = (args: readonly string[]): boolean => isRead([args], 0);

/**
 * Whether every command of a pipeline is a reader. A reader after another command (`git diff | head`) prints the output of that command,
 * not a file.
 */
const isRead = (pipeline: Pipeline, depth: number): boolean => pipeline.every((command) => isReader(command, depth));

function isReader(command: SimpleCommand, depth: number): boolean {
  const [name, ...args] = withoutPrefix(command);
  if (name === undefined) return args.length > 0 || command.includes(undefined);
  const program = programOf(name);
  if (READERS.has(program)) return true;
  if (program === 'sed') return printsOnly(args);
  if (SHELLS.has(program)) return shellReads(args, depth);
  // The arguments of a runner's own options are not known here. Therefore the name of a reader counts anywhere among its words.
  const words = args.slice(0, MOST_RUNNER_WORDS);
  return depth < DEEPEST_SHELL && RUNNERS.has(program) && words.some((_, i) => isReader(words.slice(i), depth + 1));
}

/** The command without reserved words and assignments in front of it. */
function withoutPrefix(command: SimpleCommand): SimpleCommand {
  const start = command.findIndex((word) => word === undefined || !(RESERVED.has(word) || ASSIGNMENT.test(word)));
  return start === -1 ? [] : command.slice(start);
}

const programOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/**
 * Whether the script after `-c` reads a file. A script that the shell computes could read anything. A shell without `-c` runs a program of
 * the user's.
 */
function shellReads(args: readonly ShellWord[], depth: number): boolean {
  const option = args.findIndex((word) => word !== undefined && /^-[a-z]*c[a-z]*$/.test(word));
  if (option === -1) return false;
  const script = args.slice(option + 1).find((word) => word === undefined || !word.startsWith('-'));
  return script === undefined || readsFile(script, depth + 1);
}
