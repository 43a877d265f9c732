// Hostile and broken uploads of images: each malformed form gets its error of the table, and if one side breaks off, the other side is
// ended.
import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { modelsWithin } from '../../../proxy/rehearsal/model/sample-models.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { BOUNDARY, FORM_TYPE, formOf } from '../../support/form.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { askImage, EDITS, editParts, imagePart, NATIVE_EDITS, PNG_BYTES, sendForm, startImages } from '../../support/stages/images.ts';
import { until } from '../../support/until.ts';

const PATHS = [EDITS, NATIVE_EDITS] as const;

const FORM = formOf(editParts(imagePart('image[]'), imagePart('mask')));

/** The offsets at which a part begins, its content begins, and its content ends. */
const PLACES: readonly number[] = [
  ...FORM.toString('latin1').matchAll(new RegExp(`--${BOUNDARY}|\\r\\n\\r\\n|\\r\\n(?=--${BOUNDARY})`, 'g')),
].map(({ index }) => index);

const headFor = (path: string, length = FORM.length): string =>
  headOf('POST', path, { 'content-type': FORM_TYPE, 'content-length': length });

describe('hostile forms', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await startImages({
      config: (draft) => {
        draft.limits = { request_body_bytes: 2_000_000, compressed_body_bytes: 1_000_000 };
      },
    });
  });
  after(() => gate.close());

  const line = `--${BOUNDARY}`;
  const many = formOf(Array.from({ length: 5_000 }, (_, i) => ({ name: `p${i}`, value: 'x' })));
  const CASES: Readonly<Record<string, readonly [body: string | Buffer, type: string, status: number, code: string]>> = {
    'no form': ['just text', FORM_TYPE, 400, 'invalid_request'],
    'no bytes': ['', FORM_TYPE, 400, 'invalid_request'],
    'no boundary': [FORM, 'multipart/form-data', 400, 'invalid_request'],
    'an empty boundary': [FORM, 'multipart/form-data; boundary=', 400, 'invalid_request'],
    'a huge boundary': [FORM, `multipart/form-data; boundary=${'b'.repeat(5_000)}`, 400, 'invalid_request'],
    'another boundary': [FORM, 'multipart/form-data; boundary=another', 400, 'invalid_request'],
    'another kind of multipart': [FORM, FORM_TYPE.replace('form-data', 'mixed'), 415, 'unsupported_media_type'],
    'thousands of parts': [many, FORM_TYPE, 413, 'request_too_large'],
    'a part with huge headers': [`${line}\r\nX: ${'x'.repeat(100_000)}\r\n\r\n1\r\n${line}--`, FORM_TYPE, 400, 'invalid_request'],
    'a part with thousands of headers': [`${line}\r\n${'X: 1\r\n'.repeat(9_000)}\r\n1\r\n${line}--`, FORM_TYPE, 400, 'invalid_request'],
    'headers without an end': [`${line}\r\n${'X: 1\r\n'.repeat(9_000)}`, FORM_TYPE, 400, 'invalid_request'],
    'a part without a name': [`${line}\r\nContent-Disposition: form-data\r\n\r\n1\r\n${line}--`, FORM_TYPE, 400, 'invalid_request'],
    'a huge name': [formOf(editParts({ name: 'n'.repeat(10_000), value: '1' })), FORM_TYPE, 400, 'invalid_request'],
    'a prompt of more than a mebibyte': [formOf([{ name: 'prompt', value: 'x'.repeat(1_100_000) }]), FORM_TYPE, 413, 'request_too_large'],
    'more bytes than a body may have': [Buffer.alloc(2_000_001, 'x'), FORM_TYPE, 413, 'request_too_large'],
  };

  for (const [what, [body, type, status, code]] of Object.entries(CASES)) {
    test(`[Q22] [Q33] ${what}: ${status} ${code}, before any account is asked`, async () => {
      gate.upstream.clear();
      for (const path of PATHS) {
        const reply = await gate.send(path, { method: 'POST', body, headers: { 'content-type': type } });
        assert.deepEqual([reply.status, reply.json.error.code], [status, code], path);
        assert.equal((await gate.row(reply))?.code, code);
      }
      assert.equal(gate.upstream.turns().length, 0);
      assert.equal(gate.count('server_errors'), 0);
    });
  }

  test('[LI3] a compressed form is decoded within its limits', async () => {
    const send = (body: Buffer): ReturnType<TestGateway['send']> =>
      gate.send(EDITS, { body, headers: { 'content-type': FORM_TYPE, 'content-encoding': 'gzip' } });
    assert.equal((await send(gzipSync(FORM))).status, 200);
    const bomb = formOf(editParts(imagePart('mask', Buffer.concat([PNG_BYTES, Buffer.alloc(1_900_000)]))));
    assert.deepEqual([(await send(gzipSync(bomb))).status, (await send(gzipSync(FORM).subarray(0, 60))).status], [413, 400]);
  });

  test('a form that is cut after any of its boundaries and sent as complete is invalid_request', async () => {
    for (const path of PATHS) {
      for (const place of PLACES) {
        const reply = await gate.send(path, { body: FORM.subarray(0, place), method: 'POST', headers: { 'content-type': FORM_TYPE } });
        assert.deepEqual([reply.status, reply.json.error.code], [400, 'invalid_request'], `cut at ${place}`);
      }
    }
  });
});

