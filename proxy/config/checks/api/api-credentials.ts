// Checks the credentials of accounts against their API: a bearer, a header of any name, or none (AA4).
import { isRehearsal } from '../../../turn/provider/rehearsal-address.ts';
import type { Problem } from '../../schema/finding.ts';
import { isMapping, mapping, text } from '../config-rows.ts';
import { type AccountRow, accountRows } from './account-row.ts';

export function checkCredentials(data: unknown): readonly Problem[] {
  return accountRows(data).flatMap((account) => [...problemsOf(account)]);
}

function* problemsOf({ row, api, preset, path }: AccountRow): Generator<Problem> {
  const { credential } = row;
  const at = [...path, 'credential'];
  if (credential === undefined) {
    if (isRehearsal(row.base_url) || (row.base_url === undefined && preset?.base_url === undefined)) return;
    if (api === 'agent') yield { path, at: 'first-key', message: "'credential' is missing; only rehearsal accounts need none" };
    else if (preset?.credential !== 'none')
      yield { path, at: 'first-key', message: "'credential' is missing; if the server needs none, write credential: none" };
    return;
  }
  if (api === 'agent') {
    if (credential === 'none') yield { path: at, message: 'agent accounts have a credential; none is for API accounts' };
    if (mapping(credential).header !== undefined)
      yield { path: [...at, 'header'], at: 'key', message: 'agent accounts have a bearer or oauth; header is for API accounts' };
    return;
  }
  if (mapping(credential).oauth !== undefined)
    yield { path: [...at, 'oauth'], at: 'key', message: 'oauth is for agent accounts; API accounts have a bearer, a header or none' };
  const { header } = mapping(credential);
  if (isMapping(header)) yield* headerName(header, { row, at: [...at, 'header', 'name'] });
}

/** Headers that cannot carry a credential: the gateway or the connection sets them, or they identify the client. */
const OTHERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
]);

const FAMILIES = ['content-', 'proxy-', 'sec-websocket-', 'x-forwarded-'] as const;

function* headerName(
  header: Readonly<Record<string, unknown>>,
  { row, at }: { readonly row: AccountRow['row']; readonly at: Problem['path'] },
): Generator<Problem> {
  const name = text(header.name)?.toLowerCase();
  if (name === undefined) return;
  if (name === 'authorization') yield { path: at, message: 'a credential in authorization is a bearer: write credential: { bearer: … }' };
  else if (OTHERS.has(name) || FAMILIES.some((family) => name.startsWith(family)))
    yield { path: at, message: 'this header has another meaning, so it cannot have the credential' };
  else if (Object.keys(mapping(row.headers)).some((other) => other.toLowerCase() === name))
    yield { path: at, message: 'this header is in headers too' };
}
