// Findings are the errors and warnings of a configuration file, with their places.

export type Severity = 'error' | 'warning';

/** A place in the parsed file: mapping keys and list indexes from the top. */
export type Path = readonly (string | number)[];

/** A finding of a check, by path; `locate` adds line and column. */
export interface Problem {
  readonly path: Path;
  /** The position that is reported: the value at `path` (default), its key, or the first key inside it (for a missing key). */
  readonly at?: 'value' | 'key' | 'first-key';
  readonly message: string;
  readonly severity?: Severity;
}

/** A finding for operators. Lines and columns are counted from 1, columns in UTF-16 units as in editors. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly severity: Severity;
}

/** Thrown if the file has errors. The message has one finding per line and contains no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super(findings.map(formatFinding).join('\n'));
    this.findings = findings;
  }
}

/** A finding as a line: `config.yaml:12:3: what is wrong; did you mean …?` */
export function formatFinding({ file, line, column, message, severity }: Finding): string {
  return `${file}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
}

export const isError = (finding: Finding): boolean => finding.severity === 'error';

/** The findings, sorted by line and column. */
export function inFileOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
