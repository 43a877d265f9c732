// Addresses of accounts and listeners: https, or http on loopback (Q9), and nothing secret inside them.

import { isLoopback } from '../../loopback.ts';
import { REHEARSAL_PROFILES } from '../../turn/settings.ts';
import type { Path, Problem } from '../finding.ts';
import { suggestion } from '../suggestion.ts';
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
      yield* temperament(url.slice('rehearsal:'.length), [...path, 'base_url']);
    } else {
      yield* address(url, [...path, 'base_url']);
      if (row.credential === undefined)
        yield { path, at: 'first-key', message: "'credential' is missing; only rehearsal accounts need none" };
    }
    const tokens = text(mapping(mapping(row.credential).oauth).token_url);
    if (tokens !== undefined) yield* address(tokens, [...path, 'credential', 'oauth', 'token_url']);
  }
}

function* temperament(word: string, path: Path): Generator<Problem> {
  const names: readonly string[] = REHEARSAL_PROFILES;
  if (word === '' || names.includes(word)) return;
  const known = `; known: ${names.join(', ')}`;
  yield { path, message: `the simulated provider has no such temperament${suggestion(word, names) || known}` };
}

/** None of the messages repeats the address: it may bear a password or a token. */
function* address(written: string, path: Path): Generator<Problem> {
  if (!URL.canParse(written)) {
    const interpolated = written.includes('${') ? '; nothing is interpolated in this file' : '';
    yield { path, message: `must be an address such as https://provider.example${interpolated}` };
    return;
  }
  const url = new URL(written);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') yield { path, message: 'must begin with https://, or http:// on loopback' };
  else if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    yield { path, message: 'plain http is for loopback only, because a credential would travel unprotected; did you mean https://?' };
  }
  if (url.username !== '' || url.password !== '')
    yield { path, message: 'an address bears no user or password: name the secret in credential' };
  if (url.search !== '' || url.hash !== '') yield { path, message: 'an address bears no query and no fragment' };
}

function* listeners(data: unknown): Generator<Problem> {
  const listen = mapping(mapping(data).listen);
  const admin = mapping(mapping(data).admin);
  const host = text(admin.host);
  if (host !== undefined && !isLoopback(host)) {
    const message = 'the admin listener asks for no credential; beyond loopback, something else must keep strangers away from it';
    yield { path: ['admin', 'host'], message, severity: 'warning' };
  }
  if (admin.port !== undefined && admin.port !== 0 && admin.port === listen.port && overlap(host, text(listen.host))) {
    yield { path: ['admin', 'port'], message: 'this port is taken by listen' };
  }
}

const overlap = (a = '', b = ''): boolean => a === b || [a, b].some((host) => host === '0.0.0.0' || host === '::');
