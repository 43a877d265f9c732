// The address of a client behind the proxies of the operator, and networks in CIDR notation.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Networks, networkOf, plainAddress } from '../../../../proxy/base/process/networks.ts';
import { clientAddress } from '../../../../proxy/clients/http/connections/client-address.ts';

interface Case {
  readonly peer: string | undefined;
  readonly forwarded?: string;
  readonly address: string | undefined;
  readonly what: string;
}

const PROXIES = new Networks(['10.0.0.0/8', '2001:db8::/32', 'unix']);

const CASES: readonly Case[] = [
  { what: 'without a proxy: the peer', peer: '203.0.113.7', address: '203.0.113.7' },
  { what: 'what a client says itself is not believed', peer: '203.0.113.7', forwarded: '198.51.100.1', address: '203.0.113.7' },
  { what: 'an IPv4 peer of a listener for IPv6', peer: '::ffff:203.0.113.7', address: '203.0.113.7' },
  { what: 'behind a proxy: what it says', peer: '10.0.0.1', forwarded: '198.51.100.1', address: '198.51.100.1' },
  { what: 'an IPv4 proxy of a listener for IPv6', peer: '::ffff:10.0.0.1', forwarded: '198.51.100.1', address: '198.51.100.1' },
  { what: 'behind two proxies', peer: '10.0.0.1', forwarded: '198.51.100.1, 10.9.9.9', address: '198.51.100.1' },
  {
    what: 'what the client wrote before is not believed',
    peer: '10.0.0.1',
    forwarded: '10.0.0.5, 1.1.1.1, 198.51.100.1',
    address: '198.51.100.1',
  },
  { what: 'all entries are proxies: the first of them', peer: '10.0.0.1', forwarded: '10.0.0.3, 10.0.0.2', address: '10.0.0.3' },
  { what: 'a proxy that names none: itself', peer: '10.0.0.1', address: '10.0.0.1' },
  { what: 'an entry that is no address: unknown', peer: '10.0.0.1', forwarded: '198.51.100.1, unknown', address: undefined },
  { what: 'an empty header: unknown', peer: '10.0.0.1', forwarded: '', address: undefined },
  { what: 'IPv6', peer: '2001:db8::1', forwarded: '2001:db9::7', address: '2001:db9::7' },
  { what: 'with ports', peer: '10.0.0.1', forwarded: '198.51.100.1:4711, [2001:db8::2]:80', address: '198.51.100.1' },
  { what: 'IPv6 in brackets', peer: '10.0.0.1', forwarded: '[2001:db9::7]', address: '2001:db9::7' },
  { what: 'a connection that has ended', peer: undefined, forwarded: '198.51.100.1', address: undefined },
];

for (const { what, peer, forwarded, address } of CASES) {
  test(`the address of a client: ${what}`, () => {
    assert.equal(clientAddress({ socket: { remoteAddress: peer } as Socket, isUnix: false }, forwarded, PROXIES), address);
  });
}

test('a client of the socket has no address, and a proxy there names one', () => {
  const connection = { socket: {} as Socket, isUnix: true };
  assert.equal(clientAddress(connection, undefined, PROXIES), 'unix');
  assert.equal(clientAddress(connection, '198.51.100.1', PROXIES), '198.51.100.1');
  assert.equal(clientAddress(connection, '198.51.100.1', new Networks(['10.0.0.0/8'])), 'unix');
});

test('networks', () => {
  const networks = new Networks(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']);
  for (const inside of ['10.255.0.1', '192.0.2.1', '2001:db8:1::1']) assert.ok(networks.has(inside), inside);
  for (const outside of ['11.0.0.1', '192.0.2.2', '2001:db9::1', 'unix', undefined]) assert.ok(!networks.has(outside), outside);
  for (const wrong of ['10.0.0.0/33', '10.0.0/8', '::/129', 'a/8', '10.0.0.0/x', '10.0.0.0/-1']) assert.equal(networkOf(wrong), undefined);
  assert.equal(plainAddress('localhost'), undefined);
});
