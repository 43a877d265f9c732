// A diagnosis is what one check of `doctor` found, in a sentence for operators. It contains no secret.

export type Level = 'ok' | 'warning' | 'problem';

export type CheckName =
  | 'configuration'
  | 'node.js'
  | 'surroundings'
  | 'gateway'
  | 'memory'
  | 'open files'
  | 'files'
  | 'store'
  | 'dns'
  | 'connection'
  | 'certificate'
  | 'clock'
  | 'models';

export interface Diagnosis {
  readonly check: CheckName;
  /** `problem`: the gateway does not work, will not work, or exposes a secret. */
  readonly level: Level;
  readonly message: string;
  /** What to do. Absent if nothing has to be done. */
  readonly advice?: string;
}
