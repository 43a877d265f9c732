// The data flow of a running turn: slow readers, clients that leave, providers that fall silent, and streams with comments.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { modelsWithin } from '../../proxy/rehearsal/model/sample-models.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { postOf, RawClient } from '../support/network/raw.ts';
import { rawHead, startRawUpstream } from '../support/network/raw-upstream.ts';
import { eventsOf } from '../support/network/sse-events.ts';
import { replyBytes, replyEvents, turnBody } from '../support/rehearsal-replies.ts';
import { until } from '../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const PUBLIC_TURN = { model: 'model-a', input: 'hello', stream: true };
const SURFACES = [
  [NATIVE, turnBody('hello')],
  [PUBLIC, PUBLIC_TURN],
] as const;

const only = { accounts: ['north'] };
const created = { type: 'response.created', sequence_number: 0, response: { id: 'r', output: [] } };
const delta = { type: 'response.output_text.delta', sequence_number: 1, delta: 'x' };
const completed = { type: 'response.completed', sequence_number: 2, response: { id: 'r', status: 'completed', output: [] } };

/** Starts an account that streams without end, and never faster than it is read. */
async function endless(): Promise<{ url: string; sent: () => number; stop: () => void; close: () => void }> {
  const event = `data: ${JSON.stringify({ ...delta, delta: 'x'.repeat(65_536) })}\n\n`;
  let sent = 0;
  let stopped = false;
  const pump = (response: ServerResponse): void => {
    while (!stopped) {
      sent += event.length;
      if (response.write(event)) continue;
      response.once('drain', () => pump(response));
      return;
    }
    response.end(`data: ${JSON.stringify(completed)}\n\n`);
  };
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ models: modelsWithin() }));
      return;
    }
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      pump(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    stop: () => {
      stopped = true;
    },
    close: () => void server.close().closeAllConnections(),
  };
}

/** Resolves when the number has not changed for a while, in which sockets were read several times. */
async function still(number: () => number): Promise<number> {
  let last = -1;
  for (let looks = 0; looks < 6; looks++) {
    const now = number();
    if (now !== last) looks = 0;
    last = now;
    await pause(50);
  }
  return last;
}

for (const [path, body] of SURFACES) {
  test(`${path}: a reader that pauses pauses the account, and gets every byte when it continues`, async () => {
    const account = await endless();
    const at = (draft: Draft): void => {
      draft.accounts[0].base_url = account.url;
    };
    await using gate = await startGateway({ upstream: only, config: at });
    using client = await RawClient.connect(gate.url);
    client.write(postOf(path, body));
    await client.until(() => client.pending.includes('delta'), 'the first event');
    client.socket.pause();
    const held = await still(account.sent);
    // This is the size of the kernel buffers of two connections, with a small margin.
    assert.ok(held < 33_554_432, `${held} bytes were taken from the account`);
    account.stop();
    client.socket.resume();
    const answer = await client.answer();
    const deltas = answer.body.split('"delta":"').length - 1;
    assert.equal(deltas, account.sent() / (65_536 + JSON.stringify(delta).length - 1 + 'data: \n\n'.length));
    assert.ok(answer.body.includes('response.completed'));
    account.close();
  });
}

describe('a client that leaves', () => {
  let gate: TestGateway;
  before(async () => {
    gate = await startGateway({ upstream: only });
  });
  after(() => gate.close());
  beforeEach(() => gate.upstream.clear());

  const PHASES: Readonly<Record<string, { readonly script: string; readonly shown: boolean }>> = {
    'before the account has answered': { script: 'stall before headers', shown: false },
    'when only a status has come': { script: 'stall after headers', shown: false },
    'while the head is held': { script: 'stall after 2 events', shown: false },
    'in the middle of a stream': { script: 'stall after 5 events', shown: true },
    'in the middle of an event': { script: 'stall after 4200 bytes', shown: true },
  };
  for (const [when, { script, shown }] of Object.entries(PHASES)) {
    for (const [path, body] of [...SURFACES, [PUBLIC, { ...PUBLIC_TURN, stream: false }] as const]) {
      const kind = 'stream' in body && body.stream === false ? 'collected' : 'streamed';
      test(`${when} ends its turn at the account: ${path}, ${kind}`, async () => {
        const known = (await gate.rows()).length;
        const gone = gate.count('client_gone');
        gate.upstream.next('north', script);
        const leaving = new AbortController();
        const reply = gate.fetch(path, { body, signal: leaving.signal }).catch(() => undefined);
        await gate.upstream.stalled('north');
        if (shown && kind === 'streamed') await reply;
        leaving.abort();
        const [turn] = await gate.upstream.arrived(1);
        assert.equal(await turn?.closed, 'left');
        const row = await until('the row', async () => (await gate.rows())[known]);
        assert.deepEqual([row.status, row.outcome, row.code, row.account, row.retries], [499, 'client_gone', null, 'NORTH', 0]);
        assert.equal(gate.count('client_gone'), gone + 1);
        assert.equal(gate.upstream.turns().length, 1, 'no other account is asked');
      });
    }
  }

  test('while its reader does not read ends its turn too', async () => {
    gate.upstream.next('north', [replyEvents([created, ...Array.from({ length: 500 }, () => ({ ...delta, delta: 'x'.repeat(65_536) }))])]);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(NATIVE, turnBody('hello')));
    const known = (await gate.rows()).length;
    await client.until(() => client.pending.includes('delta'), 'the first event');
    client.socket.pause();
    const [turn] = await gate.upstream.arrived(1);
    client.close();
    assert.equal(await turn?.closed, 'left');
    await until('the row', async () => (await gate.rows())[known]);
  });

  test('after the terminal event leaves a completed turn', async () => {
    gate.upstream.next('north', [replyEvents([created, delta, completed]), { kind: 'stall', at: { events: 3 } }]);
    using client = await RawClient.connect(gate.url);
    const known = (await gate.rows()).length;
    client.write(postOf(NATIVE, turnBody('hello')));
    const { body } = await client.answer();
    assert.ok(body.endsWith('\n\n'));
    client.close();
    const row = await until('the row', async () => (await gate.rows())[known]);
    assert.deepEqual([row.status, row.outcome], [200, 'completed'], 'a provider that does not end its stream is not waited for');
  });
});

