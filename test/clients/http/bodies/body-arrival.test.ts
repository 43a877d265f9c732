// A client that sends nothing for too long is refused. It is not silent while its connection is not read, nor for what it has sent while the
// process was paused.
import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { BodyArrival } from '../../../../proxy/clients/http/bodies/body-arrival.ts';

const IDLE_MS = 1_000;
/** More than a slice, so that the connection waits for the next one. */
const LARGE_BYTES = 2_000_000;
const SMALL_BYTES = 1_000;

interface Arriving {
  /** The codes with which the body was refused. */
  readonly refused: readonly string[];
  piece(bytes: number): void;
  end(): void;
}

function arriving(context: TestContext): Arriving {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const request = Object.assign(new IncomingMessage(new Socket()), { headers: {} });
  const refused: string[] = [];
  const arrival = new BodyArrival(request, {
    idleMs: IDLE_MS,
    smallPieces: 0,
    counters: new Counters(),
    isBusy: () => false,
    closed: () => undefined,
    malformed: () => undefined,
    refuse: ({ code }) => void refused.push(String(code)),
  });
  context.after(() => arrival.stop());
  return { refused, piece: (bytes) => void request.emit('data', Buffer.alloc(bytes)), end: () => void request.emit('end') };
}

test('[Q4] a client that sends nothing is silent', async (context) => {
  const { refused, piece } = arriving(context);
  piece(SMALL_BYTES);
  context.mock.timers.tick(IDLE_MS);
  await turnOfTheLoop();
  assert.deepEqual(refused, ['request_timeout']);
});

test('a client whose connection is not read is not silent', async (context) => {
  const { refused, piece } = arriving(context);
  piece(LARGE_BYTES);
  context.mock.timers.tick(IDLE_MS);
  await turnOfTheLoop();
  assert.deepEqual(refused, []);
});

test('[Q4] a client whose bytes are read only after its time, because the process was paused, is not silent', async (context) => {
  const { refused, piece } = arriving(context);
  context.mock.timers.tick(IDLE_MS);
  piece(SMALL_BYTES);
  await turnOfTheLoop();
  assert.deepEqual(refused, []);
});

test('[Q4] nor is one whose last byte is read then', async (context) => {
  const { refused, end } = arriving(context);
  context.mock.timers.tick(IDLE_MS);
  end();
  await turnOfTheLoop();
  assert.deepEqual(refused, []);
});
