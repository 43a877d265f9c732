// Checks the address of an API account: it must be a prefix of paths, and plain http is only allowed for some hosts (AA2, AA5).
import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../../../base/process/loopback.ts';
import type { Path, Problem } from '../../schema/finding.ts';
import { text } from '../config-rows.ts';
import { type AccountRow, hasCredential } from './account-row.ts';

/** The paths that requests add to the address. */
const API_PATHS = [
  '/responses',
  '/chat/completions',
  '/models',
  '/embeddings',
  '/responses/compact',
  '/images/generations',
  '/images/edits',
  '/audio/transcriptions',
  '/files',
] as const;

/**
 * Messages do not repeat the address, because it may contain a password or a token.
 * @param account an account whose `base_url` is an address
 */
export function* checkBaseAddress(account: AccountRow): Generator<Problem> {
  const { row, path: at } = account;
  const written = text(row.base_url) ?? '';
  const path = [...at, 'base_url'];
  if (!URL.canParse(written)) {
    yield { path, message: notAnAddress(written) };
    return;
  }
  const url = new URL(written);
  if (url.protocol === 'http:' || url.protocol === 'https:') yield* network(url, path, account);
  else yield { path, message: 'must begin with https://, or http:// on loopback' };
  if (url.username !== '' || url.password !== '')
    yield { path, message: 'an address must not contain a user or password: reference the secret in credential' };
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(written))
    yield { path, message: 'an address must not contain a query or fragment: list its parameters in query' };
  const ending = API_PATHS.find((one) => url.pathname.replace(/\/$/, '').endsWith(one));
  if (ending !== undefined) yield { path, message: `this address is the prefix of ${ending}: remove ${ending} from its end` };
}

export const notAnAddress = (written: string): string =>
  `must be an address such as https://provider.example${written.includes('${') ? '; nothing is interpolated in this file' : ''}`;

function* network({ protocol, hostname }: URL, path: Path, account: AccountRow): Generator<Problem> {
  const kind = networkOfHost(hostname);
  if (kind === 'forbidden') yield { path, message: 'a link-local or unspecified address cannot be a provider' };
  if (protocol === 'https:' || isLoopback(hostname)) return;
  if (account.row.insecure_http !== true) {
    yield {
      path,
      message: 'plain http goes to loopback only; insecure_http: true allows it to another machine, whose network can then read all turns',
    };
    return;
  }
  if (kind === 'public')
    yield { path, message: 'plain http goes to a host outside private networks: anybody between can read all turns', severity: 'warning' };
  if (hasCredential(account)) {
    const message = 'plain http sends this credential unencrypted';
    yield { path: [...account.path, 'credential'], message, severity: 'warning' };
  }
}

/** `forbidden`: a link-local or an unspecified address. */
type Network = 'private' | 'public' | 'forbidden';

const PRIVATE = listOf([
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['::1', 128],
  ['fc00::', 7],
]);

const FORBIDDEN = listOf([
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['::', 128],
  ['fe80::', 10],
]);

/** The ends of names that public resolvers do not know. */
const PRIVATE_NAMES = ['.local', '.internal', '.lan', '.home.arpa', '.svc'] as const;

/** @param host of a URL: lower case, an IPv6 address in brackets */
function networkOfHost(host: string): Network {
  const address = host.replace(/^\[|\]$/g, '');
  const version = isIP(address);
  // A mapped IPv4 address is checked as an IPv4 address.
  if (version !== 0) {
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (FORBIDDEN.check(address, family)) return 'forbidden';
    return PRIVATE.check(address, family) ? 'private' : 'public';
  }
  const name = host.replace(/\.$/, '');
  return !name.includes('.') || PRIVATE_NAMES.some((ending) => name.endsWith(ending)) ? 'private' : 'public';
}

function listOf(networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, isIP(network) === 4 ? 'ipv4' : 'ipv6');
  return list;
}
