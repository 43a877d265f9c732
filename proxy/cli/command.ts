// What all commands share: options, output, failures, and reading the file.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { inspect, readConfig } from '../config/loading/load.ts';
import { ConfigError, type Finding, isError } from '../config/schema/finding.ts';
import type { Input } from './text/input.ts';
import type { Terminal } from './text/terminal.ts';

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: NodeJS.ProcessEnv;
  /** Reads answers to questions, and texts that are pasted or piped. */
  readonly input: Input;
  /** Undefined unless both output and input are a terminal. */
  readonly terminal: Terminal | undefined;
  /** Yields every `ms` milliseconds, until the signal ends it. */
  readonly every: (ms: number, ended?: AbortSignal) => AsyncIterable<unknown>;
}

/** The options of every command. */
export interface CommonOptions {
  /** Path of the configuration file. */
  readonly config: string;
  readonly json?: boolean;
}

/** Ends a command with exit code 1 (findings) or 2 (usage). If the message is empty, the command has printed the reason already. */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2;
  readonly findings: readonly Finding[];

  constructor(
    message: string,
    { exitCode = 1, findings = [] }: { readonly exitCode?: 1 | 2; readonly findings?: readonly Finding[] } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.findings = findings;
  }
}

export interface CommandSpec {
  /** The name and the arguments in commander's notation: `explain <method> <path>`. */
  readonly usage: string;
  readonly description: string;
  /** Complete command lines, which come first in the command's help. */
  readonly examples: readonly string[];
  /** Whether the command has `--json`; default true. */
  readonly json?: boolean;
  /** Whether the command reads the configuration, with `--config`; default true. */
  readonly config?: boolean;
}

export function addCommand(parent: Command, { usage, description, examples, json: hasJson = true, config = true }: CommandSpec): Command {
  const command = parent
    .command(usage)
    .description(description)
    .addHelpText('before', `${['Examples:', ...examples.map((example) => `  ${example}`)].join('\n')}\n`);
  if (config) command.option('-c, --config <file>', 'the configuration file', 'config.yaml');
  return hasJson ? command.option('--json', 'print JSON') : command;
}

/** Collects the values of an option that may be repeated: `--model a --model b`. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Reads the file of a command without its secrets. @throws {ConfigError} with the file's errors */
export async function inspectValid(path: string, { env }: Io): Promise<Config> {
  const { config, findings } = await inspect(await readConfig(path), { path, env, secrets: false });
  if (!config) throw new ConfigError(findings.filter(isError));
  return config;
}

/** The host to connect to on this machine, because the address for all interfaces cannot be connected to. */
export const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

interface Listener {
  readonly host: string;
  readonly port: number;
  /** Default: http. */
  readonly scheme?: string;
}

/** The origin of a listener on this machine. */
export function originOf({ host, port, scheme = 'http' }: Listener): string {
  const name = reachable(host);
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A number with its noun: `1 error`, `2 errors`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** A table. Columns are as wide as their widest cell, and the last column is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[head, ...rows].map(line).join('\n')}\n`;
}
