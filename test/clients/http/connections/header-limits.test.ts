// The limits on the head of a request: which bytes count, and how little of a hostile head is read.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { isHeadTooLarge } from '../../../../proxy/clients/http/connections/client-connection.ts';

const LIMITS = { header_bytes: 300, header_count: 5 };

interface Head {
  readonly url?: string;
  readonly raw?: readonly (readonly [name: string, value: string])[];
}

/** A request as Node's parser passes it; `parsed` is called when its headers are read by name. */
function request({ url = '/', raw = [] }: Head, parsed: () => void = () => undefined): IncomingMessage {
  return {
    method: 'GET',
    url,
    rawHeaders: raw.flat(),
    get headers() {
      parsed();
      return Object.fromEntries(raw.map(([name, value]) => [name.toLowerCase(), value]));
    },
  } as unknown as IncomingMessage;
}

describe('the head of a request', () => {
  test('is measured with its line, its separators and its last empty line', () => {
    const head = { url: '/v1/models?a=b', raw: [['Host', 'gateway'] as const, ['x-a', ''] as const] };
    const bytes = 'GET /v1/models?a=b HTTP/1.1\r\nHost: gateway\r\nx-a: \r\n\r\n'.length;
    assert.equal(isHeadTooLarge(request(head), { ...LIMITS, header_bytes: bytes }), false);
    assert.equal(isHeadTooLarge(request(head), { ...LIMITS, header_bytes: bytes - 1 }), true);
  });

  test('may have as many headers as the limit permits', () => {
    const headers = (count: number) => ({ raw: Array.from({ length: count }, (_, i) => [`x-${i}`, ''] as const) });
    assert.equal(isHeadTooLarge(request(headers(5)), LIMITS), false);
    assert.equal(isHeadTooLarge(request(headers(6)), LIMITS), true);
  });

  test('may name as many headers in Connection', () => {
    const naming = (count: number) => ({ raw: [['Connection', Array(count).fill('a').join(',')] as const] });
    assert.equal(isHeadTooLarge(request(naming(5)), LIMITS), false);
    assert.equal(isHeadTooLarge(request(naming(6)), LIMITS), true);
  });

  test('is not read by name where it has too many headers or bytes: a client could make that as expensive as it likes', () => {
    const never = (): never => assert.fail('the headers were read by name');
    const many = Array.from({ length: 10_000 }, (_, i) => [`x-${i}`, ''] as const);
    assert.equal(isHeadTooLarge(request({ raw: many }, never), LIMITS), true);
    assert.equal(isHeadTooLarge(request({ raw: [['x-a', 'a'.repeat(301)]] }, never), LIMITS), true);
  });
});
