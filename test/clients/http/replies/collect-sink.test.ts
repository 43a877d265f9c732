// The sink of a client that did not request a stream: one JSON answer made of the terminal event, or one refusal (Q15).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CollectSink } from '../../../../proxy/clients/http/replies/collect-sink.ts';
import { EventReply } from '../../../../proxy/dispatch/reply/events/event-reply.ts';
import { Refusal } from '../../../../proxy/turn/errors/refusal.ts';
import type { Event } from '../../../../proxy/turn/turn.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { type LiveTurnOptions, liveTurnOf, requestedTurn } from '../../../support/turns/live-turn.ts';
import { COMPLETED, CREATED, delta, RecordingClient, RecordingContext, sse, Wire } from '../../../support/turns/replies.ts';

const failure = new Refusal('upstream_error', { message: 'of the failure' });

const terminal = (type: string, response?: unknown): Event => ({
  type,
  data: { type, ...(response === undefined ? {} : { response }) } as Event['data'],
});

/** Opens a sink. */
function opened(): { readonly sink: CollectSink; readonly client: RecordingClient } {
  const client = new RecordingClient({ streams: false });
  const sink = new CollectSink(liveTurnOf({ kind: 'public-responses', rules: [] }).turn, client, undefined);
  sink.open(200, { 'x-request-id': 'req_1', 'content-type': 'text/event-stream' });
  return { sink, client };
}

describe('a collected answer', () => {
  for (const [type, kind] of [
    ['response.completed', 'completed'],
    ['response.incomplete', 'incomplete'],
  ] as const) {
    test(`is the response of ${type}, as JSON and under the head of the reply`, () => {
      const { sink, client } = opened();
      sink.event(terminal(type, { id: 'resp_1', output: [] }));
      sink.conclude({ kind, shown: false }, () => failure);
      assert.deepEqual(client.answers, [], 'nothing leaves before the turn has ended');
      sink.close([], { kind, shown: false });
      assert.deepEqual(client.answers, [
        { status: 200, headers: { 'x-request-id': 'req_1', 'content-type': 'application/json' }, body: '{"id":"resp_1","output":[]}' },
      ]);
    });
  }

  test('is the first terminal event, and no other event', () => {
    const { sink, client } = opened();
    sink.event(terminal('response.output_item.done', { id: 'no' }));
    sink.event(terminal('response.completed', { id: 'first' }));
    sink.event(terminal('response.completed', { id: 'second' }));
    sink.conclude({ kind: 'completed', shown: false }, () => failure);
    sink.close([], { kind: 'completed', shown: false });
    assert.equal(client.answers[0]?.body, '{"id":"first"}');
  });

  test('is not shown before its end: another account may still be asked', () => {
    const { sink } = opened();
    sink.event(terminal('response.completed', {}));
    assert.equal(sink.shown, false);
    assert.equal(sink.flush(), true);
  });
});

describe('a reply that gives no answer', () => {
  const CASES: readonly (readonly [what: string, event: Event | undefined, kind: 'completed' | 'failed' | 'cut', message: RegExp])[] = [
    ['without a terminal event', undefined, 'completed', /provider failed/],
    ['that broke off', undefined, 'cut', /provider failed/],
    ['that broke off after its terminal event', terminal('response.completed', {}), 'cut', /provider failed/],
    ['that failed', terminal('response.failed', {}), 'failed', /of the failure/],
    ['with a terminal event that has no response', terminal('response.completed'), 'completed', /provider failed/],
    ['with a response that is no object', terminal('response.completed', [1]), 'completed', /provider failed/],
  ];
  for (const [what, event, kind, message] of CASES) {
    test(`${what} is refused`, () => {
      const { sink, client } = opened();
      if (event) sink.event(event);
      assert.throws(
        () => sink.conclude({ kind, shown: false }, () => failure),
        (thrown) => thrown instanceof Refusal && thrown.status === 502 && message.test(thrown.message),
      );
      assert.deepEqual(client.answers, []);
    });
  }
});

describe('after an event reply with the rules of the product', () => {
  /** The answer or the refusal of a public turn for which the account sent this text. */
  async function collected(text: string, options: LiveTurnOptions = {}): Promise<unknown> {
    const { turn } = await requestedTurn(turnBody('hi', { stream: false }), { kind: 'public-responses', ...options });
    const client = new RecordingClient({ streams: false });
    const context = new RecordingContext(turn, { keepsBack: () => false });
    const reply = new EventReply({ status: 200, headers: {} }, new CollectSink(turn, client, undefined), context);
    await new Wire(reply).read(text);
    reply.end();
    if (context.verdict?.kind !== 'done') return context.ended;
    context.close();
    return JSON.parse(String(client.answers[0]?.body));
  }

  test('the answer has the exposed model and the output of its items', async () => {
    const item = { type: 'message', id: 'msg_1' };
    const text =
      CREATED +
      delta(1) +
      sse('response.output_item.done', { output_index: 0, item }) +
      sse('response.completed', { response: { id: 'resp_1', model: 'theirs', output: [] } });
    assert.deepEqual(await collected(text), { id: 'resp_1', model: 'model-a', output: [item] });
  });

  test('a failure is one refusal, by the provider’s code', async () => {
    const failed = (code: string): string => sse('response.failed', { response: { error: { code, message: 'No.' } } });
    assert.equal(await collected(CREATED + delta(1) + failed('server_error')), 'refused 502 upstream_error failed');
    assert.equal(await collected(CREATED + delta(1) + failed('invalid_prompt')), 'refused 400 invalid_prompt failed');
    assert.equal(await collected(CREATED + delta(1) + failed('usage_limit_reached')), 'refused 429 usage_limit_reached failed');
  });

  test('a reply without its end is one refusal, and its row says that it broke off', async () => {
    assert.equal(await collected(CREATED + delta(1)), 'refused 502 upstream_error cut');
  });

  test('events after the terminal one change nothing', async () => {
    assert.deepEqual(await collected(CREATED + COMPLETED + delta(3)), { id: 'resp_1', status: 'completed', output: [1], model: 'model-a' });
  });
});
