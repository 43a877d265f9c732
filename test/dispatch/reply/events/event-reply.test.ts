// A reply of events from its first byte to its end: held, committed, relayed through the rules, ended, broken off (F1.8, Q2, Q15, Q17).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EventReply } from '../../../../proxy/dispatch/reply/events/event-reply.ts';
import { Refusal } from '../../../../proxy/turn/errors/refusal.ts';
import type { RouteKind } from '../../../../proxy/turn/routes/kinds.ts';
import { type Rule, rule } from '../../../../proxy/turn/rules/rule.ts';
import type { Event } from '../../../../proxy/turn/turn.ts';
import { NATIVE_TURNS } from '../../../../rules/route-groups.ts';
import { ManualClock } from '../../../support/clocks/manual-clock.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { type Faults, type LiveTurnOptions, liveTurnOf, requestedTurn } from '../../../support/turns/live-turn.ts';
import {
  COMPLETED,
  type ContextOptions,
  CREATED,
  delta,
  RecordingContext,
  RecordingSink,
  type SinkOptions,
  sse,
  Wire,
} from '../../../support/turns/replies.ts';

interface Scene {
  readonly reply: EventReply;
  readonly wire: Wire;
  readonly sink: RecordingSink;
  readonly context: RecordingContext;
  readonly clock: ManualClock;
  readonly faults: Faults;
}

interface SceneOptions extends Omit<LiveTurnOptions, 'clock'>, ContextOptions {
  readonly sink?: SinkOptions;
}

/** Starts a reply; by default it belongs to a native turn without rules. */
async function scene({ sink: sinkOptions, observer, keepsBack, ...options }: SceneOptions = {}): Promise<Scene> {
  const clock = new ManualClock();
  const { turn, faults } = await requestedTurn(turnBody('hi'), { rules: [], ...options, clock });
  const sink = new RecordingSink(sinkOptions);
  const context = new RecordingContext(turn, { ...(observer ? { observer } : {}), ...(keepsBack ? { keepsBack } : {}) });
  const reply = new EventReply({ status: 200, headers: {} }, sink, context);
  return { reply, wire: new Wire(reply), sink, context, clock, faults };
}

/** Starts a reply with all rules of the product. */
const withAllRules = async (kind: RouteKind, options: SceneOptions = {}): Promise<Scene> => {
  const { turn } = liveTurnOf();
  return scene({ kind, rules: turn.generation.chains.of(kind).rules, ...options });
};

const failed = (code: string, message = 'No.'): string =>
  sse('response.failed', { sequence_number: 1, response: { id: 'resp_1', status: 'failed', error: { code, message } } });

const METADATA = sse('agent.response.metadata', { headers: { 'openai-model': 'm' } });

describe('before commit', () => {
  test('lifecycle events, metadata, quota and comments are held, and nothing reaches the client', async () => {
    const { wire, sink, context, reply } = await scene();
    await wire.read(`: a comment\n\n${CREATED}${METADATA}${sse('agent.rate_limits')}${sse('response.in_progress')}data: [DONE]\n\n`);
    assert.deepEqual([sink.calls, reply.shown, context.commits], [[], false, 0]);
  });

  test('a reply that ends has failed, and another account may be tried', async () => {
    const { wire, reply, context, clock, sink } = await scene();
    await wire.read(CREATED);
    reply.end();
    assert.deepEqual([context.ended, sink.calls, clock.pending], ['failed network null', [], 0]);
  });

  for (const [failure, ended, counter] of [
    ['network', 'failed network null', undefined],
    ['idle', 'failed network null', 'upstream_idle_timeouts'],
    ['too_large', 'failed malformed null', 'upstream_events_too_large'],
  ] as const) {
    test(`a reply that breaks off (${failure}) has failed`, async () => {
      const { wire, reply, context, sink } = await scene();
      await wire.read(CREATED);
      reply.fail(failure);
      assert.deepEqual([context.ended, sink.calls], [ended, []]);
      if (counter) assert.equal(context.counters.values[counter], 1);
    });
  }

  test('events that the sink drops are not held', async () => {
    const { wire, sink, clock } = await scene({ sink: { drops: ['response.created'] } });
    await wire.read(CREATED + METADATA);
    await clock.advance(20_000);
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw agent.response.metadata']);
  });
});

