// Names settings for operators, and decides which words of a file a message may repeat.
import type { Path } from './finding.ts';

/**
 * The name of a setting, such as `accounts[north].max_concurrent`. A row is named by its id if that is a safe word, otherwise by its index
 * from 0.
 */
export function nameOf(path: Path, data: unknown): string {
  let name = '';
  let value = data;
  for (const [i, step] of path.entries()) {
    value = typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[step] : undefined;
    if (typeof step === 'number') name += `[${rowName(value) ?? step}]`;
    else name += `${name && '.'}${isWord(step) && !mayBeSecret(step, path.slice(0, i)) ? step : '…'}`;
  }
  return name;
}

function rowName(row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { id, account } = row as { readonly id?: unknown; readonly account?: unknown };
  const name = id ?? account;
  return typeof name === 'string' && isWord(name) ? name : undefined;
}

/** Whether a key may be a secret, because it is unknown and inside a secret reference. @param above the keys above it */
const mayBeSecret = (step: string, above: Path): boolean => above.some((part) => NEAR_SECRETS.has(part)) && !KNOWN_NEAR_SECRETS.has(step);

const NEAR_SECRETS: ReadonlySet<string | number> = new Set(['credential', 'postgres', 'proxy', 'secret', 'store_key']);

const KNOWN_NEAR_SECRETS: ReadonlySet<string> = new Set([
  'accounts',
  'authorize_url',
  'bearer',
  'client_id',
  'credential',
  'device_url',
  'env',
  'file',
  'header',
  'identity_claim',
  'name',
  'node',
  'oauth',
  'postgres',
  'proxy',
  'redirect_url',
  'scopes',
  'secret',
  'store',
  'store_key',
  'token_url',
  'url',
]);

/**
 * Whether a text is a short word that messages may repeat. Any other text, and any long run of letters and digits, may be a misplaced
 * secret.
 */
export const isWord = (text: string): boolean => /^[\w.:/-]{1,48}$/.test(text) && !/[A-Za-z0-9]{20}/.test(text) && !looksSecret(text);

/** Whether a text looks like a key, a token or a URL with credentials. */
export function looksSecret(text: string): boolean {
  return (
    /^(?:sk|pk|rk|pg|ghp|gho|ghs|ghu|glpat|xox[abps])[-_][\w-]{16,}$/.test(text) ||
    /^eyJ[\w-]{8,}\.[\w-]{8,}\./.test(text) ||
    /^bearer\s+\S{8,}$/i.test(text) ||
    /^AKIA[0-9A-Z]{16}$/.test(text) ||
    /^[a-z][a-z0-9+.-]*:\/\/[^/\s]*:[^/\s]*@/i.test(text)
  );
}
