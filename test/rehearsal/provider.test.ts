// The upstream of the tests: script queues, recorded requests, waits, and accounts that refuse connections.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { startUpstream } from '../support/rehearsal.ts';
import { ask, get, raw, send } from '../support/rehearsal-client.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

test('each account has its own queue of scripts, and answers as usual when it is empty', async () => {
  await using upstream = await startUpstream();
  upstream.next('north', 'refuse 503', { kind: 'refuse', status: 500 }, [{ kind: 'refuse', status: 502 }]);
  const statuses = async (id: string) => [
    (await ask(upstream.urlOf(id))).status,
    (await ask(upstream.urlOf(id))).status,
    (await ask(upstream.urlOf(id))).status,
    (await ask(upstream.urlOf(id))).status,
  ];
  assert.deepEqual(await statuses('south'), [200, 200, 200, 200]);
  assert.deepEqual(await statuses('north'), [503, 500, 502, 200]);
});

test('a standing script applies once the queue is empty', async () => {
  await using upstream = await startUpstream();
  upstream.always('north', 'refuse 500');
  upstream.next('north', 'refuse 503');
  const north = upstream.urlOf('north');
  assert.deepEqual([(await ask(north)).status, (await ask(north)).status, (await ask(north)).status], [503, 500, 500]);
  upstream.always('north', 'steady');
  assert.equal((await ask(north)).status, 200);
});

test('turns and other paths have separate queues', async () => {
  await using upstream = await startUpstream();
  upstream.next('north', 'refuse 503');
  upstream.nextOn('north', '/backend-api/agent/models', 'refuse 500');
  const north = upstream.urlOf('north');
  assert.equal((await get(north, '/backend-api/agent/models?client_version=0.0.0')).status, 500);
  assert.equal((await get(north, '/backend-api/agent/models?client_version=0.0.0')).status, 200);
  assert.equal((await ask(north)).status, 503);
});

test('every request is recorded with headers, body and account', async () => {
  await using upstream = await startUpstream();
  await get(upstream.urlOf('south'), '/backend-api/agent/models?client_version=0.1.0');
  await ask(upstream.urlOf('north'), turnBody('hello'), { 'X-Mine': 'yes' });
  const [models, turn] = upstream.requests();
  assert.deepEqual(
    [models?.account, models?.method, models?.path, models?.query, models?.turn],
    ['south', 'GET', '/backend-api/agent/models', 'client_version=0.1.0', 0],
  );
  assert.deepEqual([turn?.account, turn?.number, turn?.turn, turn?.headers['x-mine']], ['north', 2, 1, 'yes']);
  assert.deepEqual(turn?.json, turnBody('hello'));
  assert.ok(turn?.rawHeaders.includes('X-Mine'));
  assert.equal(upstream.turns().length, 1);
  assert.equal(await turn?.closed, 'answered');
  assert.deepEqual([turn?.closing, turn?.aborted], ['answered', false]);
});

test('a test can wait for turns to arrive and stall, and see that a client left', async () => {
  await using upstream = await startUpstream();
  upstream.next('north', 'stall after 1 event', 'stall before headers');
  const left = new AbortController();
  const asked = [1, 2].map(() =>
    send(upstream.urlOf('north'), turnBody('hello'), {}, undefined, left.signal).then((response) => response.text()),
  );
  const arrivals = await upstream.arrived(2, 'north');
  await upstream.stalled('north', 2);
  assert.deepEqual(
    arrivals.map(({ closing }) => closing),
    [undefined, undefined],
  );
  left.abort();
  await Promise.allSettled(asked);
  assert.deepEqual(await Promise.all(arrivals.map(({ closed }) => closed)), ['left', 'left']);
  assert.deepEqual(
    arrivals.map(({ aborted }) => aborted),
    [true, true],
  );
});

test('a connection that a fault cut was not left by the client', async () => {
  await using upstream = await startUpstream();
  upstream.next('north', 'cut after 2 events', 'reset before headers');
  await raw(upstream.urlOf('north'));
  await raw(upstream.urlOf('north'));
  assert.deepEqual(await Promise.all(upstream.turns().map(({ closed }) => closed)), ['cut', 'cut']);
});

test('an upload that the client aborted is recorded as incomplete', async () => {
  await using upstream = await startUpstream();
  const { hostname, port } = new URL(upstream.urlOf('north'));
  const socket = connect(Number(port), hostname);
  const head = 'POST /backend-api/agent/responses HTTP/1.1\r\nhost: north\r\ncontent-length: 100\r\n\r\n';
  socket.write(`${head}{"model":`, () => socket.destroy());
  const [turn] = await upstream.arrived(1);
  assert.deepEqual([turn?.isComplete, turn?.body.toString(), turn?.json], [false, '{"model":', undefined]);
  assert.equal(await turn?.closed, 'left');
});

test('a disconnected account refuses connections, and accepts them again at the same address', async () => {
  await using upstream = await startUpstream();
  const north = upstream.urlOf('north');
  upstream.next('north', 'stall after 1 event');
  const open = raw(north);
  await upstream.stalled('north');
  await upstream.hangUp('north');
  await open;
  assert.equal(await upstream.turns()[0]?.closed, 'cut');
  assert.deepEqual(await raw(north), { text: '', how: 'reset' });
  assert.equal((await ask(upstream.urlOf('south'))).status, 200);
  await upstream.pickUp('north');
  assert.equal(upstream.urlOf('north'), north);
  assert.equal((await ask(north)).status, 200);
});

test('clear drops scripts and records', async () => {
  await using upstream = await startUpstream();
  upstream.next('north', 'steady', 'refuse 503');
  await ask(upstream.urlOf('north'));
  upstream.clear();
  assert.equal(upstream.requests().length, 0);
  assert.equal((await ask(upstream.urlOf('north'))).status, 200);
});

test('ids are equal in every run', async () => {
  const first = async (): Promise<string> => {
    await using upstream = await startUpstream({ clock: new ManualClock() });
    return (await ask(upstream.urlOf('north'))).text;
  };
  assert.equal(await first(), await first());
});
