// What is wrong with a configuration file, and where: the one shape that every check of it reports in.

export type Severity = 'error' | 'warning';

/** A place inside the parsed file: keys of mappings and indexes of lists, from the top. */
export type Path = readonly (string | number)[];

/** A fault as a check sees it: by path, before anybody looked up lines. */
export interface Problem {
  readonly path: Path;
  /** What the position is of: the value at `path` (default), its key, or the first key inside it (where one is missing). */
  readonly at?: 'value' | 'key' | 'first-key';
  readonly message: string;
  readonly severity?: Severity;
}

/** A fault as an operator reads it. Lines and columns count from 1; a column counts UTF-16 units, as editors do. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly severity: Severity;
}

/** A file that must not be used. The message is all its findings, one a line; nothing in it quotes a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super(findings.map(formatFinding).join('\n'));
    this.findings = findings;
  }
}

/** `config.yaml:12:3: what is wrong; did you mean …?` */
export function formatFinding({ file, line, column, message, severity }: Finding): string {
  return `${file}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
}

export const isError = (finding: Finding): boolean => finding.severity === 'error';

/** The order of the file, so that an operator mends it from top to bottom. */
export function inFileOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
