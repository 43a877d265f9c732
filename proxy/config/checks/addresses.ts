// Checks addresses of accounts and listeners: https, or http on loopback (Q9), without secrets.

import { isLoopback } from '../../base/process/loopback.ts';
import { REHEARSAL_PROFILES } from '../../turn/settings.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { suggestion } from '../schema/suggestion.ts';
import { mapping, rowsOf, text } from './rows.ts';

export function checkAddresses(data: unknown): readonly Problem[] {
  return [...accountAddresses(data), ...listeners(data)];
}

export const isRehearsal = (base_url: unknown): boolean => typeof base_url === 'string' && base_url.startsWith('rehearsal:');

function* accountAddresses(data: unknown): Generator<Problem> {
  for (const { path, row } of rowsOf(data, 'accounts')) {
    const url = text(row.base_url);
    if (url === undefined) continue;
    if (isRehearsal(url)) {
      yield* profile(url.slice('rehearsal:'.length), [...path, 'base_url']);
    } else {
      yield* address(url, [...path, 'base_url']);
      if (row.credential === undefined)
        yield { path, at: 'first-key', message: "'credential' is missing; only rehearsal accounts need none" };
    }
    const tokens = text(mapping(mapping(row.credential).oauth).token_url);
    if (tokens !== undefined) yield* address(tokens, [...path, 'credential', 'oauth', 'token_url']);
  }
}

function* profile(name: string, path: Path): Generator<Problem> {
  const names: readonly string[] = REHEARSAL_PROFILES;
  if (name === '' || names.includes(name)) return;
  const known = `; known: ${names.join(', ')}`;
  yield { path, message: `the simulated provider has no such profile${suggestion(name, names) || known}` };
}

/** No message repeats the address: it may contain a password or a token. */
function* address(written: string, path: Path): Generator<Problem> {
  if (!URL.canParse(written)) {
    const interpolated = written.includes('${') ? '; nothing is interpolated in this file' : '';
    yield { path, message: `must be an address such as https://provider.example${interpolated}` };
    return;
  }
  const url = new URL(written);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') yield { path, message: 'must begin with https://, or http:// on loopback' };
  else if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    yield { path, message: 'plain http is allowed on loopback only, because it would expose the credential; did you mean https://?' };
  }
  if (url.username !== '' || url.password !== '')
    yield { path, message: 'an address must not contain a user or password: reference the secret in credential' };
  if (url.search !== '' || url.hash !== '') yield { path, message: 'an address must not contain a query or fragment' };
}

function* listeners(data: unknown): Generator<Problem> {
  const listen = mapping(mapping(data).listen);
  const admin = mapping(mapping(data).admin);
  const host = text(admin.host);
  if (host !== undefined && !isLoopback(host)) {
    const message = 'the admin listener requires no credential; outside loopback it needs other protection, such as a firewall';
    yield { path: ['admin', 'host'], message, severity: 'warning' };
  }
  const metrics = mapping(mapping(data).metrics);
  if (meet(admin, listen)) yield { path: ['admin', 'port'], message: 'this port is used by listen' };
  for (const [name, other] of Object.entries({ listen, admin })) {
    if (meet(metrics, other)) yield { path: ['metrics', 'port'], message: `this port is used by ${name}` };
  }
}

/** Whether the second listener would find its address in use. Port 0 is a free one. */
export const meet = (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean =>
  one.port !== undefined && one.port !== 0 && one.port === other.port && overlap(text(one.host), text(other.host));

/** Whether two listeners with one port would conflict. */
const overlap = (a = '', b = ''): boolean => a === b || [a, b].some((host) => host === '0.0.0.0' || host === '::');
