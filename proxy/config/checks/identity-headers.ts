// Warns when an account of a known agent backend lacks the headers by which that backend recognises its clients (RB2, RB3).
import { hostOf, isAgentBackend } from '../../turn/wire/known-hosts.ts';
import type { Problem } from '../schema/finding.ts';
import { mapping, rowsOf, text } from './config-rows.ts';

/** Headers that identify a client. Without them networks answer with a challenge page, and backends offer no newer models. */
const IDENTITY_HEADERS = ['chatgpt-account-id', 'originator', 'user-agent', 'version'] as const;

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
