// Checks where the bytes of a file may be sent: the provider names the address, so it is untrusted text (Q21).
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';

/** Addresses that are not public ones: those of this host, of private and shared networks, link-local (cloud metadata), and reserved. */
const INTERNAL = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  INTERNAL.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96], // translated IPv4
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  INTERNAL.addSubnet(network, prefix, 'ipv6');
}

/** An IPv4 address inside an IPv6 one is checked as the IPv4 address. */
const isInternal = (address: string): boolean => INTERNAL.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** An address that bytes may go to. */
export interface UploadTarget {
  readonly url: URL;
  /** The checked addresses of its host. The connection goes to one of them, even if the name resolves to another one a moment later. */
  readonly addresses: readonly Address[];
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

const resolveByDns: Resolve = (host) => lookup(host, { all: true });

/**
 * Permitted are https, and plain http on loopback for an account that is on loopback itself. An https host with an internal address is
 * permitted only to an account that is on an internal network too: the answer of a public provider must not send the gateway, which an
 * operator's network trusts, to an address in that network.
 * @param written the provider's text
 * @param base the account's own address
 * @returns undefined where the target is not permitted, or its host has no address
 */
export async function uploadTarget(written: string, base: string, resolve: Resolve = resolveByDns): Promise<UploadTarget | undefined> {
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const account = new URL(base);
  if (url.username !== '' || url.password !== '') return undefined;
  const onLoopback = url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(account.hostname);
  if (url.protocol !== 'https:' && !onLoopback) return undefined;
  const addresses = await addressesOf(url.hostname, resolve);
  if (addresses.length === 0) return undefined;
  if (!addresses.some(({ address }) => isInternal(address))) return { url, addresses };
  const own = await addressesOf(account.hostname, resolve);
  return own.some(({ address }) => isInternal(address)) ? { url, addresses } : undefined;
}

async function addressesOf(hostname: string, resolve: Resolve): Promise<readonly Address[]> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  return family === 0 ? resolve(host).catch(() => []) : [{ address: host, family }];
}