describe('commit', () => {
  test('comes with the first event that shows something: the head, what was held, then that event, in one write', async () => {
    const { wire, sink, context, reply } = await scene();
    await wire.read(CREATED + METADATA);
    await wire.read(delta(1) + delta(2));
    assert.deepEqual(sink.calls, [
      'open 200',
      'raw response.created',
      'raw agent.response.metadata',
      'raw response.output_text.delta',
      'raw response.output_text.delta',
      'flush',
    ]);
    assert.deepEqual([reply.shown, context.commits], [true, 1]);
    assert.equal(sink.bytes, CREATED + METADATA + delta(1) + delta(2));
  });

  test('comes after hold_ms, and counts', async () => {
    const { wire, sink, context, clock } = await scene({ timeouts: { hold_ms: 7_000 } });
    await wire.read(CREATED);
    await clock.advance(6_999);
    assert.deepEqual(sink.calls, []);
    await clock.advance(1);
    assert.deepEqual(sink.calls, ['open 200', 'raw response.created', 'flush']);
    assert.deepEqual([context.commits, context.counters.values.hold_expired, clock.pending], [1, 1, 0]);
    await wire.read(sse('response.in_progress'));
    assert.deepEqual(sink.calls.slice(3), ['raw response.in_progress', 'flush']);
  });

  test('does not come after hold_ms where the client waits for one answer: it has seen nothing', async () => {
    const { wire, sink, context, clock } = await scene({ timeouts: { hold_ms: 7_000 }, sink: { shows: false } });
    await wire.read(CREATED);
    await clock.advance(60_000);
    assert.deepEqual([sink.calls, context.commits, clock.pending], [[], 0, 0]);
  });

  test('comes with a head of more than a megabyte', async () => {
    const { wire, sink } = await scene();
    const large = sse('response.created', { response: { instructions: 'x'.repeat(600_000) } });
    await wire.read(large);
    assert.deepEqual(sink.calls, []);
    await wire.read(large);
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw response.created', 'raw response.created']);
    assert.equal(sink.bytes, large + large);
  });

  test('runs the head phase of the rules once, and their first events precede all others', async () => {
    const headers: unknown[] = [];
    const first: Rule = rule({
      name: 'first',
      routes: NATIVE_TURNS,
      head: (head) => {
        headers.push(head.headers);
        return [{ type: 'first.of.all', data: { type: 'first.of.all' } }];
      },
    });
    const { wire, sink } = await scene({ rules: [first] });
    await wire.read(CREATED + delta(1));
    await wire.read(delta(2));
    assert.deepEqual(sink.shownCalls.slice(0, 3), ['open 200', 'event first.of.all {"type":"first.of.all"}', 'raw response.created']);
    assert.equal(headers.length, 1);
  });

  test('happens also for a terminal event without others', async () => {
    const { wire, sink, reply, context } = await scene();
    await wire.read(COMPLETED);
    reply.end();
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw response.completed', 'conclude completed']);
    assert.equal(context.ended, 'done completed 200 null');
  });
});