describe('a provider that is slow', () => {
  const slow = (timeouts: Readonly<Record<string, number>>) => (draft: Draft) => void Object.assign(draft.timeouts, timeouts);

  test('to answer at all is 504 after its time, and no other account is asked: the work may have run', async () => {
    await using gate = await startGateway({ config: slow({ upstream_first_byte_ms: 100 }) });
    for (const account of ['north', 'south']) gate.upstream.always(account, 'stall before headers');
    for (const [path, body] of SURFACES) {
      gate.upstream.release();
      const turns = gate.upstream.turns().length;
      const { status, json } = await gate.send(path, { body });
      assert.deepEqual([status, json.error.code, json.error.type], [504, 'upstream_timeout', 'server_error']);
      assert.equal(gate.upstream.turns().length, turns + 1);
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.status, row?.code, row?.error_class, row?.retries], [504, 'upstream_timeout', 'upstream_timeout', 0]);
    }
    assert.equal(gate.count('upstream_first_byte_timeouts'), 2);
  });

  test('to accept a connection is abandoned for another account, and is 504 where there is none', async () => {
    // This server accepts connections but never starts TLS.
    const mute = createTcpServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const moved = (draft: Draft): void => {
      draft.accounts[0].base_url = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
    };
    await using gate = await startGateway({ config: slow({ upstream_connect_ms: 1_000 }) });
    await gate.reconfigure(moved);
    const { status } = await gate.send(PUBLIC, { body: { ...PUBLIC_TURN, stream: false } });
    assert.equal(status, 200);
    const [row] = await gate.rows();
    assert.deepEqual([row?.retries, row?.account], [1, 'SOUTH']);
    await using alone = await startGateway({ upstream: only, config: slow({ upstream_connect_ms: 1_000 }) });
    await alone.reconfigure(moved);
    const late = await alone.send(NATIVE, { body: turnBody('hello') });
    assert.deepEqual([late.status, late.json.error.code], [504, 'upstream_timeout']);
    mute.close();
  });

  test('in the middle of a stream is cut after its silence: natively without final chunk, publicly with an error', async () => {
    await using gate = await startGateway({ upstream: only, config: slow({ upstream_idle_ms: 1_000 }) });
    gate.upstream.always('north', [replyEvents([created, delta, completed]), { kind: 'stall', at: { events: 2 } }]);
    const { text } = await gate.send(PUBLIC, { body: PUBLIC_TURN });
    assert.equal(eventsOf(text).at(-1)?.data.error.code, 'server_error');
    await assert.rejects(gate.send(NATIVE, { body: turnBody('hello') }));
    const rows = await gate.rows();
    assert.deepEqual(
      rows.map(({ outcome, error_class }) => [outcome, error_class]),
      [
        ['cut', 'upstream_timeout'],
        ['cut', 'upstream_timeout'],
      ],
    );
    assert.equal(gate.count('upstream_idle_timeouts'), 2);
  });

  test('before anything was shown is abandoned for another account', async () => {
    await using gate = await startGateway({ config: slow({ upstream_idle_ms: 1_000 }) });
    gate.upstream.next('north', 'stall after 2 events');
    const { status, text } = await gate.send(PUBLIC, { body: PUBLIC_TURN });
    assert.equal(status, 200);
    assert.ok(text.endsWith('[DONE]\n\n'));
    assert.equal((await gate.rows())[0]?.retries, 1);
  });

  test('whose head is held too long has its reply committed, and shown as it is', async () => {
    const clock = new ManualClock();
    await using gate = await startGateway({ clock, config: slow({ hold_ms: 20_000 }) });
    gate.upstream.next('north', 'stall after 2 events');
    const timers = clock.pending;
    using client = await RawClient.connect(gate.url);
    client.write(postOf(PUBLIC, PUBLIC_TURN));
    await until('the hold', () => clock.pending > timers || undefined);
    await gate.upstream.stalled('north');
    await clock.advance(19_999);
    assert.equal(client.pending, '');
    await clock.advance(1);
    await client.until(() => client.pending.includes('response.in_progress'), 'the head');
    assert.equal(gate.count('hold_expired'), 1);
    gate.upstream.release();
    assert.ok((await client.answer()).body.endsWith('[DONE]\n\n'));
    assert.equal(gate.upstream.turns().length, 1);
  });

  for (const [path, body] of SURFACES) {
    for (const how of ['ends', 'dies'] as const) {
      test(`and ${how} after a silent 200 has shown its head after hold_ms, and nothing before: ${path}`, async () => {
        const clock = new ManualClock();
        let account: Socket | undefined;
        await using rawUpstream = await startRawUpstream((socket) => {
          account = socket;
          socket.write(rawHead(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }));
        });
        await using gate = await startGateway({ clock, upstream: only, config: rawUpstream.as('north') });
        const timers = clock.pending;
        using client = await RawClient.connect(gate.url);
        client.write(postOf(path, body));
        await until('the hold', () => clock.pending > timers || undefined);
        await clock.advance(19_999);
        assert.equal(client.pending, '');
        await clock.advance(1);
        await client.until(() => client.pending.endsWith('\r\n\r\n'), 'the head');
        assert.equal(gate.count('hold_expired'), 1);
        if (how === 'ends') account?.end('0\r\n\r\n');
        else account?.destroy();
        const answer = await client.answer();
        assert.equal(answer.status, 200);
        assert.deepEqual(
          eventsOf(answer.body).map(({ data }) => data.type),
          path === PUBLIC ? ['error'] : [],
        );
        assert.equal(client.over, path === NATIVE && how === 'dies');
      });
    }
  }

  test('whose held head exceeds the limit has its reply committed', async () => {
    await using gate = await startGateway({ upstream: only });
    const comments = `: ${'x'.repeat(100_000)}\n\n`.repeat(12);
    gate.upstream.next('north', [replyBytes(comments), { kind: 'stall', at: { bytes: comments.length } }]);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(NATIVE, turnBody('hello')));
    await client.until(() => client.pending.length > 1_000_000, 'the comments');
  });
});

