// Headers that an account adds must not break its requests, and must not carry what a credential should.
import type { Problem } from '../finding.ts';
import { mapping, rowsOf } from './rows.ts';

/** Framing and connection headers are the carrier's own. */
const CARRIERS: ReadonlySet<string> = new Set([
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

export function checkHeaders(data: unknown): readonly Problem[] {
  return rowsOf(data, 'accounts').flatMap(({ path, row }) =>
    Object.keys(mapping(row.headers)).flatMap((name): readonly Problem[] => {
      const at = { path: [...path, 'headers', name], at: 'key' } as const;
      const lower = name.toLowerCase();
      if (SECRETS.has(lower))
        return [{ ...at, message: 'this header carries a secret, and a secret never stands in this file: name it in credential' }];
      if (CARRIERS.has(lower) || lower.startsWith('sec-websocket-'))
        return [{ ...at, message: 'this header is set by the connection itself' }];
      return [];
    }),
  );
}