describe('[Q6] a refusal inside the head', () => {
  for (const [what, event, ended] of [
    ['of quota', failed('usage_limit_reached'), 'failed quota usage_limit_reached'],
    ['of rate', sse('error', { error: { code: 'rate_limit_exceeded' } }), 'failed rate rate_limit_exceeded'],
    ['of the model', failed('model_not_found'), 'failed model model_not_found'],
    ['of the server', failed('server_is_overloaded'), 'failed server server_is_overloaded'],
  ] as const) {
    test(`${what} is tried at another account: nothing was shown, and the request to the account ends`, async () => {
      const { wire, sink, context, clock } = await scene();
      await wire.read(CREATED + event + delta(7));
      assert.deepEqual([context.ended, context.account.calls, sink.calls, clock.pending], [ended, ['abort'], [], 0]);
    });
  }

  test('that no other account may answer is shown as sent on native, after what was held', async () => {
    const { wire, sink, reply, context } = await scene({ keepsBack: () => false });
    const refusal = failed('server_is_overloaded');
    await wire.read(CREATED + refusal);
    reply.end();
    assert.equal(sink.bytes, CREATED + refusal);
    assert.equal(context.ended, 'done failed 200 server_is_overloaded (server)');
  });

  test('[F1.8] [Q17] is one error event on public: the SDK sees no beginning of a reply', async () => {
    const { wire, sink, reply, context } = await withAllRules('public-responses', { keepsBack: () => false });
    await wire.read(CREATED + failed('server_is_overloaded', 'Down for bearer-of-north.'));
    reply.end();
    const shown = { message: 'Down for [redacted].', type: 'server_error', code: 'server_is_overloaded', param: null };
    const { message, code, param } = shown;
    assert.deepEqual(sink.shownCalls, [
      'renumber',
      'open 200',
      `event error ${JSON.stringify({ type: 'error', sequence_number: 0, code, message, param, error: shown })}`,
      'conclude failed',
    ]);
    assert.equal(context.ended, 'done failed 200 server_is_overloaded (server)');
  });

  test('that blames the request is final, its code in the row only where it is known', async () => {
    const { wire, reply, context } = await scene();
    await wire.read(CREATED + sse('error', { error: { code: 'invalid_by_a_word_of_the_prompt', message: 'No.' } }));
    reply.end();
    assert.equal(context.ended, 'done failed 200 upstream_error (request)');
  });

  test('[Q3] is shown without what identifies the owner', async () => {
    const { wire, sink } = await scene({ keepsBack: () => false });
    await wire.read(failed('server_error', 'Down for org-123456 and bearer-of-north.'));
    assert.match(sink.shownCalls[1] ?? '', /^event response\.failed .*"message":"Down for \[redacted\] and \[redacted\]\."/);
  });

  test('without JSON data is passed on as it came', async () => {
    const { wire, sink, reply, context } = await scene();
    const broken = 'event: response.failed\ndata: {"type":"response.failed", half\n\n';
    await wire.read(CREATED + broken);
    reply.end();
    assert.equal(sink.bytes, CREATED + broken);
    assert.equal(context.ended, 'done failed 200 upstream_error');
  });

  test('after commit is the end of the reply, and no other account is tried', async () => {
    const { wire, reply, context, sink } = await scene();
    await wire.read(delta(1));
    await wire.read(failed('usage_limit_reached'));
    reply.end();
    assert.equal(context.ended, 'done failed 200 usage_limit_reached (quota)');
    assert.equal(sink.bytes, delta(1) + failed('usage_limit_reached'));
    assert.deepEqual(context.account.calls, []);
  });
});

