// Determines the network of a host: private, public, or one in which no provider can be (AA5).
import { BlockList, isIP } from 'node:net';

/** `forbidden`: a link-local or an unspecified address. */
export type Network = 'private' | 'public' | 'forbidden';

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
export function networkOfHost(host: string): Network {
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
