// Which addresses may get the bytes of a file; the address is a text of a provider (Q21).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, uploadTarget } from '../../proxy/files/upload-target.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'provider.example': ['8.8.8.7'],
  'storage.example': ['8.8.8.8', '2606:4700::8'],
  'inside.example': ['10.1.2.3'],
  'mixed.example': ['8.8.8.9', '169.254.169.254'],
};

const resolve = (host: string): Promise<readonly Address[]> => {
  const addresses = NAMES[host];
  if (!addresses) return Promise.reject(new Error('ENOTFOUND'));
  return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
};

const permitted = async (url: string, base = 'https://provider.example'): Promise<boolean> =>
  (await uploadTarget(url, base, { resolve })) !== undefined;

test('[Q21] an https address of a public host is permitted, whatever its port, path and query', async () => {
  assert.ok(await permitted('https://storage.example/a?b=c'));
  assert.ok(await permitted('https://storage.example:8443/a'));
  assert.ok(await permitted('https://8.8.8.9/a'));
  assert.ok(await permitted('https://[2606:4700::9]/a'));
});

test('[Q21] the connection goes to an address that was checked', async () => {
  const target = await uploadTarget('https://storage.example/a', 'https://provider.example', { resolve });
  assert.deepEqual(
    target?.addresses.map(({ address }) => address),
    NAMES['storage.example'],
  );
});

test('[Q21] an address without https, with a credential, or without a host is refused', async () => {
  for (const url of [
    '',
    '/a',
    'storage.example/a',
    'http://storage.example/a',
    'ftp://storage.example/a',
    'file:///etc/passwd',
    'data:,a',
  ]) {
    assert.ok(!(await permitted(url)), url);
  }
  assert.ok(!(await permitted('https://user@storage.example/a')));
  assert.ok(!(await permitted('https://:pass@storage.example/a')));
  assert.ok(!(await permitted('https://unknown.example/a')));
});

/** An address in each network of IANA's special-purpose registries, and in each network that is reserved or deprecated. */
const INTERNAL = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '2130706433', // 127.0.0.1 as one number
  '0x7f.1',
  '[::1]',
  '[::]',
  '[::10.0.0.1]',
  '[::8.8.8.8]',
  '[::ffff:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:0:10.0.0.1]',
  '[::ffff:0:8.8.8.8]',
  '[64:ff9b::a00:1]',
  '[64:ff9b:1::a00:1]',
  '[64:ff9b:1:ffff::1]',
  '[100::1]',
  '[100:0:0:1::1]',
  '[2001::a00:1]',
  '[2001:2::1]',
  '[2001:db8::1]',
  '[2002:a00:1::]',
  '[2002:808:808::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[feff::1]',
  '[ff02::1]',
  '[4000::1]', // not assigned
];

test('[Q21] addresses beside those networks are public', async () => {
  for (const host of [
    '9.255.255.255',
    '100.128.0.1',
    '172.32.0.1',
    '192.31.196.1',
    '223.255.255.255',
    '[2001:200::1]',
    '[2003::1]',
    '[2620:4f:8000::1]',
  ])
    assert.ok(await permitted(`https://${host}/a`), host);
  assert.ok(await permitted('https://[::ffff:8.8.8.8]/a'));
});

test('[Q21] a name is checked by its addresses, whatever their family', async () => {
  const inside = async (address: string): Promise<boolean> =>
    (await uploadTarget('https://a.example/', 'https://provider.example', {
      resolve: (host) => Promise.resolve([{ address: host === 'a.example' ? address : '8.8.8.7', family: address.includes(':') ? 6 : 4 }]),
    })) === undefined;
  for (const host of INTERNAL.slice(19)) assert.ok(await inside(host.replace(/[[\]]/g, '')), host);
  assert.ok(!(await inside('2606:4700::1')));
});

test('[Q21] an account outside must not send the gateway to an internal address', async () => {
  for (const host of [...INTERNAL, 'inside.example', 'mixed.example']) assert.ok(!(await permitted(`https://${host}/a`)), host);
});

test('[Q21] an account inside may name an internal host, by https', async () => {
  for (const base of ['https://inside.example', 'https://10.0.0.7', 'http://127.0.0.1:4010']) {
    assert.ok(await permitted('https://inside.example/a', base));
    assert.ok(!(await permitted('http://inside.example/a', base)));
  }
});

test('[Q21] plain http is permitted to loopback only, for an account on loopback only', async () => {
  assert.ok(await permitted('http://127.0.0.1:5000/a', 'http://127.0.0.1:4010'));
  assert.ok(await permitted('http://[::1]:5000/a', 'http://127.0.0.1:4010'));
  assert.ok(!(await permitted('http://127.0.0.1:5000/a')));
  assert.ok(!(await permitted('http://127.0.0.1:5000/a', 'https://inside.example')));
});
