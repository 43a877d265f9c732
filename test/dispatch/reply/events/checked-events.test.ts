// A reply of events that is checked as a whole: its kept bytes, its end, and its failures (F3.7, Q27).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CheckedEvents } from '../../../../proxy/dispatch/reply/events/checked-events.ts';
import { EventReply } from '../../../../proxy/dispatch/reply/events/event-reply.ts';
import { WholeReply } from '../../../../proxy/dispatch/reply/whole-reply.ts';
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../../support/clocks/manual-clock.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { type Faults, type LiveTurnOptions, liveTurnOf, requestedTurn } from '../../../support/turns/live-turn.ts';
import { type ContextOptions, RecordingClient, RecordingContext, RecordingSink, sse, Wire } from '../../../support/turns/replies.ts';

const SEALED: JsonObject = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' };
const CREATED = sse('response.created', { response: { id: 'resp_1', output: [] } });
const DONE = sse('response.output_item.done', { output_index: 0, item: SEALED });
const completed = (response: JsonObject = {}): string =>
  sse('response.completed', { response: { id: 'resp_1', object: 'response', status: 'completed', output: [SEALED], ...response } });

interface Scene {
  readonly reply: EventReply;
  readonly wire: Wire;
  readonly client: RecordingClient;
  readonly sink: RecordingSink;
  readonly context: RecordingContext;
  readonly clock: ManualClock;
  readonly faults: Faults;
}

async function scene({
  streams = false,
  ...options
}: LiveTurnOptions & ContextOptions & { readonly streams?: boolean } = {}): Promise<Scene> {
  const clock = new ManualClock();
  const { kind = 'compact' } = options;
  const { rules } = liveTurnOf().turn.generation.chains.of(kind);
  const { turn, faults } = await requestedTurn(turnBody('hi', kind === 'public-compact' ? { input: TRIGGERED } : {}), {
    rules,
    clock,
    ...options,
    kind,
  });
  const sink = new RecordingSink();
  const client = new RecordingClient({ streams, sink });
  const context = new RecordingContext(turn, options.observer ? { observer: options.observer } : {});
  const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };
  const checked = new CheckedEvents({ head, client, context });
  const reply = new EventReply(head, client.sink(), context, { checked });
  return { reply, wire: new Wire(reply), client, sink, context, clock, faults };
}

const TRIGGERED = [{ role: 'user', content: 'hi' }, { type: 'compaction_trigger' }];

describe('a reply of events', () => {
  test('is one JSON answer of the compact path, once it has ended', async () => {
    const { wire, client, context } = await scene();
    await wire.read(CREATED + DONE);
    assert.deepEqual([context.verdict, context.commits], [undefined, 0]);
    await wire.read(completed());
    assert.equal(context.verdict, undefined, 'the end of the connection is waited for');
    await wire.end();
    assert.deepEqual([context.ended, context.commits, client.answers], ['done completed 200 null', 1, []]);
    context.close();
    const [answer] = client.answers;
    assert.deepEqual([answer?.status, answer?.headers], [200, { 'content-type': 'application/json' }]);
    assert.deepEqual(JSON.parse(String(answer?.body)), { id: 'resp_1', object: 'response.compaction', output: [SEALED] });
  });

  test('is two events to a public client that asked for a stream, when its turn has ended', async () => {
    const { wire, sink, context } = await scene({ kind: 'public-compact', streams: true });
    await wire.read(CREATED + DONE + completed());
    await wire.end();
    assert.equal(sink.calls.length, 0);
    context.close();
    assert.deepEqual(
      sink.calls.map((call) => call.split(' ').slice(0, 2).join(' ')),
      ['open 200', 'event response.output_item.done', 'event response.completed', 'close completed'],
    );
  });

  test('counts nothing as shown output', async () => {
    const { wire, context } = await scene();
    await wire.read(CREATED + DONE + completed());
    assert.deepEqual(context.counted, []);
  });

  test('is complete with its terminal event, also where the connection dies after it', async () => {
    const { wire, reply, context } = await scene();
    await wire.read(completed());
    reply.fail('network');
    assert.equal(context.ended, 'done completed 200 null');
  });

  test('takes its items in the order of their index where the terminal event has none', async () => {
    const { wire, context, client } = await scene();
    const other = { type: 'reasoning', summary: [] };
    await wire.read(sse('response.output_item.done', { output_index: 1, item: SEALED }));
    await wire.read(sse('response.output_item.done', { output_index: 0, item: other }) + completed({ output: [] }));
    await wire.end();
    context.close();
    assert.deepEqual(JSON.parse(String(client.answers[0]?.body)).output, [SEALED]);
  });

  test('is read by observers as it comes, and once', async () => {
    const seen: string[] = [];
    const observer = {
      events: ['response.output_item.done', '<agent>.rate_limits'],
      event: (_source: unknown, type: string) => void seen.push(type),
      answer: () => void seen.push('answer'),
    };
    const { wire } = await scene({ observer });
    await wire.read(sse('agent.rate_limits', { plan_type: 'plus' }) + DONE + completed());
    await wire.end();
    assert.deepEqual(seen, ['agent.rate_limits', 'response.output_item.done']);
  });
});