describe('[Q15] rules', () => {
  const listening = (event: Rule['event'], ...events: NonNullable<Exclude<Rule['events'], '*'>>): Rule =>
    rule({ name: 'listening', routes: NATIVE_TURNS, events, event: event as NonNullable<Rule['event']> });
  const ADDED = sse('response.output_item.added', { sequence_number: 2, item: { name: 'x' } });

  test('that return the event itself let its bytes pass', async () => {
    const { wire, sink, context } = await scene({ rules: [listening((event) => event, 'response.output_item.added')] });
    await wire.read(ADDED);
    assert.equal(sink.bytes, ADDED);
    assert.equal(context.counters.values.events_parsed, 1);
  });

  test('that return another event have it encoded', async () => {
    const change = (event: Event): Event => ({ ...event, data: { ...event.data, item: { name: 'y' } } });
    const { wire, sink } = await scene({ rules: [listening(change, 'response.output_item.added')] });
    await wire.read(ADDED + delta(3));
    assert.deepEqual(sink.shownCalls, [
      'open 200',
      'event response.output_item.added {"type":"response.output_item.added","sequence_number":2,"item":{"name":"y"}}',
      'raw response.output_text.delta',
    ]);
  });

  test('that drop a numbered event end the account’s numbers', async () => {
    const { wire, sink } = await scene({ rules: [listening(() => null, 'response.output_item.added')] });
    await wire.read(CREATED + ADDED + delta(3));
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw response.created', 'renumber', 'raw response.output_text.delta']);
  });

  test('that drop an event without a number leave the numbers as they are', async () => {
    const { wire, sink } = await withAllRules('public-responses');
    await wire.read(sse('agent.rate_limits', { rate_limits: {} }) + delta(1));
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw response.output_text.delta']);
  });

  test('that split an event end the account’s numbers', async () => {
    const split = (event: Event): readonly Event[] => [event, { ...event, data: { ...event.data, item: 2 } }];
    const { wire, sink } = await scene({ rules: [listening(split, 'response.output_item.added')] });
    await wire.read(ADDED);
    assert.deepEqual(sink.shownCalls, [
      'open 200',
      'renumber',
      'event response.output_item.added {"type":"response.output_item.added","sequence_number":2,"item":{"name":"x"}}',
      'event response.output_item.added {"type":"response.output_item.added","sequence_number":2,"item":2}',
    ]);
  });

  test('do not get data that is not a JSON object: it passes', async () => {
    const { wire, sink } = await scene({ rules: [listening(() => null, 'response.output_item.added')] });
    const broken = 'event: response.output_item.added\ndata: [1]\n\n';
    await wire.read(broken);
    assert.equal(sink.bytes, broken);
  });

  test('of the product give public streams the exposed model, and native ones the account’s bytes', async () => {
    const created = sse('response.created', { sequence_number: 0, response: { id: 'resp_1', model: 'theirs' } });
    const native = await withAllRules('responses');
    const shown = await withAllRules('public-responses');
    for (const { wire } of [native, shown]) await wire.read(created + delta(1));
    assert.equal(native.sink.bytes, created + delta(1));
    assert.deepEqual(shown.sink.shownCalls.slice(1), [
      'event response.created {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"model-a"}}',
      'raw response.output_text.delta',
    ]);
  });

  test('[EV3] of the product hide quota from a Pool that keeps it private', async () => {
    const { wire, sink } = await withAllRules('responses', { pool: { hide_account_quota: true } });
    await wire.read(sse('agent.rate_limits', { rate_limits: {} }) + METADATA + delta(1));
    assert.deepEqual(sink.shownCalls, ['open 200', 'raw agent.response.metadata', 'raw response.output_text.delta']);
  });

  test('that throw before anything was shown end the turn with a fixed 500, and the request to the account ends', async () => {
    const thrown = new TypeError('canary');
    const { wire, sink, context, faults } = await scene({
      rules: [
        listening(() => {
          throw thrown;
        }, 'response.output_item.added'),
      ],
      sink: { shows: false },
    });
    await wire.read(ADDED + delta(1));
    assert.deepEqual([context.ended, context.account.calls, faults], ['refused 500 server_error undefined', ['abort'], [thrown]]);
    assert.ok(!sink.calls.includes('raw response.output_text.delta'));
  });

  test('that throw a Refusal before anything was shown decide the answer', async () => {
    const { wire, context, faults } = await scene({
      rules: [
        listening(() => {
          throw new Refusal('upstream_error');
        }, 'response.output_item.added'),
      ],
      sink: { shows: false },
    });
    await wire.read(ADDED);
    assert.deepEqual([context.ended, context.account.calls, faults], ['refused 502 upstream_error undefined', ['abort'], []]);
  });

  for (const [kind, code, end] of [
    ['responses', 'upstream_error', 'cut'],
    ['public-responses', 'server_error', 'close cut 0'],
  ] as const) {
    test(`that throw after something was shown break the ${kind} reply off`, async () => {
      const throwing = rule({
        name: 'throwing',
        routes: [kind],
        events: ['response.output_item.added'],
        event: () => {
          throw new TypeError('canary');
        },
      });
      const { wire, sink, context, faults } = await scene({ kind, rules: [throwing] });
      await wire.read(delta(1));
      await wire.read(ADDED + delta(3));
      assert.deepEqual([context.ended, context.account.calls, faults.length], [`done cut 200 ${code}`, ['abort'], 1]);
      context.close();
      assert.deepEqual(sink.shownCalls, ['open 200', 'raw response.output_text.delta', 'conclude cut', end]);
    });
  }

  test('that throw at commit by time end the turn with a fixed 500', async () => {
    const { wire, context, clock, faults } = await scene({
      rules: [
        rule({
          name: 'throwing',
          routes: NATIVE_TURNS,
          head: () => {
            throw new TypeError('canary');
          },
        }),
      ],
    });
    await wire.read(CREATED);
    await clock.advance(20_000);
    assert.deepEqual([context.ended, faults.length, context.commits], ['refused 500 server_error undefined', 1, 0]);
  });
});

