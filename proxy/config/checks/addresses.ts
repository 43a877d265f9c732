// Checks the addresses of accounts and listeners: https, or http on loopback (Q9), without secrets in them.
import { isLoopback } from '../../base/process/loopback.ts';
import { isRehearsal, isUnknownPart, rehearsalAddress, type UnknownPart } from '../../turn/provider/rehearsal-address.ts';
import { SIMULATED_LOGIN } from '../../turn/settings.ts';
import type { Path, Problem } from '../schema/finding.ts';
import { suggestion } from '../schema/suggestion.ts';
import { type AccountRow, accountRows } from './api/account-row.ts';
import { checkBaseAddress, notAnAddress } from './api/base-address.ts';
import { type Mapping, mapping, rowsOf, text } from './config-rows.ts';

export function checkAddresses(data: unknown): readonly Problem[] {
  return [...accountAddresses(data), ...listeners(data)];
}

function* accountAddresses(data: unknown): Generator<Problem> {
  for (const account of accountRows(data)) {
    const { path, row, api, preset } = account;
    const url = text(row.base_url);
    // An account with an unknown preset gets its address when the name is corrected.
    const isAddressed = preset ? preset.base_url !== undefined : row.preset !== undefined;
    if (row.base_url === undefined && !isAddressed) yield { path, at: 'first-key', message: missing(preset?.name) };
    if (url !== undefined) {
      if (isRehearsal(url)) yield* simulated(url, account);
      else if (api === 'agent') yield* address(url, [...path, 'base_url']);
      else yield* checkBaseAddress(account);
    }
    yield* loginAddresses(row, [...path, 'credential', 'oauth']);
  }
}

const LOGIN_URLS = ['token_url', 'device_url', 'authorize_url'] as const;

function* loginAddresses(row: Readonly<Record<string, unknown>>, path: Path): Generator<Problem> {
  const oauth = mapping(mapping(row.credential).oauth);
  for (const name of LOGIN_URLS) {
    const url = text(oauth[name]);
    if (url === undefined) continue;
    if (url === SIMULATED_LOGIN) {
      if (isRehearsal(row.base_url)) continue;
      yield { path: [...path, name], message: `'${SIMULATED_LOGIN}' is the login of a simulated account; this one has another base_url` };
      continue;
    }
    // The query of an authorization endpoint is part of its address (RFC 6749, 3.1).
    yield* address(url, [...path, name], { query: name === 'authorize_url' });
  }
}

const missing = (preset: string | undefined): string =>
  preset === undefined ? "'base_url' is missing" : `'base_url' is missing; preset ${preset} has none`;

const WORDS: Readonly<Record<UnknownPart['what'], string>> = {
  profile: 'the simulated provider has no such profile',
  quirk: 'there is no such quirk',
  value: 'the quirk has no such value',
  list: 'there is no such server',
};

function* simulated(url: string, { path, api }: AccountRow): Generator<Problem> {
  const found = rehearsalAddress(url);
  if (found === undefined) return;
  const at = [...path, 'base_url'];
  if (isUnknownPart(found)) {
    const known = `; known: ${found.known.join(', ')}`;
    yield { path: at, message: `${WORDS[found.what]}${suggestion(found.part, found.known) || known}` };
  } else if (found.api !== api) {
    const article = (word: string): string => `${word === 'agent' ? 'an' : 'a'} ${word}`;
    yield { path: at, message: `this address simulates ${article(found.api)} account, and the account's api is ${api}` };
  }
}

/** Messages do not repeat the address, because it may contain a password or a token. */
function* address(written: string, path: Path, { query = false }: { readonly query?: boolean } = {}): Generator<Problem> {
  if (!URL.canParse(written)) {
    yield { path, message: notAnAddress(written) };
    return;
  }
  const url = new URL(written);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') yield { path, message: 'must begin with https://, or http:// on loopback' };
  else if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    yield { path, message: 'plain http is allowed on loopback only, because it would expose the credential; did you mean https://?' };
  }
  if (url.username !== '' || url.password !== '')
    yield { path, message: 'an address must not contain a user or password: reference the secret in credential' };
  if ((url.search !== '' && !query) || url.hash !== '') yield { path, message: 'an address must not contain a query or fragment' };
}

function* listeners(data: unknown): Generator<Problem> {
  const listen = mapping(mapping(data).listen);
  const admin = mapping(mapping(data).admin);
  const host = text(admin.host);
  if (host !== undefined && !isLoopback(host)) yield* signIn(data, admin);
  const metrics = mapping(mapping(data).metrics);
  if (listen.port === false && listen.unix === undefined)
    yield { path: ['listen', 'port'], message: 'without a port clients need listen.unix' };
  if (listen.port === false && listen.tls !== undefined)
    yield { path: ['listen', 'tls'], at: 'key', message: 'without a port there is no TLS: the socket at unix is plain' };
  if (meet(admin, listen)) yield { path: ['admin', 'port'], message: 'this port is used by listen' };
  for (const [name, other] of Object.entries({ listen, admin })) {
    if (meet(metrics, other)) yield { path: ['metrics', 'port'], message: `this port is used by ${name}` };
  }
}

/** Checks the sign-in of operators. Outside loopback every request to the admin listener needs an operator. */
function* signIn(data: unknown, admin: Mapping): Generator<Problem> {
  const path = ['admin', 'host'];
  const canSignIn = admin.trusted_header !== undefined || rowsOf(data, 'operators').length > 0;
  if (!canSignIn) {
    const message =
      'outside loopback every request needs an operator, and there is none: add one with `poolgate token create`, or set admin.trusted_header';
    yield { path, message };
  }
  const message = 'the admin listener has no TLS of its own: outside loopback put a proxy with TLS in front of it, or tokens can be read';
  yield { path, message, severity: 'warning' };
}

/** Whether the second listener would find its address in use. Port 0 means a free port. */
export const meet = (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean =>
  one.port !== undefined && one.port !== 0 && one.port !== false && one.port === other.port && overlap(text(one.host), text(other.host));

/** Whether two listeners on one port would conflict. */
const overlap = (a = '', b = ''): boolean => a === b || [a, b].some((host) => host === '0.0.0.0' || host === '::');
