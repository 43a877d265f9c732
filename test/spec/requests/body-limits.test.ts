// LI3: the size of a request body is limited after decoding, whatever its encoding.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, open, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

/** These accounts answer without a stream, and ignore the padding of a body. */
const TOLERANT = { manners: { streamedUnstoredLists: false, knownMembers: false } };
const PATH = '/backend-api/agent/responses';
const DECODED = 262_144;
/** The memory of the objects around the pieces of a body. */
const OBJECTS = 8_192;
const RATIO = 50;

/** A body of exactly this many bytes. Its content is as random as JSON can be, so it stays large when compressed. */
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

/** Sends a body with its length and then chunked, and returns both answers. */
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
    gate = await startGateway({ upstream: TOLERANT, config: limits({}) });
  });
  after(() => gate.close());

  test('at the limit is dispatched, and one byte more is 413 before dispatch, by its length or by its chunks [LI3]', async () => {
    assert.deepEqual(await statuses(gate, bodyOf(DECODED)), [200, 200]);
    gate.upstream.clear();
    assert.deepEqual(await statuses(gate, bodyOf(DECODED + 1)), [TOO_LARGE, TOO_LARGE]);
    assert.equal(gate.upstream.requests().length, 0);
    assert.equal(gate.count('bodies_too_large'), 2);
  });

  test('with the coding `identity`, or an empty one, is not decoded', async () => {
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
      gate = await startGateway({
        upstream: TOLERANT,
        config: limits({ compressed_body_bytes: full.length, bodies_in_memory_bytes: DECODED + OBJECTS }),
      });
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
      // The text repeats within the window of every coding, and stays far below the ratio.
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

    test('whose client leaves in the middle is released with all its bytes', async () => {
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

describe('a body of several frames or members', () => {
  const SKIPPABLE = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
  const withoutChecksum = (body: Buffer): Buffer => zstdCompressSync(body, { params: { [constants.ZSTD_c_checksumFlag]: 0 } });
  const withChecksum = (body: Buffer): Buffer => zstdCompressSync(body, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const halves = (body: Buffer): [Buffer, Buffer] => [body.subarray(0, body.length / 2), body.subarray(body.length / 2)];
  const encodings: Readonly<Record<string, readonly [coding: string, encode: (first: Buffer, second: Buffer) => Buffer[]]>> = {
    'of zstd': ['zstd', (first, second) => [withoutChecksum(first), withChecksum(second)]],
    'of zstd, with skippable and empty ones': [
      'zstd',
      (first, second) => [SKIPPABLE, withChecksum(first), withChecksum(Buffer.alloc(0)), withoutChecksum(second), SKIPPABLE, SKIPPABLE],
    ],
    'of zstd with runs of one byte': ['zstd', (first, second) => [Buffer.alloc(300_000, ' '), first, second].map(withChecksum)],
    'of gzip': ['gzip', (first, second) => [gzipSync(first), gzipSync(second)]],
  };
  const size = 400_000;
  const gateWith = (more: Readonly<Record<string, number>> = {}): Promise<TestGateway> =>
    startGateway({ upstream: TOLERANT, config: limits({ request_body_bytes: 2 * size, ...more }) });

  for (const [what, [coding, encode]] of Object.entries(encodings)) {
    test(`${what} is dispatched whole, in one piece or in many [Q2]`, async () => {
      await using gate = await gateWith({ expansion_ratio: 10_000 });
      const padding = randomBytes(size).toString('base64').slice(0, size);
      const body = Buffer.concat(encode(...halves(Buffer.from(JSON.stringify(turnBody('hello', { padding, stream: false }))))));
      const headers = { 'content-encoding': coding };
      assert.deepEqual(await statuses(gate, body, headers), [200, 200]);
      using client = await RawClient.connect(gate.url);
      client.write(headOf('POST', PATH, { 'content-type': 'application/json', ...headers, 'content-length': body.length }));
      await client.writePieces(body, 997);
      assert.equal((await client.answer()).status, 200);
      for (const { body: sent } of gate.upstream.turns()) assert.ok(sent.includes(padding));
    });
  }

  test('is limited as a whole: its decoded size, and its ratio [LI3]', async () => {
    await using gate = await gateWith();
    const random = halves(bodyOf(2 * size + 2)).map(withChecksum);
    assert.deepEqual(await statuses(gate, Buffer.concat(random), { 'content-encoding': 'zstd' }), [TOO_LARGE, TOO_LARGE]);
    const blank = Array.from({ length: 10 }, () => withChecksum(Buffer.alloc(50_000, ' ')));
    assert.deepEqual(await statuses(gate, Buffer.concat(blank), { 'content-encoding': 'zstd' }), [TOO_LARGE, TOO_LARGE]);
  });

  test('is 400 where the last frame is cut off, and where there are more frames than any encoder writes', async () => {
    await using gate = await gateWith();
    gate.upstream.clear();
    const whole = withChecksum(bodyOf(1_000));
    for (const rest of [whole.subarray(0, 3), whole.subarray(0, -1), SKIPPABLE.subarray(0, -1)]) {
      assert.deepEqual(await statuses(gate, Buffer.concat([whole, rest]), { 'content-encoding': 'zstd' }), [GARBLED, GARBLED]);
    }
    const many = Array.from({ length: 5_000 }, () => SKIPPABLE);
    assert.deepEqual(await statuses(gate, Buffer.concat([whole, ...many]), { 'content-encoding': 'zstd' }), [GARBLED, GARBLED]);
    assert.equal(gate.upstream.requests().length, 0);
  });
});

test('while a body of 64 MiB is decoded the event loop is not blocked', async () => {
  const size = 67_108_864;
  await using gate = await startGateway({
    upstream: TOLERANT,
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

/** Occupies all threads of the thread pool: each opens a pipe that has no writer. @returns a function that frees them */
function holdThreads(context: TestContext): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-threads-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (let i = 0; i < Number(process.env.UV_THREADPOOL_SIZE ?? 4); i++) open(pipe, 'r', (_error, fd) => fd !== undefined && closeSync(fd));
  const release = (): void => closeSync(openSync(pipe, 'r+'));
  context.after(() => {
    release();
    rmSync(folder, { recursive: true });
  });
  return release;
}

test('[Q4] a compressed body that has arrived does not stall while its decoder waits for a thread', async (context) => {
  await using gate = await startGateway({ upstream: TOLERANT, config: idleAfter(200) });
  const release = holdThreads(context);
  const body = gzipSync(JSON.stringify(turnBody('hello', { stream: false })));
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length };
  using client = await RawClient.connect(gate.url);
  client.write(Buffer.concat([Buffer.from(headOf('POST', PATH, headers)), body]));
  // The time of this body begins later, so it ends later.
  using silent = await RawClient.connect(gate.url);
  silent.write(headOf('POST', PATH, { 'content-type': 'application/json', 'content-length': 10 }));
  assert.equal((await silent.answer()).status, 408);
  release();
  assert.equal((await client.answer()).status, 200);
});

test('all bodies together are bounded: one that does not fit is 503, with the time to wait', async () => {
  await using gate = await startGateway({
    upstream: TOLERANT,
    config: (draft) => {
      draft.limits = { bodies_in_memory_bytes: 100_000 };
    },
  });
  const body = bodyOf(90_000);
  using first = await RawClient.connect(gate.url);
  first.write(headOf('POST', PATH, { 'content-type': 'application/json', 'content-length': body.length }));
  first.write(body.subarray(0, 60_000));
  // The bytes of the first body are held as soon as a second body of the same size is refused.
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