describe('events that no rule and no sink subscribes to', () => {
  test('are never parsed, and the sink gets the same bytes that were read', async () => {
    const { wire, sink, context } = await scene();
    const chunk = Buffer.from(
      `${CREATED}event: response.output_text.delta\ndata: {"type":"response.output_text.delta", no JSON\n\n${delta(2).repeat(50)}`,
    );
    await wire.read(chunk);
    assert.equal(sink.bytes, chunk.toString());
    assert.ok(sink.views.every((view) => view.buffer === chunk.buffer));
    assert.equal(context.counters.values.events_parsed, 0);
  });

  // This turn has no rules. Otherwise every turn has a rule that reads its terminal event for usage, and the event is parsed once for both.
  test('of a terminal type are parsed, because their texts are sanitised (Q3), and pass as they came where nothing was removed', async () => {
    const { wire, reply, sink, context } = await scene();
    await wire.read(delta(1));
    await wire.read(COMPLETED);
    reply.end();
    assert.deepEqual([context.ended, context.counters.values.events_parsed], ['done completed 200 null', 1]);
    assert.equal(sink.bytes, delta(1) + COMPLETED);
  });

  test('are not parsed for rules where the sink drops them', async () => {
    const { wire, context } = await withAllRules('public-responses', { sink: { drops: ['response.created'] } });
    await wire.read(CREATED + delta(1));
    assert.equal(context.counters.values.events_parsed, 0);
  });
});

describe('observers', () => {
  test('see their events before commit, and no event is parsed twice for a rule that subscribes to it too', async () => {
    const seen: unknown[] = [];
    const observer = {
      events: ['<agent>.rate_limits', 'response.created'],
      event: (_source: unknown, type: string) => void seen.push(type),
    };
    const { wire, context } = await withAllRules('public-responses', { observer });
    await wire.read(CREATED + sse('agent.rate_limits', { rate_limits: {} }));
    assert.deepEqual([seen, context.commits, context.counters.values.events_parsed], [['response.created', 'agent.rate_limits'], 0, 2]);
    await wire.read(delta(1));
    assert.equal(context.counters.values.events_parsed, 2);
  });

  test('that throw do not affect the client', async () => {
    const observer = {
      events: ['response.created'],
      event: () => {
        throw new TypeError('canary');
      },
    };
    const { wire, sink, faults } = await scene({ observer });
    await wire.read(CREATED + delta(1));
    assert.deepEqual([sink.bytes, faults.length], [CREATED + delta(1), 1]);
  });
});

describe('data without a type', () => {
  test('that does not begin with its type is known by its `type` member', async () => {
    const { wire, context } = await scene();
    await wire.read('data: {"response":{"error":{"code":"usage_limit_reached"}},"type":"response.failed"}\n\n');
    assert.equal(context.ended, 'failed quota usage_limit_reached');
  });

  test('that has none anywhere commits and passes', async () => {
    const { wire, sink } = await scene();
    await wire.read('data: {"a":1}\n\ndata: text\n\n');
    assert.equal(sink.bytes, 'data: {"a":1}\n\ndata: text\n\n');
  });
});

describe('the end', () => {
  test('of the connection ends a reply with its terminal event at once', async () => {
    const { wire, reply, sink, context, clock } = await scene();
    await wire.read(CREATED + delta(1) + COMPLETED);
    reply.end();
    assert.deepEqual([context.ended, context.account.calls, clock.pending], ['done completed 200 null', [], 0]);
    context.close();
    assert.deepEqual(sink.calls.slice(-2), ['conclude completed', 'close completed 0']);
  });

  test('is decided by the first terminal event', async () => {
    const { wire, reply, context, sink } = await scene();
    await wire.read(COMPLETED + failed('server_error') + delta(3));
    reply.end();
    assert.equal(sink.shownCalls.filter((call) => call.startsWith('raw')).length, 3);
    assert.match(context.ended ?? '', /^done completed 200 null/);
  });

  for (const [kind, failure, ended, closed] of [
    ['responses', 'network', 'done cut 200 upstream_error (network)', 'cut'],
    ['responses', 'idle', 'done cut 200 upstream_error (network)', 'cut'],
    ['responses', 'too_large', 'done cut 200 upstream_error (malformed)', 'cut'],
    ['public-responses', 'network', 'done cut 200 server_error (network)', 'close cut 1'],
    ['public-responses', 'too_large', 'done cut 200 server_error (malformed)', 'close cut 1'],
  ] as const) {
    test(`[F1.8] [Q17] of a broken ${kind} reply (${failure}): ${closed}`, async () => {
      const { wire, reply, sink, context } = await withAllRules(kind);
      await wire.read(CREATED + delta(1));
      reply.fail(failure);
      assert.equal(context.ended, ended);
      context.close();
      assert.deepEqual(sink.shownCalls.slice(-2), ['conclude cut', closed]);
    });
  }

  test('of a reply that broke off after its terminal event is the announced one, because the reply is complete', async () => {
    const { wire, reply, sink, context } = await scene();
    await wire.read(delta(1) + COMPLETED);
    reply.fail('network');
    assert.equal(context.ended, 'done completed 200 null');
    context.close();
    assert.equal(sink.calls.at(-1), 'close completed 0');
  });

  test('without a terminal event is a reply that broke off, closed in order', async () => {
    const { wire, reply, sink, context } = await scene();
    await wire.read(CREATED + delta(1));
    reply.end();
    assert.equal(context.ended, 'done cut 200 upstream_error (network)');
    context.close();
    assert.equal(sink.calls.at(-1), 'close cut 0');
  });

  test('comes once: nothing after it is read', async () => {
    const { wire, reply, sink, context } = await scene();
    await wire.read(COMPLETED);
    reply.end();
    const before = sink.calls.length;
    await wire.read(delta(2));
    reply.end();
    reply.fail('network');
    assert.deepEqual([context.verdicts.length, sink.calls.length], [1, before]);
  });

  test('of an abandoned reply leaves no timer and does not settle the attempt', async () => {
    const { wire, reply, context, clock } = await scene();
    await wire.read(CREATED);
    reply.abandon();
    await wire.read(delta(1));
    assert.deepEqual([context.verdicts, clock.pending], [[], 0]);
  });

  test('counts the output that was sent to the client, event by event', async () => {
    const { wire, context } = await scene({ sink: { drops: ['response.created'] } });
    await wire.read(CREATED + delta(1) + delta(2) + COMPLETED);
    assert.deepEqual(context.counted, ['response.output_text.delta', 'response.output_text.delta', 'response.completed']);
  });
});

