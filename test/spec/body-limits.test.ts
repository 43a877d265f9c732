// LI3: the size of a request body, whatever its encoding expands to.
import assert from 'node:assert/strict';
import { pbkdf2, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { headOf, RawClient } from '../support/raw.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { until } from '../support/until.ts';

const PATH = '/backend-api/agent/responses';
const DECODED = 262_144;
const RATIO = 50;

/** A body of exactly this many bytes; as random as JSON can be, so that it stays large when compressed. */
function bodyOf(bytes: number, filling = randomBytes(bytes).toString('base64')): Buffer {
  const empty = JSON.stringify(turnBody('', { padding: '' })).length;
  return Buffer.from(JSON.stringify(turnBody('', { padding: filling.slice(0, bytes - empty) })));
}

type Encode = (body: Buffer) => Buffer;

const FAST_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const CODINGS: Readonly<Record<string, Encode>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: (body) => brotliCompressSync(body, FAST_BROTLI),
  zstd: (body) => zstdCompressSync(body),
};

function chunked(body: Buffer): Buffer {
  const end = Buffer.from('0\r\n\r\n');
  return body.length === 0 ? end : Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n'), end]);
}

const limits =
  (more: Readonly<Record<string, number>>) =>
  (draft: Draft): void => {
    draft.limits = { request_body_bytes: DECODED, expansion_ratio: RATIO, ...more };
  };

/** Sends a body with its length and then chunked, and says what came back each time. */
async function statuses(gate: TestGateway, body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<unknown[]> {
  const told: unknown[] = [];
  for (const framing of [{ 'content-length': body.length }, { 'transfer-encoding': 'chunked' }]) {
    using client = await RawClient.connect(gate.url);
    client.write(headOf('POST', PATH, { 'content-type': 'application/json', ...headers, ...framing }));
    client.write('content-length' in framing ? body : chunked(body));
    const { status, json } = await client.answer();
    told.push(status === 200 ? 200 : [status, json.error.code]);
  }
  return told;
}

const TOO_LARGE = [413, 'request_too_large'];
const GARBLED = [400, 'invalid_request'];

describe('an identity body', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await startGateway({ config: limits({}) });
  });
  after(() => gate.close());

  test('at the limit is dispatched, and one byte more is 413 before dispatch, by its length or by its chunks [LI3]', async () => {
    assert.deepEqual(await statuses(gate, bodyOf(DECODED)), [200, 200]);
    gate.upstream.clear();
    assert.deepEqual(await statuses(gate, bodyOf(DECODED + 1)), [TOO_LARGE, TOO_LARGE]);
    assert.equal(gate.upstream.requests().length, 0);
    assert.equal(gate.count('bodies_too_large'), 2);
  });

  test('of the coding `identity`, and of an empty one, is taken as it is', async () => {
    const body = bodyOf(1_000);
    assert.deepEqual(await statuses(gate, body, { 'content-encoding': 'identity' }), [200, 200]);
    assert.deepEqual(await statuses(gate, body, { 'content-encoding': '' }), [200, 200]);
  });

  for (const coding of ['compress', 'gzip, gzip', 'gzip,br', 'aes128gcm', 'constructor', '__proto__', 'toString']) {
    test(`of the coding ${coding} is 415 before a byte of it is read`, async () => {
      gate.upstream.clear();
      const refused = [415, 'unsupported_content_encoding'];
      assert.deepEqual(await statuses(gate, bodyOf(1_000), { 'content-encoding': coding }), [refused, refused]);
      assert.equal(gate.upstream.requests().length, 0);
    });
  }
});

describe('compressed bodies', { concurrency: true }, () => {
  for (const [coding, encode] of Object.entries(CODINGS)) ofCoding(coding, encode);
});

