// Uploads that arrive byte by byte: the held memory does not grow with the number of pieces, and is released when the client leaves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { UploadMeter } from '../../../../proxy/base/bytes/upload-meter.ts';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { FormUpload } from '../../../../proxy/clients/http/bodies/form-upload.ts';
import { JoinedBody } from '../../../../proxy/clients/http/bodies/joined-body.ts';
import { openUpload } from '../../../../proxy/clients/http/bodies/upload.ts';
import { BOUNDARY } from '../../../support/form.ts';
import { inUse } from '../../../support/program/memory-in-use.ts';
import { until } from '../../../support/until.ts';

/** This is more than all buffers on the path hold. */
const BYTES = 400_000;
const MOST_HELD = 3_000_000;
/** Each byte is an event of Node's parser, so the upload takes long. */
const PATIENCE_MS = 30_000;
const CHUNKS = Buffer.from('1\r\na\r\n'.repeat(BYTES));
const HEAD = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
const FILE = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
const inChunks = (text: string): string => [...text].map((letter) => `1\r\n${letter}\r\n`).join('');

interface Arrived {
  readonly client: Socket;
  readonly request: IncomingMessage;
}

async function arrive(context: TestContext): Promise<Arrived> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  context.after(() => {
    client.destroy();
    server.close();
  });
  client.write(HEAD);
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  request.on('error', () => undefined);
  return { client, request };
}

/** The turns of the event loop after which a reader that takes more has continued the connection. */
const TURNS = 20;

/** Waits until the gateway no longer reads the connection. */
const stopped = ({ socket }: IncomingMessage): Promise<true> =>
  until(
    'the connection to stop',
    async () => {
      for (let turn = 0; turn < TURNS; turn++) {
        if (!socket.isPaused()) return undefined;
        await turnOfTheLoop();
      }
      return socket.bytesRead > CHUNKS.length / 100 || undefined;
    },
    PATIENCE_MS,
  );

const UPLOADS: Readonly<Record<string, { readonly begins: string; open(request: IncomingMessage): { close(): void } }>> = {
  'a body': {
    begins: '',
    open: (request) => {
      const { detach } = openUpload(request, { bytes: BYTES, idleMs: 60_000, smallPieces: BYTES }, new Counters());
      return { close: () => void detach() };
    },
  },
  'a form': {
    begins: FILE,
    open: (request) =>
      new FormUpload(request, {
        boundary: BOUNDARY,
        reader: { part: (part) => [part], end: () => [] },
        decoder: undefined,
        expansionRatio: 100,
        bytes: BYTES,
        idleMs: 60_000,
        smallPieces: BYTES,
        counters: new Counters(),
        meter: new UploadMeter(),
      }),
  },
};

describe('[Q38] an upload in pieces of one byte that its account does not read', () => {
  for (const [name, { begins, open }] of Object.entries(UPLOADS)) {
    test(`holds a few kilobytes at a time of ${name}, and nothing after its client has left`, async (context) => {
      const { client, request } = await arrive(context);
      const before = inUse();
      const upload = open(request);
      client.write(inChunks(begins));
      client.write(CHUNKS);
      await stopped(request);
      const grown = inUse() - before;
      assert.ok(grown < MOST_HELD, `${grown} bytes are held`);
      upload.close();
      assert.equal(request.listenerCount('end'), 0);
    });
  }
});

test('pieces come out whole and in order, however the reader pauses', async (context) => {
  const { client, request } = await arrive(context);
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, i) => 97 + (i % 26)));
  client.write(inChunks(sent.toString()));
  client.write('0\r\n\r\n');
  let hasEnded = false;
  request.once('end', () => {
    hasEnded = true;
  });
  const body = new JoinedBody(request);
  const pieces: Buffer[] = [];
  const reader = new Writable({
    highWaterMark: 1,
    write(piece: Buffer, _, done) {
      pieces.push(piece);
      until('more bytes than wait for a reader', () => body.isFull || hasEnded || undefined).then(() => done(), done);
    },
  });
  body.pipe(reader);
  await once(reader, 'finish');
  assert.ok(Buffer.concat(pieces).equals(sent));
  assert.ok(pieces.length < 6, `${pieces.length} pieces`);
});

test('a reader gets what has come after a moment, though the client has not ended', async (context) => {
  const { client, request } = await arrive(context);
  const body = new JoinedBody(request);
  client.write(inChunks('ab'));
  const [piece] = (await once(body, 'data')) as [Buffer];
  assert.equal(piece.toString(), 'ab');
  client.write('0\r\n\r\n');
  assert.equal((await buffer(body)).length, 0);
});

test('the rest of a body whose reader stopped is read only for another reader', async (context) => {
  const { client, request } = await arrive(context);
  const body = new JoinedBody(request);
  client.write(CHUNKS);
  client.write('0\r\n\r\n');
  await stopped(request);
  body.destroy();
  await until('its rest to be dropped', () => request.isPaused() || undefined);
  request.resume();
  await once(request, 'end');
});
