// Warns when an account of a known agent backend does not drop the body fields that this backend refuses.
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

/** Hosts with a Responses route for the vendor's own clients. It rejects some fields of the public API. */
const AGENT_BACKENDS: ReadonlySet<string> = new Set(['chatgpt.com']);

export function checkDropFields(data: unknown): readonly Problem[] {
  return rowsOf(data, 'accounts').flatMap(({ path, row }): readonly Problem[] => {
    const host = hostOf(text(row.base_url) ?? '');
    if (!AGENT_BACKENDS.has(host)) return [];
    const dropped = new Set(textsOf(row, 'drop_fields', path).map((field) => field.text));
    const missing = REFUSED_FIELDS.filter((field) => !dropped.has(field));
    if (missing.length === 0) return [];
    const message = `${host} refuses these fields, which popular clients send: add ${missing.join(', ')}`;
    return [{ path: [...path, 'drop_fields'], message, severity: 'warning' }];
  });
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '');
