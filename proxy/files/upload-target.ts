// Checks where the bytes of a file may be sent. The provider names the address, so it is untrusted text (Q21).
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../base/process/loopback.ts';

/**
 * IPv4 networks that are not public: those in IANA's registry of special-purpose addresses (without three networks that it calls globally
 * reachable: 192.31.196.0/24, 192.52.193.0/24, 192.175.48.0/24), multicast, and networks that are reserved for future use.
 */
const INTERNAL_IPV4 = blockList('ipv4', [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared between customers of a carrier
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local: metadata of clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays to IPv6, deprecated
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 3], // multicast, reserved, broadcast
]);

/**
 * The only IPv6 network with public addresses. Outside it are loopback, private, link-local, site-local and multicast addresses, and
 * addresses that contain an IPv4 address which a translator can reach: ::/96, ::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48.
 */
const GLOBAL_IPV6 = blockList('ipv6', [['2000::', 3]]);

/** Networks inside it that are not public. */
const INTERNAL_IPV6 = blockList('ipv6', [
  ['2001::', 23], // protocol assignments: Teredo, which contains IPv4 addresses, and benchmarks
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which contains IPv4 addresses
  ['3fff::', 20], // documentation
]);

const IPV4_MAPPED = blockList('ipv6', [['::ffff:0:0', 96]]);

function blockList(family: 'ipv4' | 'ipv6', networks: readonly (readonly [network: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, family);
  return list;
}

/** Whether an address is not public. A mapped IPv4 address is checked as an IPv4 address, because the connection goes there. */
function isInternal(address: string): boolean {
  if (isIP(address) !== 6) return INTERNAL_IPV4.check(address);
  if (IPV4_MAPPED.check(address, 'ipv6')) return INTERNAL_IPV4.check(address, 'ipv6');
  return !GLOBAL_IPV6.check(address, 'ipv6') || INTERNAL_IPV6.check(address, 'ipv6');
}

/** An address to which bytes may be sent. */
export interface UploadTarget {
  readonly url: URL;
  /**
   * The checked addresses of the host. The connection goes to one of them, even if the name resolves to another address a moment later.
   * Empty if a proxy resolves the name.
   */
  readonly addresses: readonly Address[];
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Resolves a host name to addresses. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

export interface UploadTargetOptions {
  readonly isProxied?: boolean;
  readonly resolve?: Resolve;
}

const resolveByDns: Resolve = (host) => lookup(host, { all: true });

/**
 * Checks an address. Permitted are https, and plain http on loopback for an account that is on loopback itself. An https host with an
 * internal address is permitted only to an account in an internal network: the answer of a public provider must not direct the gateway,
 * which an operator's network trusts, to an address in that network.
 * @param written the provider's text
 * @param base the account's own address
 * @param options `isProxied`: a proxy resolves the name, and only a host that is written as an address is checked
 * @returns undefined if the target is not permitted, or its host has no address
 */
export async function uploadTarget(
  written: string,
  base: string,
  { isProxied = false, resolve = resolveByDns }: UploadTargetOptions = {},
): Promise<UploadTarget | undefined> {
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const account = new URL(base);
  if (url.username !== '' || url.password !== '') return undefined;
  const onLoopback = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(account.hostname);
  if (url.protocol !== 'https:' && !onLoopback) return undefined;
  if (isProxied && isIP(bare(url.hostname)) === 0) return { url, addresses: [] };
  const look = isProxied ? UNRESOLVED : resolve;
  const addresses = await addressesOf(url.hostname, look);
  if (addresses.length === 0) return undefined;
  if (!addresses.some(({ address }) => isInternal(address))) return { url, addresses };
  const own = await addressesOf(account.hostname, look);
  return own.some(({ address }) => isInternal(address)) ? { url, addresses } : undefined;
}

/** Resolves nothing. The proxy resolves the names of its accounts. */
const UNRESOLVED: Resolve = () => Promise.resolve([]);

const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

async function addressesOf(hostname: string, resolve: Resolve): Promise<readonly Address[]> {
  const host = bare(hostname);
  const family = isIP(host);
  return family === 0 ? resolve(host).catch(() => []) : [{ address: host, family }];
}
