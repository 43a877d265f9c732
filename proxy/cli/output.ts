// Where a command writes, and how it says that it failed.
import type { Finding } from '../config/finding.ts';

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: NodeJS.ProcessEnv;
}

/** The options that every command has. */
export interface Common {
  /** Path of the file. */
  readonly config: string;
  readonly json?: boolean;
}

/** Ends a command: 1 for what was found to be wrong, 2 for a command line that makes no sense. */
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

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Columns as wide as their widest cell; the last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[head, ...rows].map(line).join('\n')}\n`;
}
