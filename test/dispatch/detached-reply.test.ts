// A reply that outlives its client: kept while it has none, replayed to the next one, and ended there (Q29). Over real HTTP sockets.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PublicSseSink } from '../../proxy/clients/http/public-sse-sink.ts';
import { type Attempted, attempt } from '../../proxy/dispatch/attempt.ts';
import type { DetachedReply } from '../../proxy/dispatch/client.ts';
import { EventReply } from '../../proxy/dispatch/event-reply.ts';
import { failureOf } from '../../proxy/dispatch/reply-context.ts';
import type { LiveTurn } from '../../proxy/turn/live-turn.ts';
import { rule } from '../../proxy/turn/rule.ts';
import type { ByteReader, EventReader, StreamReader } from '../../proxy/upstream/carrier.ts';
import type { Upstream } from '../../proxy/upstream/upstreams.ts';
import { liveTurnOf } from '../support/live-turn.ts';
import {
  type ClientOptions,
  COMPLETED,
  CREATED,
  delta,
  HandCarrier,
  RecordingClient,
  RecordingContext,
  RecordingSink,
  sse,
  Wire,
} from '../support/replies.ts';
import { type SinkClient, SinkServer } from '../support/sink-server.ts';
import { until } from '../support/until.ts';

const LIMIT = 1_000_000;
const HEAD = { status: 200, headers: { 'x-request-id': 'req_1', 'content-type': 'text/event-stream' } };
const LARGE = sse('response.output_text.delta', { delta: 'x'.repeat(200_000) });

interface Relayed {
  readonly reply: EventReply;
  readonly wire: Wire;
  readonly context: RecordingContext;
  readonly first: SinkClient;
}

/** A reply of which the first client has the beginning. */
async function relayed(server: SinkServer, turn: LiveTurn = liveTurnOf({ rules: [] }).turn): Promise<Relayed> {
  const first = await server.connect();
  const context = new RecordingContext(turn);
  const reply = new EventReply(HEAD, first.sink, context);
  const wire = new Wire(reply);
  await wire.read(CREATED + delta(1));
  await first.client.until(() => first.client.pending.includes('word 1'), 'the beginning');
  return { reply, wire, context, first };
}

/** The same after its client died. */
async function detached(server: SinkServer, { turn, bytes = LIMIT }: { readonly turn?: LiveTurn; readonly bytes?: number } = {}) {
  const made = await relayed(server, turn);
  await made.first.die();
  return { ...made, kept: made.reply.detach(bytes) };
}

describe('a reply after the death of its client', () => {
  test('goes on: the next client gets the head, all events since then in order, the live ones, and the proper end', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    await wire.read(delta(2) + delta(3));
    await wire.read(delta(4));
    const second = await server.connect();
    kept.attach(second.sink);
    await second.client.until(() => second.client.pending.includes('word 4'), 'the kept events');
    await wire.read(delta(5));
    await second.client.until(() => second.client.pending.includes('word 5'), 'a live event');
    await wire.read(COMPLETED);
    reply.end();
    assert.equal(context.ended, 'done completed 200 null');
    context.close();
    const { status, headers, body, chunks } = await second.client.answer();
    assert.deepEqual([status, headers['x-request-id'], headers['content-type']], [200, 'req_1', 'text/event-stream']);
    assert.equal(body, delta(2) + delta(3) + delta(4) + delta(5) + COMPLETED);
    assert.equal(chunks[0], delta(2) + delta(3) + delta(4), 'what was kept leaves in one write');
    assert.equal(second.response.writableFinished, true);
    assert.deepEqual(context.account.calls, [], 'the account noticed nothing');
  });

  test('keeps copies: the bytes that they were read from may be used again', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    const chunk = Buffer.from(delta(2) + delta(3));
    await wire.read(chunk);
    chunk.fill('!');
    const second = await server.connect();
    kept.attach(second.sink);
    await wire.read(COMPLETED);
    reply.end();
    context.close();
    assert.equal((await second.client.answer()).body, delta(2) + delta(3) + COMPLETED);
  });

  test('is attached at once where nothing has come since', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    const second = await server.connect();
    kept.attach(second.sink);
    await wire.read(delta(2) + COMPLETED);
    reply.end();
    context.close();
    assert.equal((await second.client.answer()).body, delta(2) + COMPLETED);
  });

  test('has its events mapped by the rules of its turn, kept and live ones', async () => {
    const marking = rule({
      name: 'marking',
      routes: ['responses'],
      events: ['response.output_item.done'],
      event: (event) => ({ ...event, data: { ...event.data, marked: true } }),
    });
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server, { turn: liveTurnOf({ rules: [marking] }).turn });
    const done = (n: number): string => sse('response.output_item.done', { n });
    await wire.read(done(1) + delta(2));
    const second = await server.connect();
    kept.attach(second.sink);
    await wire.read(done(2) + COMPLETED);
    reply.end();
    context.close();
    const marked = (n: number): string => sse('response.output_item.done', { n, marked: true });
    assert.equal((await second.client.answer()).body, marked(1) + delta(2) + marked(2) + COMPLETED);
  });

  test('is read by a public client too, with its end mark', async () => {
    const { turn } = liveTurnOf({ kind: 'public-responses', rules: [] });
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server, { turn });
    await wire.read(delta(2) + COMPLETED);
    reply.end();
    context.close();
    const second = await server.connect((response) => new PublicSseSink(response, turn));
    kept.attach(second.sink);
    assert.equal((await second.client.answer()).body, `${delta(2)}${COMPLETED}data: [DONE]\n\n`);
  });
});

