// Whether a command line prints a file. If it does, the client's model will edit what it printed, and no byte of the output may change
// (F7.4).
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

const QUIET = /^--(?:quiet|silent)$/;
const HARMLESS = /^--(?:regexp-extended|separate|unbuffered|null-data|posix|debug|sandbox)$/;
const EXPRESSION = '--expression=';

/**
 * With `-n`: a script of `p`, `q`, `Q` and `=` with any addresses. Without `-n`: a script of `q` and `Q` alone. A script that the shell
 * computes counts as printing if `-n` is given.
 * @param args the words after `sed`
 */
function printsOnly(args: readonly ShellWord[]): boolean {
  const scripts: ShellWord[] = [];
  const operands: ShellWord[] = [];
  let quiet = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === undefined || !arg.startsWith('-') || arg === '-') operands.push(arg);
    else if (arg.startsWith(EXPRESSION)) scripts.push(arg.slice(EXPRESSION.length));
    else if (QUIET.test(arg)) quiet = true;
    else if (!HARMLESS.test(arg)) {
      const [, letters = '', script] = /^-([Ersuzn]*)(?:e(.*))?$/s.exec(arg) ?? [];
      if (letters === '' && script === undefined) return false;
      quiet ||= letters.includes('n');
      if (script !== undefined) scripts.push(script === '' ? args[++i] : script);
    }
  }
  const run = scripts.length > 0 ? scripts : operands.slice(0, 1);
  return run.length > 0 && run.every((script) => (script === undefined ? quiet : isPrinting(script, quiet)));
}

const ADDRESS = String.raw`(?:\d+~\d+|\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*)`;
const NEXT = String.raw`(?=[;}\n#]|$)`;

/** Matches separators and a comment, or one command with its addresses. */
const STEP = new RegExp(
  String.raw`[\s;}]+|#[^\n]*|(?:${ADDRESS}(?:\s*,\s*(?:${ADDRESS}|[+~]\d+))?)?\s*(?:!\s*)?(\{|[p=]\s*${NEXT}|[qQ]\s*(?:\d+\s*)?${NEXT})`,
  'y',
);

function isPrinting(script: string, quiet: boolean): boolean {
  let commands = 0;
  STEP.lastIndex = 0;
  while (STEP.lastIndex < script.length) {
    const step = STEP.exec(script);
    if (!step) return false;
    const command = step[1]?.[0];
    if ((command === 'p' || command === '=') && !quiet) return false;
    if (command !== undefined) commands++;
  }
  return commands > 0;
}