describe('a slow client', () => {
  test('pauses the account, which continues when the client has read', async () => {
    const { wire, sink, context } = await scene();
    sink.ready = false;
    await wire.read(delta(1));
    assert.deepEqual(context.account.calls, ['pause']);
    sink.ready = true;
    sink.resume();
    sink.resume();
    assert.deepEqual(context.account.calls, ['pause', 'resume']);
    await wire.read(delta(2));
    assert.deepEqual(context.account.calls, ['pause', 'resume']);
  });
});

describe('[Q15] a sink that makes its answer at the end', () => {
  const collecting: SinkOptions = {
    shows: false,
    wants: ['error', 'response.failed', 'response.completed', 'response.incomplete'],
    drops: ['response.created'],
  };

  test('gets the terminal event parsed, also where no rule subscribes to it', async () => {
    const { wire, reply, sink, context } = await scene({ sink: collecting });
    await wire.read(CREATED + delta(1) + COMPLETED);
    reply.end();
    assert.ok(sink.calls.some((call) => call.startsWith('event response.completed')));
    assert.deepEqual([context.ended, context.counters.values.events_parsed], ['done completed 200 null', 1]);
  });

  test('gets a failure event as sent, since its client gets an answer of ours', async () => {
    const { wire, reply, sink, context } = await scene({ kind: 'public-responses', sink: collecting, keepsBack: () => false });
    const error = { code: 'server_error', message: 'Down for org-123456.' };
    await wire.read(delta(1) + sse('error', { error }));
    reply.end();
    assert.ok(sink.calls.includes(`event error ${JSON.stringify({ type: 'error', error })}`));
    assert.equal(context.ended, 'refused 502 upstream_error failed');
  });

  test('refuses by the failure where that blames the request', async () => {
    const { wire, reply, context } = await scene({ kind: 'public-responses', sink: collecting });
    await wire.read(failed('invalid_prompt'));
    reply.end();
    assert.equal(context.ended, 'refused 400 invalid_prompt failed');
  });

  test('refuses a reply that broke off, with the outcome of its row', async () => {
    const { wire, reply, context } = await scene({ sink: { ...collecting, refuses: new Refusal('upstream_error') } });
    await wire.read(delta(1));
    reply.fail('network');
    assert.equal(context.ended, 'refused 502 upstream_error cut');
  });

  test('that fails unexpectedly ends the turn with a fixed 500', async () => {
    const sink = new RecordingSink(collecting);
    const { turn, faults } = liveTurnOf({ rules: [] });
    const context = new RecordingContext(turn);
    const reply = new EventReply({ status: 200, headers: {} }, sink, context);
    sink.conclude = () => {
      throw new TypeError('canary');
    };
    await new Wire(reply).read(COMPLETED);
    reply.end();
    assert.deepEqual([context.ended, faults.length], ['refused 500 server_error failed', 1]);
  });
});
