// Large bodies, and bodies in small pieces, are read in slices, and keys take turns (Q38).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { awaitReader } from '../../../../proxy/base/process/internals/request-reading.ts';
import { takeOverConnections } from '../../../../proxy/base/process/internals/socket-internals.ts';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { BodyArrival } from '../../../../proxy/clients/http/bodies/body-arrival.ts';
import { ReadPace } from '../../../../proxy/clients/http/bodies/read-pace.ts';
import { readFirstLine } from '../../../../proxy/clients/http/connections/unparsed-connections.ts';
import { until } from '../../../support/until.ts';

const KEYS = ['many', 'many', 'many', 'many', 'one'] as const;
const PIECES = 60_000;
const LARGE_BYTES = 16_000_000;
/** The most pieces of one connection in one turn of the event loop: a slice, and the rest of the read in which it ends. */
const MOST_PIECES = 600;

interface Sent {
  /** The keys in the order in which their bodies ended. */
  readonly ended: readonly string[];
  /** The bytes of all bodies. */
  readonly bytes: number;
  /** The most pieces that came in one turn of the event loop. */
  readonly mostPieces: number;
}

/** Sends requests of all keys at once; the requests of a key follow each other on its connection. */
async function sent(context: TestContext, ...bodies: readonly string[]): Promise<Sent> {
  const ended: string[] = [];
  let [bytes, pieces, mostPieces] = [0, 0, 0];
  const turn = (): void => {
    mostPieces = Math.max(mostPieces, pieces);
    pieces = 0;
    turning = setImmediate(turn);
  };
  let turning = setImmediate(turn);
  const server = createServer((request, response) => {
    if (request.headers['transfer-encoding'] !== undefined) awaitReader(request);
    const key = String(request.headers['x-key']);
    const arrival = new BodyArrival(request, {
      idleMs: 60_000,
      smallPieces: PIECES,
      counters: new Counters(),
      key,
      isBusy: () => false,
      arrived: () => {
        pieces += 1;
      },
      closed: () => undefined,
      malformed: () => undefined,
      refuse: () => undefined,
    });
    request.once('end', () => {
      ended.push(key);
      bytes += arrival.bytes;
      arrival.stop();
      response.end();
    });
  });
  const parse = takeOverConnections(server, (socket) => void readFirstLine(socket, { maxBytes: 1_000, read: () => parse(socket) }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = KEYS.map((key) => {
    const socket = connect(port, '127.0.0.1').resume();
    for (const body of bodies) socket.write(`POST / HTTP/1.1\r\nhost: a\r\nx-key: ${key}\r\n${body}`);
    return socket;
  });
  context.after(() => {
    clearImmediate(turning);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await until('all bodies', () => (ended.length === KEYS.length * bodies.length ? true : undefined), 60_000);
  return { ended, bytes, mostPieces };
}

const inSmallPieces = `transfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(PIECES)}0\r\n\r\n`;

test('[Q38] a body in small pieces is read a slice at a time from its beginning on, keys take turns, and no byte is lost', async (context) => {
  const { ended, bytes, mostPieces } = await sent(context, inSmallPieces);
  assert.equal(ended[0], 'one');
  assert.equal(bytes, KEYS.length * PIECES);
  assert.ok(mostPieces <= KEYS.length * MOST_PIECES, `${mostPieces} pieces in one turn of the event loop`);
});

test('[Q38] requests behind such a body are read whole', async (context) => {
  const small = 'content-length: 5\r\n\r\nhello';
  const large = `content-length: ${LARGE_BYTES}\r\n\r\n${'a'.repeat(LARGE_BYTES)}`;
  const { bytes } = await sent(context, small, inSmallPieces, small, large, inSmallPieces);
  assert.equal(bytes, KEYS.length * (2 * 5 + 2 * PIECES + LARGE_BYTES));
});

test('[Q38] the large body of one key does not wait for all of another key, and no byte is lost', async (context) => {
  const { ended, bytes } = await sent(context, `content-length: ${LARGE_BYTES}\r\n\r\n${'a'.repeat(LARGE_BYTES)}`);
  assert.equal(ended[0], 'one');
  assert.equal(bytes, KEYS.length * LARGE_BYTES);
});

test('a slice has a megabyte of large pieces, and as many small pieces as take as long; before the first one a body has half a megabyte', async () => {
  const read: number[] = [];
  for (const length of [65_536, 1_024]) {
    const pace = new ReadPace(new IncomingMessage(new Socket()), 'key');
    for (let slice = 0; slice < 2; slice++) {
      let pieces = 0;
      for (; !pace.isWaiting; pieces++) pace.piece(length);
      read.push(pieces);
      await until('the next slice', () => !pace.isWaiting || undefined);
    }
  }
  assert.deepEqual(read, [8, 16, 256, 256]);
});
