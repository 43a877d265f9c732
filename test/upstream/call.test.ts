// A request that the gateway makes for itself: its deadline, and an answer that came while the process was paused (Q34).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { call } from '../../proxy/upstream/call.ts';
import { UndiciCarrier } from '../../proxy/upstream/carriers/undici-carrier.ts';

/**
 * A server in a separate thread that reports each request, and answers it when it is allowed to, except requests to /never. Then it reports
 * that the answer is sent.
 */
const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const signals = new Int32Array(workerData);
  const server = require('node:http').createServer((request, response) => {
    parentPort.postMessage('request');
    if (request.url === '/never') return;
    Atomics.wait(signals, 0, 0);
    response.once('finish', () => {
      Atomics.store(signals, 1, 1);
      Atomics.notify(signals, 1);
    });
    response.end('{"new":true}');
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

const DEADLINE_MS = 1_000;

async function asked(path: string, meanwhile: (signals: Int32Array<SharedArrayBuffer>) => void): Promise<unknown> {
  const shared = new SharedArrayBuffer(8);
  const worker = new Worker(SERVER, { eval: true, workerData: shared });
  try {
    const [port] = (await once(worker, 'message')) as [number];
    const carrier = new UndiciCarrier(`http://127.0.0.1:${port}`, { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 });
    const arrival = once(worker, 'message');
    const answer = call(carrier, { method: 'POST', path, headers: {}, body: '{}' }, { bytes: 1_000, ms: DEADLINE_MS });
    answer.catch(() => undefined);
    await arrival;
    // After this wait timers run before sockets are read, as after SIGCONT.
    await new Promise<void>((resolve) => setImmediate(() => resolve(meanwhile(new Int32Array(shared)))));
    return (await answer.finally(() => carrier.destroy())).body;
  } finally {
    await worker.terminate();
  }
}

/** Pauses the process like SIGSTOP and SIGCONT, until the answer was sent and the deadline is past. */
function pause(signals: Int32Array<SharedArrayBuffer>): void {
  Atomics.store(signals, 0, 1);
  Atomics.notify(signals, 0);
  Atomics.wait(signals, 1, 0);
  Atomics.wait(signals, 1, 1, 3 * DEADLINE_MS);
}

test('[Q34] an answer that came while the process was paused past its deadline is accepted', async () => {
  assert.deepEqual(await asked('/', pause), { new: true });
});

test('an answer that does not come is given up at the deadline', async () => {
  await assert.rejects(
    asked('/never', () => undefined),
    { name: 'TimeoutError' },
  );
});
