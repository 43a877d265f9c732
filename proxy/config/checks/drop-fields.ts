// Warns when an account of a known agent backend does not drop the body fields that this backend refuses.
import { hostOf, isAgentBackend } from '../../turn/known-hosts.ts';
import type { Problem } from '../finding.ts';
import { rowsOf, text, textsOf } from './rows.ts';

/** Body fields that popular clients send and that agent backends refuse as unsupported parameters. */
export const REFUSED_FIELDS = [
  'max_output_tokens',
  'temperature',
  'top_p',
  'truncation',
  'user',
  'metadata',
  'safety_identifier',
  'prompt_cache_retention',
] as const;

export function checkDropFields(data: unknown): readonly Problem[] {
  return rowsOf(data, 'accounts').flatMap(({ path, row }): readonly Problem[] => {
    const baseUrl = text(row.base_url) ?? '';
    if (!isAgentBackend(baseUrl)) return [];
    const dropped = new Set(textsOf(row, 'drop_fields', path).map((field) => field.text));
    const missing = REFUSED_FIELDS.filter((field) => !dropped.has(field));
    if (missing.length === 0) return [];
    const message = `${hostOf(baseUrl)} refuses these fields, which popular clients send: add ${missing.join(', ')}`;
    return [{ path: [...path, 'drop_fields'], message, severity: 'warning' }];
  });
}