test('[Q4] a form counts against the memory of all bodies', async () => {
  await using gate = await startImages({
    config: (draft) => {
      draft.limits = { bodies_in_memory_bytes: FORM.length - 1 };
    },
  });
  const reply = await gate.send(EDITS, { body: FORM, headers: { 'content-type': FORM_TYPE } });
  assert.deepEqual([reply.status, reply.json.error.code], [503, 'server_is_overloaded']);
  assert.equal(gate.count('bodies_guard_refused'), 1);
  for (let i = 0; i < 3; i++) assert.equal((await sendForm(gate, EDITS, editParts())).status, 200, 'what was held is given back');
});

describe('a client that breaks off', () => {
  for (const path of PATHS) {
    test(`at any boundary of ${path}: no account gets it, and the row shows that the client left`, async () => {
      await using gate = await startImages();
      gate.upstream.clear();
      for (const place of PLACES) {
        for (const end of ['reset', 'close'] as const) {
          const before = (await gate.rows()).length;
          using client = await RawClient.connect(gate.url);
          client.write(headFor(path)).write(FORM.subarray(0, place));
          await new Promise<void>((resolve) => client.socket.write('', () => resolve()));
          if (end === 'reset') client.socket.resetAndDestroy();
          else client.socket.end();
          const rows = await until(`the row of a client that left at ${place}`, async () => {
            const now = await gate.rows();
            return now.length > before ? now : undefined;
          });
          assert.equal(rows.at(-1)?.status, 499, `${end} at ${place}`);
        }
      }
      assert.deepEqual(gate.upstream.requests(), []);
      assert.equal((await askImage(gate, path)).status, 200);
    });

    test(`in silence, at any boundary of ${path}, is refused with 408`, async () => {
      await using gate = await startImages({
        config: (draft) => {
          draft.timeouts.client_body_idle_ms = 30;
        },
      });
      gate.upstream.clear();
      const refused = await Promise.all(
        PLACES.map(async (place) => {
          using client = await RawClient.connect(gate.url);
          client.write(headFor(path)).write(FORM.subarray(0, place));
          const { status, json } = await client.answer();
          return [status, json.error.code];
        }),
      );
      assert.deepEqual(new Set(refused.map(String)), new Set(['408,request_timeout']));
      assert.equal(gate.count('body_timeouts'), PLACES.length);
      assert.deepEqual(gate.upstream.requests(), []);
    });
  }
});

/** An account on a bare socket: it lists its models, and after some bytes of any other request it ends the connection or ignores it. */
async function breakingAccount(): Promise<{ url: string; after: { bytes: number; how: 'reset' | 'close' }; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      if (received.subarray(0, 4).toString() === 'GET ') {
        const body = JSON.stringify({ models: modelsWithin() });
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      } else if (received.length - head - 4 >= account.after.bytes) {
        if (account.after.how === 'reset') socket.resetAndDestroy();
        else socket.end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const account = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    after: { bytes: 0, how: 'reset' as 'reset' | 'close' },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return account;
}

describe('an account that breaks off during the upload', () => {
  test('at any boundary of the form: the next account gets the whole request, and without one the client gets 502', async () => {
    const account = await breakingAccount();
    const clock = new ManualClock();
    await using gate = await startImages({
      clock,
      config: (draft) => {
        draft.accounts[0].base_url = account.url;
      },
    });
    try {
      for (const how of ['reset', 'close'] as const) {
        for (const bytes of PLACES) {
          account.after = { bytes: Math.min(bytes, FORM.length - 100), how };
          gate.heal();
          // Retries that are more than ten seconds old do not count against their budget.
          await clock.advance(11_000);
          gate.upstream.clear();
          const taken = await gate.send(NATIVE_EDITS, { body: FORM, headers: { 'content-type': FORM_TYPE } });
          assert.equal(taken.status, 200, `${how} after ${bytes}`);
          assert.equal(gate.upstream.turns('south').length, 1);
          assert.deepEqual((await gate.attempts(taken.headers.get('x-request-id') ?? '')).length, 2);
        }
      }
      await gate.reconfigure((draft) => {
        draft.pools[0].assignments = [{ account: 'north' }];
      });
      for (const path of PATHS) {
        gate.heal();
        const reply = await gate.send(path, { body: FORM, headers: { 'content-type': FORM_TYPE } });
        assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error'], path);
      }
    } finally {
      await account.close();
    }
  });

  test('that reads none of it is given up in time', async () => {
    await using gate = await startImages({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.timeouts.upstream_first_byte_ms = 60;
      },
    });
    for (const path of PATHS) {
      gate.heal();
      gate.upstream.next('north', 'stall before headers');
      const { status, json } = await gate.send(path, { body: FORM, headers: { 'content-type': FORM_TYPE } });
      assert.deepEqual([status, json.error.code], [504, 'upstream_timeout'], path);
    }
  });
});
