// Validates data against schema.json, and fills in defaults.
import type { Problem } from './finding.ts';
import { fits } from './fits.ts';
import { schema } from './schema.ts';

/**
 * @param data a plain copy of the file's content, into which defaults are written
 * @returns the problems; if a value has several, the most useful one comes first
 */
export async function validate(data: unknown): Promise<readonly Problem[]> {
  if (fits(schema, data)) return [];
  // Ajv and its compiled schema are loaded only to describe problems.
  const { problemsOf } = await import('./problems.ts');
  return problemsOf(data);
}
