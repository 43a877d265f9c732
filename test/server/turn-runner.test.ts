// If writing an answer throws, the client's connection is closed.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { BodyMemory } from '../../proxy/base/bytes/body-memory.ts';
import { UploadMeter } from '../../proxy/base/bytes/upload-meter.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { HttpClient } from '../../proxy/clients/http/http-client.ts';
import type { DispatchServices } from '../../proxy/dispatch/dispatch-services.ts';
import { type RunnerServices, TurnRunner } from '../../proxy/server/turn-runner.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { liveTurnOf } from '../support/turns/live-turn.ts';
import { PATIENCE_MS } from '../support/until.ts';

test('a client whose answer cannot be written loses its connection, and does not wait for the rest', async (context) => {
  const { turn, faults } = liveTurnOf();
  const services = { accounting: { settle: () => 0 }, turnMetrics: { record() {} }, log: { debugs: false } };
  const runner = new TurnRunner(services as unknown as RunnerServices, { dispatch: {} as DispatchServices, answers: {} });
  const server = createServer((request, response) => {
    response.writeHead = () => {
      throw new Error('a bad head');
    };
    const client = new HttpClient(turn, {
      request,
      response,
      guard: new BodyMemory(),
      uploads: new UploadMeter(),
      counters: new Counters(),
    });
    runner.refuse(turn, client, new Refusal('server_error'));
  }).listen(0, '127.0.0.1');
  context.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  await assert.rejects(
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { signal: AbortSignal.timeout(PATIENCE_MS) }),
    TypeError,
  );
  assert.equal(faults.length, 1);
});
