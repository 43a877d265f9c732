// Checks the headers that an account adds: no framing headers, no secrets, no duplicates, and those by which a backend knows its clients.
import { hostOf, isAgentBackend } from '../../turn/wire/known-hosts.ts';
import type { Problem } from '../schema/finding.ts';
import { mapping, type Row, rowsOf, text } from './config-rows.ts';

/** Framing and connection headers, which the gateway sets. */
const FRAMING: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const SECRETS: ReadonlySet<string> = new Set(['api-key', 'authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/** The default of `wire.lite_marker`. */
const LITE_MARKER = 'x-internal-agent-responses-lite';

export function checkHeaders(data: unknown): readonly Problem[] {
  const { lite_marker } = mapping(mapping(data).wire);
  // The marker must not be configured, because a turn's serving mode decides whether it is sent.
  const marker = (typeof lite_marker === 'string' ? lite_marker : LITE_MARKER).toLowerCase();
  const own = new Set([...FRAMING, marker]);
  return rowsOf(data, 'accounts').flatMap((account) => [...problemsOf(account, own)]);
}

/** @param own names of headers that the gateway sets */
function* problemsOf({ path, row }: Row, own: ReadonlySet<string>): Generator<Problem> {
  const seen = new Set<string>();
  for (const name of Object.keys(mapping(row.headers))) {
    const at = { path: [...path, 'headers', name], at: 'key' } as const;
    const lower = name.toLowerCase();
    if (SECRETS.has(lower)) {
      yield { ...at, message: 'this header contains a secret, and secrets must not be in this file: reference it in credential' };
    }
    if (own.has(lower) || lower.startsWith('sec-websocket-')) yield { ...at, message: 'the gateway sets this header itself' };
    if (seen.has(lower)) yield { ...at, message: 'this header is listed twice; header names are not case-sensitive' };
    seen.add(lower);
  }
}

/** Headers that identify a client. Without them networks answer with a challenge page, and backends offer no newer models. */
const IDENTITY_HEADERS = ['chatgpt-account-id', 'originator', 'user-agent', 'version'] as const;

/** Warns when an account of a known agent backend lacks the headers by which that backend recognises its clients (RB2, RB3). */
export function checkIdentityHeaders(data: unknown): readonly Problem[] {
  return rowsOf(data, 'accounts').flatMap(({ path, row }): readonly Problem[] => {
    const url = text(row.base_url) ?? '';
    if (!isAgentBackend(url)) return [];
    const listed = new Set(Object.keys(mapping(row.headers)).map((name) => name.toLowerCase()));
    const missing = IDENTITY_HEADERS.filter((name) => !listed.has(name));
    if (missing.length === 0) return [];
    const message = `${hostOf(url)} may answer requests without these headers with a challenge page: add ${missing.join(', ')}`;
    return [{ path: [...path, 'headers'], message, severity: 'warning' }];
  });
}
