// The command line: every command with its options, and exit codes 0 (done), 1 (findings) and 2 (usage).
import { Command, CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { InvalidEdit } from '../config/file/edits/invalid-edit.ts';
import { EditRefused } from '../config/file/file-replacement.ts';
import { EditError } from '../config/file/yaml-places.ts';
import { ConfigError, type Finding, formatFinding } from '../config/schema/finding.ts';
import { CommandFailure, type Io, json } from './command.ts';
import { groupHelp, modulesFor } from './command-modules.ts';

/**
 * Runs one command line.
 * @param args without the program's name
 * @returns the exit code; `serve` ends the process itself
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    const program = await programOf(args, io);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const failure = failureOf(error);
    if (!failure) throw error;
    report(failure, { io, asJson: args.includes('--json') });
    return failure.exitCode;
  }
}

interface Failure {
  readonly message: string;
  readonly exitCode: 1 | 2;
  readonly findings: readonly Finding[];
}

/** Prints a failure. Without a message and findings, its command has printed it already. */
function report({ message, findings }: Failure, { io, asJson }: { readonly io: Io; readonly asJson: boolean }): void {
  const lines = [...(message === '' ? [] : [message]), ...findings.map(formatFinding)];
  if (lines.length === 0) return;
  if (asJson) io.out(json({ error: message, findings }));
  else io.err(`${lines.join('\n')}\n`);
}

async function programOf(args: readonly string[], io: Io): Promise<Command> {
  const program = new Command('poolgate')
    .description('Shares several LLM provider accounts behind stable Pool API keys.')
    .version(manifest.version, '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: (text, write) => write(text.replace(/^error: /, '')) })
    .showHelpAfterError('(add --help for examples and options)');

  for (const add of await modulesFor(args)) add(program, io);
  groupHelp(program);
  return program;
}

/** The failure in an error that an operator can correct. Any other error is a defect of the program, which ends it with its stack. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof CommandFailure) return error;
  if (error instanceof EditRefused) return failure('the file is unchanged; with this edit it would be invalid:', error.findings);
  if (error instanceof ConfigError) return failure('', error.findings);
  if (error instanceof EditError) return failure(error.message);
  if (error instanceof InvalidEdit) return { ...failure(error.message), exitCode: error.objection === 'argument' ? 2 : 1 };
  if (error instanceof Error && (error.name === 'StoreError' || error.name === 'NodeNameTaken')) return failure(error.message);
  if (isAddressError(error)) return failure(`cannot listen: ${error.message}; \`poolgate doctor\` gives advice`);
  return undefined;
}

const failure = (message: string, findings: readonly Finding[] = []): Failure => ({ message, exitCode: 1, findings });

const isAddressError = (error: unknown): error is Error =>
  error instanceof Error && 'syscall' in error && ['bind', 'getaddrinfo', 'listen', 'mkdir'].includes(String(error.syscall));