describe('a reply that ended while it had no client', () => {
  test('replays its end to the next one', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    await wire.read(delta(2) + COMPLETED);
    reply.end();
    assert.equal(context.ended, 'done completed 200 null');
    context.close();
    const second = await server.connect();
    kept.attach(second.sink);
    const { body, status } = await second.client.answer();
    assert.deepEqual([status, body, second.response.writableFinished], [200, delta(2) + COMPLETED, true]);
  });

  test('replays the closing events of the rules with it', async () => {
    const closing = rule({ name: 'closing', routes: ['responses'], end: () => [{ type: 'the.end', data: { type: 'the.end' } }] });
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server, { turn: liveTurnOf({ rules: [closing] }).turn });
    await wire.read(COMPLETED);
    reply.end();
    context.close();
    const second = await server.connect();
    kept.attach(second.sink);
    assert.equal((await second.client.answer()).body, COMPLETED + sse('the.end'));
  });

  test('replays that it broke off: no client takes it for complete', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    await wire.read(delta(2));
    reply.fail('network');
    assert.equal(context.ended, 'done cut 200 upstream_error (network)');
    context.close();
    const second = await server.connect();
    kept.attach(second.sink);
    const rest = await second.client.ended();
    assert.ok(rest.includes('word 2'));
    assert.ok(!rest.endsWith('0\r\n\r\n'), 'without its last chunk');
  });
});

describe('a detached reply of more than its limit', () => {
  test('is cancelled: the account is left, and the turn ends as if its client had left', async () => {
    await using server = await SinkServer.start();
    const { wire, context } = await detached(server, { bytes: 300_000 });
    await wire.read(LARGE);
    assert.deepEqual([context.ended, context.account.calls], [undefined, []]);
    await wire.read(LARGE);
    assert.deepEqual([context.ended, context.account.calls], ['gone after the first byte', ['abort']]);
  });

  test('breaks off for a client that comes back too late: it does not wait for an end that never comes', async () => {
    await using server = await SinkServer.start();
    const { wire, kept } = await detached(server, { bytes: 300_000 });
    await wire.read(LARGE + LARGE + delta(2));
    const second = await server.connect();
    kept.attach(second.sink);
    assert.ok(!(await second.client.ended()).endsWith('0\r\n\r\n'));
  });

  test('counts nothing against the limit once it has a client again', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server, { bytes: 300_000 });
    await wire.read(LARGE);
    const second = await server.connect();
    kept.attach(second.sink);
    for (let i = 0; i < 4; i++) {
      await wire.read(LARGE);
      await until('the client to have read', () => (second.response.writableNeedDrain ? undefined : true));
    }
    await wire.read(COMPLETED);
    reply.end();
    context.close();
    assert.equal((await second.client.answer()).body, LARGE.repeat(5) + COMPLETED);
  });
});

describe('the account of a detached reply', () => {
  /** More than the socket buffers of a client that does not read. */
  const FLOOD = LARGE.repeat(60);

  test('goes on where its dead client had paused it', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, first } = await relayed(server);
    first.client.socket.pause();
    await wire.read(FLOOD);
    assert.equal(context.account.paused, true);
    await first.die();
    reply.detach(LIMIT);
    assert.deepEqual([context.account.paused, context.account.calls], [false, ['pause', 'resume']]);
    await wire.read(delta(2));
    assert.equal(context.account.paused, false, 'a reply without a client is never paused');
  });

  test('is paused by a slow second client, until that has read', async () => {
    await using server = await SinkServer.start();
    const { wire, reply, context, kept } = await detached(server);
    const second = await server.connect();
    second.client.socket.pause();
    kept.attach(second.sink);
    await wire.read(FLOOD);
    assert.equal(context.account.paused, true);
    second.client.socket.resume();
    await until('the account to go on', () => (context.account.paused ? undefined : true));
    await wire.read(COMPLETED);
    reply.end();
    context.close();
    assert.equal((await second.client.answer()).body, FLOOD + COMPLETED);
  });
});

