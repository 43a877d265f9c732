// Whether a sed command only prints unchanged lines of its input.
import type { ShellWord } from './shell-words.ts';

const QUIET = /^--(?:quiet|silent)$/;
const HARMLESS = /^--(?:regexp-extended|separate|unbuffered|null-data|posix|debug|sandbox)$/;
const EXPRESSION = '--expression=';

/**
 * With `-n`: a script of `p`, `q`, `Q` and `=` with any addresses. Without `-n`: a script of `q` and `Q` alone. A script that the shell
 * computes counts as printing if `-n` is given.
 * @param args the words after `sed`
 */
export function printsOnly(args: readonly ShellWord[]): boolean {
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
