// Pipelined turns that end while the answer before them is still being written.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, afterEach, test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { headOf, postOf, RawClient } from '../../support/network/raw.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { control, supported } from '../../support/stages/control.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';

/** The time for which the rest of a refused body is read. */
const DRAIN_MS = 1_000;

const gate = await startGateway({ upstream: { accounts: ['north'] } });
after(() => gate.close());
afterEach(() => gate.upstream.clear());

/** The newest rows after `since`, as soon as there are this many. */
const rowsSince = (since: number, count: number) =>
  until(`${count} rows`, async () => {
    const rows = (await gate.rows()).slice(since);
    return rows.length >= count ? rows : undefined;
  });

const isIdle = () =>
  until('no turn runs', () => {
    const { running, waiting } = gate.admission('stream');
    return (running === 0 && waiting === 0 && gate.account('north').inFlight === 0) || undefined;
  });

/** Starts a stream that begins and waits, then on the same connection a turn with this script. */
async function behindSlow(client: RawClient, script: string): Promise<void> {
  gate.upstream.next('north', 'stall after 4 events', script);
  client.write(postOf(NATIVE, turnBody('one')));
  await gate.upstream.stalled('north');
  client.write(postOf(NATIVE, turnBody('two')));
  await gate.upstream.arrived(2);
}

for (const script of ['cut after 4 events', 'reset after 4 events']) {
  test(`the stream of a pipelined turn that breaks off (${script}) reaches its client in its turn, and the connection ends`, async () => {
    using client = await RawClient.connect(gate.url);
    await behindSlow(client, script);
    await until('the end of the second turn', () => gate.account('north').inFlight === 1 || undefined);
    gate.upstream.release();
    assert.match((await client.answer()).body, /response\.completed/);
    const { status, chunks } = await client.answer();
    assert.equal(status, 200);
    assert.ok(chunks.length > 0, 'what was written of it arrives');
    assert.equal(await client.ended(), '');
    await isIdle();
  });
}

test('a pipelined answer that passes unread and breaks off ends the connection in its turn', async () => {
  const replies: ServerResponse[] = [];
  const raw = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).write('{');
    replies.push(response);
  };
  await using bench = await control({ raw }, supported);
  using client = await RawClient.connect(bench.gate.url);
  const path = '/backend-api/agent/thread/goal/get';
  client.write(headOf('GET', path) + headOf('GET', path));
  const [first, second] = await until('two requests', () => (replies.length === 2 ? replies : undefined));
  await until('two replies under way', () => bench.gate.accounts().some(({ inFlight }) => inFlight === 2) || undefined);
  second?.destroy();
  await until('the end of the second', () => bench.gate.accounts().some(({ inFlight }) => inFlight === 1) || undefined);
  first?.end('}');
  assert.equal((await client.answer()).body, '{}');
  await client.ended();
});

test('a turn behind a pipelined one that broke off is aborted with the connection', async () => {
  using client = await RawClient.connect(gate.url);
  await behindSlow(client, 'cut after 4 events');
  gate.upstream.next('north', 'stall after 4 events');
  client.write(postOf(NATIVE, turnBody('three')));
  await gate.upstream.arrived(3);
  await until('the end of the second turn', () => gate.account('north').inFlight === 2 || undefined);
  gate.upstream.release();
  await client.answer();
  await client.answer();
  assert.equal(await client.ended(), '');
  await isIdle();
});

for (const script of ['stall before headers', 'stall after 1 events', 'stall after 4 events']) {
  test(`a pipelined turn (${script}) ends with the client that leaves during the answer before it`, async () => {
    const since = (await gate.rows()).length;
    using client = await RawClient.connect(gate.url);
    await behindSlow(client, script);
    await gate.upstream.stalled('north', 2);
    client.close();
    const turns = await gate.upstream.arrived(2);
    assert.deepEqual(await Promise.all(turns.map(({ closed }) => closed)), ['left', 'left']);
    const rows = await rowsSince(since, 2);
    assert.deepEqual(
      rows.map(({ status, outcome }) => [status, outcome]),
      [
        [499, 'client_gone'],
        [499, 'client_gone'],
      ],
    );
    await isIdle();
  });
}

test('a pipelined request that is refused during its upload does not end the answer before it', async (context) => {
  const { setTimeout } = globalThis;
  const drains: (() => void)[] = [];
  context.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => {
    if (ms === DRAIN_MS) drains.push(run);
    return setTimeout(run, ms);
  });
  using client = await RawClient.connect(gate.url);
  gate.upstream.next('north', 'stall after 4 events');
  client.write(postOf(NATIVE, turnBody('one')));
  await gate.upstream.stalled('north');
  client.write(`${headOf('POST', '/nowhere', { 'content-type': 'application/json', 'content-length': 1000 })}{`);
  const timeIsUp = await until('the rest of the refused body to be read', () => drains[0]);
  timeIsUp();
  gate.upstream.release();
  const first = await client.answer();
  assert.match(first.body, /response\.completed/);
  assert.equal((await client.answer()).status, 404);
  assert.equal(await client.ended(), '');
});

test('a pipelined turn that breaks off during a drain does not hold the drain', async () => {
  await using other = await startGateway({ upstream: { accounts: ['north'] }, config: (draft) => (draft.timeouts.drain_ms = 60_000) });
  other.upstream.next('north', 'stall after 4 events', 'cut after 4 events');
  using client = await RawClient.connect(other.url);
  client.write(postOf(NATIVE, turnBody('one')));
  await other.upstream.stalled('north');
  client.write(postOf(NATIVE, turnBody('two')));
  await other.upstream.arrived(2);
  const stopped = other.stop();
  other.upstream.release();
  await client.answer();
  assert.equal((await client.answer()).status, 200);
  assert.equal(await client.ended(), '');
  await stopped;
});

for (const head of ['G', 'GET /v1/models HTTP/1.1\r\nhost: gateway\r\n']) {
  test(`the head of a pipelined request that does not arrive in time (${head.length} bytes) does not cut the answer before it`, async () => {
    await using own = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.timeouts.client_header_ms = 1_000;
      },
    });
    own.upstream.next('north', 'stall after 4 events');
    using client = await RawClient.connect(own.url);
    client.write(postOf(NATIVE, turnBody('one')));
    await own.upstream.stalled('north');
    client.write(head);
    await until('the timeout', () => own.count('header_timeouts') === 1 || undefined);
    client.write(`\r\n\r\n${headOf('GET', '/v1/models')}`);
    own.upstream.release();
    assert.match((await client.answer()).body, /response\.completed/);
    const late = await client.answer();
    assert.deepEqual([late.status, late.headers.connection, late.json.error.code], [408, 'close', 'request_timeout']);
    assert.equal(await client.ended(), '', 'what came after it is not read as a request');
  });
}