describe('an attempt after its client left', () => {
  interface Trial {
    readonly client: RecordingClient;
    readonly carrier: HandCarrier<EventReader | ByteReader>;
    readonly attempted: Promise<Attempted>;
    /** The head of a reply of events; what reads it. */
    reply(): Wire;
    /** The verdict, if there is one by now. */
    verdict(): Promise<Attempted['verdict'] | undefined>;
  }

  function trial(options: ClientOptions): Trial {
    const { turn } = liveTurnOf({ rules: [] });
    const context = new RecordingContext(turn);
    const client = new RecordingClient(options);
    const carrier = new HandCarrier<EventReader | ByteReader>();
    const upstream = { carrier, streamCarrier: new HandCarrier<StreamReader | ByteReader>() } as unknown as Upstream;
    const { counters, known, observers, countOutput, committed, retryable } = context;
    const attempted = attempt({
      turn,
      client,
      upstream,
      counters,
      known,
      observers,
      countOutput,
      committed,
      retryable,
      request: { method: 'POST', path: '/', headers: {}, body: '{}' },
      upload: undefined,
      ownHeaders: { 'x-request-id': 'req_1' },
      ended: () => undefined,
    });
    return {
      client,
      carrier,
      attempted,
      reply: () => {
        const reader = carrier.handler?.head(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        assert.ok(reader?.reads === 'events');
        return new Wire(reader);
      },
      verdict: () =>
        Promise.race([
          attempted.then(({ verdict }) => verdict),
          new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))),
        ]),
    };
  }

  test('after commit goes on for a client that may come back, and ends at its next connection', async () => {
    await using server = await SinkServer.start();
    const first = await server.connect();
    const replies: DetachedReply[] = [];
    const { client, carrier, attempted, reply, verdict } = trial({ sink: first.sink, detaches: (kept) => replies.push(kept) > 0 });
    const wire = reply();
    await wire.read(CREATED + delta(1));
    await first.die();
    client.leave();
    assert.deepEqual([replies.length, await verdict(), carrier.account.calls], [1, undefined, []]);
    await wire.read(delta(2));
    const second = await server.connect();
    replies[0]?.attach(second.sink);
    await wire.read(COMPLETED);
    await wire.end();
    const ended = (await attempted).verdict;
    assert.ok(ended.kind === 'done');
    assert.deepEqual([ended.ending.outcome.kind, ended.ending.status], ['completed', 200]);
    ended.close([]);
    const { body, headers } = await second.client.answer();
    assert.deepEqual([body, headers['x-request-id']], [delta(2) + COMPLETED, 'req_1']);
  });

  test('after commit ends where the client does not come back', async () => {
    let asked = 0;
    const { client, carrier, attempted, reply } = trial({
      detaches: () => {
        asked += 1;
        return false;
      },
    });
    const wire = reply();
    await wire.read(delta(1));
    client.leave();
    assert.deepEqual([(await attempted).verdict, carrier.account.calls, asked], [{ kind: 'gone', shown: true }, ['abort'], 1]);
  });

  test('after commit ends where the client cannot come back', async () => {
    const { client, carrier, attempted, reply } = trial({});
    const wire = reply();
    await wire.read(delta(1));
    client.leave();
    assert.deepEqual([(await attempted).verdict, carrier.account.calls], [{ kind: 'gone', shown: true }, ['abort']]);
  });

  for (const [when, head, events] of [
    ['before the head', false, ''],
    ['while the head is held', true, CREATED],
  ] as const) {
    test(`${when} ends the attempt, and the client is not asked to come back`, async () => {
      const { client, carrier, attempted, reply } = trial({ detaches: () => assert.fail('nothing was committed') });
      if (head) await reply().read(events);
      client.leave();
      assert.deepEqual([(await attempted).verdict, carrier.account.calls], [{ kind: 'gone', shown: false }, ['abort']]);
    });
  }

  test('ends where four megabytes were kept for a client that did not come back', async () => {
    const { client, carrier, attempted, reply, verdict } = trial({ sink: new RecordingSink(), detaches: () => true });
    const wire = reply();
    await wire.read(delta(1));
    client.leave();
    const megabyte = sse('response.output_text.delta', { delta: 'x'.repeat(1_048_000) });
    for (let i = 0; i < 4; i++) await wire.read(megabyte);
    assert.deepEqual([await verdict(), carrier.account.calls], [undefined, []]);
    await wire.read(megabyte);
    assert.deepEqual([await verdict(), carrier.account.calls], [{ kind: 'gone', shown: true }, ['abort']]);
    assert.equal(failureOf((await attempted).verdict), undefined);
  });
});