describe('a public stream that is idle', () => {
  test('has a comment every 15 s, and none while it is busy or over', async () => {
    const clock = new ManualClock();
    await using gate = await startGateway({ clock, upstream: only });
    gate.upstream.next('north', [
      replyEvents([created, delta, { ...delta, sequence_number: 2 }, { ...completed, sequence_number: 3 }]),
      { kind: 'stall', at: { events: 2 } },
      { kind: 'stall', at: { events: 3 } },
    ]);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(PUBLIC, PUBLIC_TURN));
    const comments = (): number => client.pending.split(': keepalive\n\n').length - 1;
    await client.until(() => client.pending.includes('"sequence_number":1'), 'the first event');
    await clock.advance(14_999);
    assert.equal(comments(), 0);
    await clock.advance(1);
    await client.until(() => comments() === 1, 'a comment');
    await clock.advance(30_000);
    await client.until(() => comments() === 3, 'two more comments');
    await clock.advance(10_000);
    gate.upstream.release();
    await client.until(() => client.pending.includes('"sequence_number":2'), 'the next event');
    // Every write restarts the timeout.
    await clock.advance(14_999);
    assert.equal(comments(), 3);
    await clock.advance(1);
    await client.until(() => comments() === 4, 'a comment');
    gate.upstream.release();
    const { chunks } = await client.answer();
    for (const chunk of chunks) assert.ok(chunk.endsWith('\n\n'), 'between whole events');
    await clock.advance(60_000);
    assert.equal(client.pending, '');
  });

  test('has no comment natively: nothing is added to a native stream', async () => {
    const clock = new ManualClock();
    await using gate = await startGateway({ clock, upstream: only });
    gate.upstream.next('north', [replyEvents([created, delta, completed]), { kind: 'stall', at: { events: 2 } }]);
    using client = await RawClient.connect(gate.url);
    client.write(postOf(NATIVE, turnBody('hello')));
    await client.until(() => client.pending.includes('"sequence_number":1'), 'the first event');
    await clock.advance(120_000);
    gate.upstream.release();
    assert.ok(!(await client.answer()).body.includes(': '.concat('keepalive')));
  });
});
