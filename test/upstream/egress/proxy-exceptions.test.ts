// The addresses that NO_PROXY excepts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExcepted } from '../../../proxy/upstream/egress/egress.ts';

const CASES: readonly (readonly [except: string, host: string, port: number, excepted: boolean])[] = [
  ['', 'provider.example', 443, false],
  ['*', 'provider.example', 443, true],
  ['provider.example', 'provider.example', 443, true],
  ['provider.example', 'PROVIDER.example.', 443, true],
  ['provider.example', 'api.provider.example', 443, true],
  ['.provider.example', 'api.provider.example', 443, true],
  ['*.provider.example', 'api.provider.example', 443, true],
  ['provider.example', 'myprovider.example', 443, false],
  ['other.example, provider.example:8443', 'provider.example', 8443, true],
  ['other.example,provider.example:8443', 'provider.example', 443, false],
  ['10.0.0.0/8', '10.1.2.3', 443, true],
  ['10.0.0.0/8', '11.1.2.3', 443, false],
  ['10.1.2.3', '10.1.2.3', 443, true],
  ['10.1.2.3:80', '10.1.2.3', 443, false],
  ['0.2.3', '10.0.2.3', 443, false],
  ['2001:db8::/32', '2001:db8::7', 443, true],
  ['[2001:db8::7]:443', '2001:db8::7', 443, true],
  ['2001:db8::8', '2001:db8::7', 443, false],
  ['10.0.0.0/8', 'provider.example', 443, false],
  ['10.0.0.0/99', '10.0.0.1', 443, false],
];

for (const [except, host, port, excepted] of CASES) {
  test(`NO_PROXY "${except}" ${excepted ? 'excepts' : 'does not except'} ${host}:${port}`, () => {
    assert.equal(isExcepted(except, host, port), excepted);
  });
}