function ofCoding(coding: string, encode: Encode): void {
  describe(`a body of the coding ${coding}`, { concurrency: false }, () => {
    const headers = { 'content-encoding': coding };
    const full = encode(bodyOf(DECODED));
    let gate: TestGateway;
    before(async () => {
      gate = await startGateway({ config: limits({ compressed_body_bytes: full.length, bodies_in_memory_bytes: DECODED }) });
    });
    after(() => gate.close());

    test('at both limits is dispatched decoded, without its coding [LI3]', async () => {
      gate.upstream.clear();
      assert.deepEqual(await statuses(gate, full, { 'content-encoding': coding.toUpperCase() }), [200, 200]);
      const [turn] = gate.upstream.turns();
      assert.equal(turn?.headers['content-encoding'], undefined);
      assert.ok((turn?.body.length ?? 0) > DECODED - 100);
    });

    test('over the limit of compressed bytes is 413, by its length or by its chunks [LI3]', async () => {
      gate.upstream.clear();
      const larger = Buffer.concat([full, Buffer.alloc(1)]);
      assert.deepEqual(await statuses(gate, larger, headers), [TOO_LARGE, TOO_LARGE]);
      assert.equal(gate.upstream.requests().length, 0);
    });

    test('over the limit once decoded is 413 [LI3]', async () => {
      gate.upstream.clear();
      // Repeated within every coding's window, and far from the ratio.
      const body = encode(
        bodyOf(
          DECODED + 1,
          randomBytes(DECODED / 16)
            .toString('base64')
            .repeat(16),
        ),
      );
      assert.ok(body.length < full.length, 'it is the decoded size that is too large');
      assert.deepEqual(await statuses(gate, body, headers), [TOO_LARGE, TOO_LARGE]);
      assert.equal(gate.upstream.requests().length, 0);
    });

    test('that expands past the ratio is 413, however small it is once decoded [LI3]', async () => {
      gate.upstream.clear();
      const body = encode(bodyOf(DECODED - 1, 'a'.repeat(DECODED)));
      assert.ok(DECODED / body.length > RATIO);
      assert.deepEqual(await statuses(gate, body, headers), [TOO_LARGE, TOO_LARGE]);
      assert.equal(gate.upstream.requests().length, 0);
    });

    test('that is truncated, garbage, or followed by more is 400, and reaches no account', async () => {
      gate.upstream.clear();
      const whole = encode(bodyOf(1_000));
      for (const body of [
        whole.subarray(0, whole.length - 4),
        whole.subarray(0, 5),
        Buffer.alloc(0),
        randomBytes(200),
        Buffer.concat([whole, Buffer.from('{"and":"more"}')]),
      ]) {
        assert.deepEqual(await statuses(gate, body, headers), [GARBLED, GARBLED]);
      }
      assert.equal(gate.upstream.requests().length, 0);
    });

    test('whose client leaves in the middle is forgotten with all its bytes', async () => {
      const whole = encode(bodyOf(100_000));
      using client = await RawClient.connect(gate.url);
      const framing = { 'content-type': 'application/json', 'content-length': whole.length, expect: '100-continue' };
      client.write(headOf('POST', PATH, { ...headers, ...framing }));
      assert.equal((await client.answer()).status, 100);
      client.write(whole.subarray(0, whole.length - 10)).socket.end();
      await client.ended();
      const row = await until('the row', async () => (await gate.rows()).find(({ outcome }) => outcome === 'client_gone'));
      assert.deepEqual([row.status, row.code], [499, null]);
      assert.deepEqual(await statuses(gate, encode(bodyOf(DECODED - 5_000)), headers), [200, 200]);
    });
  });
}

test('while a body of 64 MiB is decoded the event loop goes on', async () => {
  const size = 67_108_864;
  await using gate = await startGateway({
    config: (draft) => {
      draft.limits = { request_body_bytes: size - 1, expansion_ratio: 100_000 };
    },
  });
  const body = gzipSync(Buffer.alloc(size, 'a'), { level: 1 });
  let turns = 0;
  let decoding = true;
  const turn = (): void => {
    turns++;
    if (decoding) setImmediate(turn);
  };
  turn();
  const { status } = await gate.send(PATH, { body, headers: { 'content-encoding': 'gzip' } });
  decoding = false;
  assert.equal(status, 413);
  assert.ok(turns > 500, `${turns} turns of the event loop`);
});

const idleAfter =
  (ms: number) =>
  (draft: Draft): void => {
    draft.timeouts = { ...draft.timeouts, client_body_idle_ms: ms };
  };

test('[Q4] a compressed body that has arrived does not stall while its decoder waits for a thread', async () => {
  await using gate = await startGateway({ config: idleAfter(50) });
  const busy = Array.from({ length: 8 }, () => promisify(pbkdf2)('a', 'b', 400_000, 32, 'sha256'));
  const body = gzipSync(JSON.stringify(turnBody('hello', { stream: false })));
  const { status } = await gate.send(PATH, { body: new Uint8Array(body), headers: { 'content-encoding': 'gzip' } });
  assert.equal(status, 200);
  await Promise.all(busy);
});

test('all bodies together are bounded: what does not fit is 503, with the time to come back', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.limits = { bodies_in_memory_bytes: 100_000 };
    },
  });
  const body = bodyOf(90_000);
  using first = await RawClient.connect(gate.url);
  first.write(headOf('POST', PATH, { 'content-type': 'application/json', 'content-length': body.length }));
  first.write(body.subarray(0, 60_000));
  // The first body's bytes are held as soon as a second body of its size is refused.
  let refused = await statuses(gate, bodyOf(50_000));
  while (refused[0] === 200) refused = await statuses(gate, bodyOf(50_000));
  assert.deepEqual(refused, [
    [503, 'server_is_overloaded'],
    [503, 'server_is_overloaded'],
  ]);
  first.write(body.subarray(60_000));
  assert.equal((await first.answer()).status, 200);
  assert.deepEqual(await statuses(gate, bodyOf(50_000)), [200, 200]);
});
