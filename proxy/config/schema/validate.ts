// Validates data against schema.json, and fills in defaults.
import type { Problem } from './finding.ts';
import { fits } from './fits.ts';
import { schema } from './schema.ts';

/**
 * @param data a plain copy of the file's content; defaults are filled in in place
 * @returns the problems; of one value there may be several, the most useful first
 */
export async function validate(data: unknown): Promise<readonly Problem[]> {
  if (fits(schema, data)) return [];
  // Ajv, and its compiled schema, are loaded only for their messages.
  const { problemsOf } = await import('./problems.ts');
  return problemsOf(data);
}
