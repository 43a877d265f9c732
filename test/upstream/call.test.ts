// A request that the gateway makes for itself: its deadline, and an answer that came while the process was paused (Q34).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { call } from '../../proxy/upstream/call.ts';
import { UndiciCarrier } from '../../proxy/upstream/carriers/undici-carrier.ts';

/** A server in a separate thread that answers each request after 100 ms, except requests to /never. */
const SERVER = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:http').createServer((request, response) => {
    if (request.url !== '/never') setTimeout(() => response.end('{"new":true}'), 100);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

const DEADLINE_MS = 320;

async function asked(path: string, meanwhile: () => void): Promise<unknown> {
  const worker = new Worker(SERVER, { eval: true });
  try {
    const [port] = (await once(worker, 'message')) as [number];
    const carrier = new UndiciCarrier(`http://127.0.0.1:${port}`, { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 });
    const answer = call(carrier, { method: 'POST', path, headers: {}, body: '{}' }, { bytes: 1_000, ms: DEADLINE_MS });
    answer.catch(() => undefined);
    // The request is sent first.
    await new Promise((resolve) => setTimeout(resolve, 50));
    // After this wait timers run before sockets are read, as after SIGCONT.
    await new Promise<void>((resolve) => setImmediate(() => resolve(meanwhile())));
    return (await answer.finally(() => carrier.destroy())).body;
  } finally {
    await worker.terminate();
  }
}

/** Pauses the process like SIGSTOP and SIGCONT. */
const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * DEADLINE_MS);

test('[Q34] an answer that came while the process was paused past its deadline is accepted', async () => {
  assert.deepEqual(await asked('/', pause), { new: true });
});

test('an answer that does not come is given up at the deadline', async () => {
  await assert.rejects(
    asked('/never', () => undefined),
    { name: 'TimeoutError' },
  );
});