describe('[F3.7] it is not a compaction', () => {
  test('if the provider cancelled it; the rest of the connection is not awaited', async () => {
    const { wire, context } = await scene();
    await wire.read(CREATED + DONE + sse('response.cancelled', { response: { id: 'resp_1', status: 'cancelled' } }));
    assert.deepEqual([context.ended, context.account.calls], ['refused 502 invalid_compaction_response undefined', ['abort']]);
  });

  for (const [what, text] of [
    ['without a terminal event', CREATED + DONE],
    ['without anything', ''],
    ['with a terminal event that is no JSON', 'event: response.completed\ndata: {"type":"response.completed",\n\n'],
    ['with a terminal event without its response', sse('response.completed')],
    ['where it was cut short', sse('response.incomplete', { response: { id: 'resp_1', status: 'incomplete', output: [SEALED] } })],
    ['where the item has no content', completed({ output: [{ type: 'compaction' }] })],
  ] as const) {
    test(what, async () => {
      const { wire, context } = await scene();
      await wire.read(text);
      await wire.end();
      assert.deepEqual([context.ended, context.commits], ['refused 502 invalid_compaction_response undefined', 0]);
      assert.equal(context.verdict?.kind === 'refused' && context.verdict.errorClass, 'upstream_malformed');
    });
  }

  test('as one body that is not a JSON object', async () => {
    for (const text of ['', 'busy', '[]', 'null', '"x"']) {
      const { client, context } = await scene();
      const reply = new WholeReply({}, { status: 200, headers: {} }, client, context);
      reply.data(Buffer.from(text));
      reply.end();
      assert.deepEqual([context.ended, context.commits], ['refused 502 invalid_compaction_response undefined', 0]);
    }
  });
});

describe('it fails', () => {
  for (const [failure, ended] of [
    ['network', 'failed network null'],
    ['idle', 'failed network null'],
    ['too_large', 'failed malformed null'],
  ] as const) {
    test(`where its connection does (${failure})`, async () => {
      const { wire, reply, context } = await scene();
      await wire.read(CREATED + DONE);
      reply.fail(failure);
      assert.deepEqual([context.ended, context.commits], [ended, 0]);
      const { upstream_idle_timeouts: idle, upstream_events_too_large: large } = context.counters.values;
      assert.deepEqual([idle, large], [failure === 'idle' ? 1 : 0, failure === 'too_large' ? 1 : 0]);
    });
  }

  for (const [what, event] of [
    ['an error', sse('error', { error: { code: 'server_is_overloaded' } })],
    ['a failed response', sse('response.failed', { response: { error: { code: 'server_is_overloaded' } } })],
  ] as const) {
    test(`with ${what}, and the request to the account ends`, async () => {
      const { wire, context } = await scene();
      await wire.read(CREATED + event + completed());
      assert.deepEqual([context.ended, context.account.calls], ['failed server server_is_overloaded', ['abort']]);
    });
  }

  test('where its kept bytes exceed the limit', async () => {
    // This is enough for the kept bytes, and for the three copies of an event that is parsed.
    const { wire, context } = await scene({ upstreamEventBytes: 5 * DONE.length });
    await wire.read(DONE + DONE);
    assert.equal(context.verdict, undefined);
    await wire.read(DONE + DONE + DONE);
    assert.deepEqual([context.ended, context.account.calls], ['failed malformed null', ['abort']]);
    assert.equal(context.counters.values.upstream_events_too_large, 1);
  });

  test('once: bytes after its end change nothing', async () => {
    const { wire, reply, context, clock } = await scene();
    await wire.read(completed());
    reply.abandon();
    await wire.end();
    reply.fail('network');
    await clock.advance(5_000);
    assert.deepEqual([context.verdicts, context.account.calls], [[], []]);
  });
});
