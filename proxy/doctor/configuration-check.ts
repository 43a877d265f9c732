// The findings of the configuration file, as `check` reports them.

import type { Inspection } from '../config/loading/load.ts';
import { isError } from '../config/schema/finding.ts';
import type { Diagnosis } from './diagnosis.ts';

/** @param path of the file */
export function configurationDiagnoses(path: string, { config, findings }: Pick<Inspection, 'config' | 'findings'>): readonly Diagnosis[] {
  const check = 'configuration';
  if (findings.length === 0) return [{ check, level: 'ok', message: `${path} has no errors and no warnings.` }];
  const advice = config ? 'Correct the file.' : 'Correct the file, then run doctor again: the other checks need a file without errors.';
  return findings.map((finding) => {
    const { file, line, column, message } = finding;
    return { check, level: isError(finding) ? 'problem' : 'warning', message: `${file}:${line}:${column}: ${message}`, advice };
  });
}
