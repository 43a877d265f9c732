// A reply that is one body: an answer, a refusal with a status, or a refusal inside a 200; read within its limit (Q3, Q15).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OBJECT_BYTES } from '../../../proxy/base/bytes/gathered-bytes.ts';
import { WholeReply } from '../../../proxy/dispatch/reply/whole-reply.ts';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import { rule } from '../../../proxy/turn/rules/rule.ts';
import type { Headers } from '../../../proxy/turn/turn.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { type Faults, type LiveTurnOptions, liveTurnOf, requestedTurn } from '../../support/turns/live-turn.ts';
import { type ContextOptions, RecordingClient, RecordingContext } from '../../support/turns/replies.ts';
import { until } from '../../support/until.ts';

interface Scene {
  readonly reply: WholeReply;
  readonly client: RecordingClient;
  readonly context: RecordingContext;
  readonly faults: Faults;
}

interface SceneOptions extends LiveTurnOptions, ContextOptions {
  readonly status?: number;
  readonly headers?: Headers;
  readonly streams?: boolean;
}

/** Starts a reply after its head; by default it is a 200 to a native turn without rules. */
async function scene({ status = 200, headers = {}, streams = true, observer, keepsBack, ...options }: SceneOptions = {}): Promise<Scene> {
  const { turn, faults } = await requestedTurn(turnBody('hi'), { rules: [], ...options });
  const client = new RecordingClient({ streams });
  const context = new RecordingContext(turn, { ...(observer ? { observer } : {}), ...(keepsBack ? { keepsBack } : {}) });
  return { reply: new WholeReply(headers, { status, headers: { 'x-own': 'yes' } }, client, context), client, context, faults };
}

const withAllRules = (kind: RouteKind, options: SceneOptions = {}): Promise<Scene> =>
  scene({ kind, rules: liveTurnOf().turn.generation.chains.of(kind).rules, ...options });

/** The whole body in one piece, then its end. */
function receive(reply: WholeReply, body: Json | Buffer): void {
  reply.data(Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));
  reply.end();
}

const RESPONSE = { id: 'resp_1', status: 'completed', output: [1] };

describe('an answer', () => {
  test('of native turns is sent as it came, once the turn has ended', async () => {
    const { reply, client, context } = await scene();
    const text = '{ "id": "resp_1",\n "status": "completed" }';
    receive(reply, Buffer.from(text));
    assert.deepEqual([context.ended, context.commits, client.answers], ['done completed 200 null', 1, []]);
    context.close();
    assert.deepEqual(client.answers, [{ status: 200, headers: { 'x-own': 'yes' }, body: text }]);
  });

  test('that came in pieces is joined, also where a piece ends inside a character', async () => {
    const { reply, client, context } = await scene();
    const bytes = Buffer.from('{"é":"漢"}');
    for (const byte of bytes) reply.data(Buffer.from([byte]));
    reply.end();
    context.close();
    assert.equal(client.answers[0]?.body, '{"é":"漢"}');
  });

  test('that is not a JSON object is a failure of its account, natively too', async () => {
    for (const body of [Buffer.from([0xff, 0xfe, 0x00, 0x41]), '<html>log in</html>', '[1]', '']) {
      const { reply, client, context } = await scene();
      receive(reply, body);
      assert.deepEqual([context.ended, client.answers], ['failed malformed null', []]);
    }
  });

  test('[Q38] that is large is parsed in parts, and no further if its client leaves', async () => {
    const large = { ...RESPONSE, text: 'x'.repeat(3_000_000), dense: Array.from({ length: 1_000 }, () => ({})) };
    const many = { ...RESPONSE, many: Array.from({ length: 40_000 }, () => 1) };
    for (const body of [large, many]) {
      const { reply, client, context } = await scene();
      receive(reply, body);
      assert.equal(context.ended, undefined, 'at once');
      await until('the end', () => context.ended);
      context.close();
      assert.deepEqual([context.ended, String(client.answers[0]?.body)], ['done completed 200 null', JSON.stringify(body)]);
    }
    const { reply, context } = await scene();
    receive(reply, large);
    reply.abandon();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(context.ended, undefined);
  });

  test('[Q38] that is large and no JSON object is a failure of its account', async () => {
    const { reply, context } = await scene();
    receive(reply, Buffer.from(`{"a":"${'x'.repeat(3_000_000)}",}`));
    await until('the end', () => context.ended);
    assert.equal(context.ended, 'failed malformed null');
  });

  for (const status of [99, 201, 204, 205, 206, 299, 304, 600, 999]) {
    test(`with status ${status} is a failure of its account, natively too`, async () => {
      const { reply, client, context } = await scene({ status });
      receive(reply, RESPONSE);
      assert.deepEqual([context.ended, client.answers], ['failed malformed null', []]);
    });
  }

  test('goes through the rules, and is encoded again only where one has changed it', async () => {
    const { reply, client, context } = await withAllRules('public-responses', { streams: false });
    receive(reply, { ...RESPONSE, model: 'theirs', usage: { input_tokens: 7, output_tokens: 3 } });
    context.close();
    assert.equal(JSON.parse(String(client.answers[0]?.body)).model, 'model-a');
    assert.deepEqual([context.turn.noted.input_tokens, context.turn.noted.output_tokens], [7, 3]);
  });

  test('is shown to observers before rules have changed it', async () => {
    const seen: unknown[] = [];
    const observer = { events: [], answer: (_source: unknown, json: JsonObject) => void seen.push(json) };
    const { reply } = await withAllRules('public-responses', { streams: false, observer });
    receive(reply, { ...RESPONSE, model: 'theirs' });
    assert.deepEqual(seen, [{ ...RESPONSE, model: 'theirs' }]);
  });

  for (const [status, ended] of [
    ['completed', 'done completed 200 null'],
    ['incomplete', 'done incomplete 200 null'],
    ['in_progress', 'done completed 200 null'],
  ] as const) {
    test(`of status ${status}: ${ended}`, async () => {
      const { reply, context } = await scene();
      receive(reply, { ...RESPONSE, status, error: null });
      assert.equal(context.ended, ended);
    });
  }

  test('with `"error": null` is not a failure [Q15]', async () => {
    const { reply, context } = await scene();
    receive(reply, { ...RESPONSE, error: null });
    assert.equal(context.ended, 'done completed 200 null');
  });
});

describe('[Q15] on the compatible surface', () => {
  for (const [what, streams, body] of [
    ['an answer where a stream was asked for', true, RESPONSE],
    ['an answer that is no JSON', false, Buffer.from('busy')],
    ['an answer that is a list', false, [1]],
    ['an answer without a body', false, Buffer.alloc(0)],
  ] as const) {
    test(`${what} is malformed`, async () => {
      const { reply, context } = await scene({ kind: 'public-responses', streams });
      receive(reply, body as Json | Buffer);
      assert.deepEqual([context.ended, context.commits], ['failed malformed null', 0]);
    });
  }
});

describe('[Q3] [Q6] a refusal inside a 200', () => {
  const refusal = { id: 'resp_1', status: 'failed', error: { code: 'server_is_overloaded', message: 'Down for org-123456.' } };

  for (const kind of ['responses', 'public-responses'] satisfies RouteKind[]) {
    test(`of a ${kind} turn is tried at another account`, async () => {
      const { reply, context, client } = await scene({ kind, streams: false });
      receive(reply, refusal);
      assert.deepEqual([context.ended, context.commits, client.answers], ['failed server server_is_overloaded', 0, []]);
    });
  }

  test('that no other account may answer is a native client’s answer, without its owner', async () => {
    const { reply, context, client } = await scene({ keepsBack: () => false });
    receive(reply, refusal);
    assert.deepEqual([context.ended, context.commits], ['done failed 200 server_is_overloaded (server)', 1]);
    context.close();
    assert.deepEqual(JSON.parse(String(client.answers[0]?.body)).error, { code: 'server_is_overloaded', message: 'Down for [redacted].' });
  });

  test('is not an answer on the compatible surface, and no observer sees it as one', async () => {
    const seen: unknown[] = [];
    const observer = { events: [], answer: (_source: unknown, json: JsonObject) => void seen.push(json) };
    const { reply, context } = await scene({ kind: 'public-responses', streams: false, keepsBack: () => false, observer });
    receive(reply, refusal);
    assert.deepEqual([context.ended, seen], ['failed server server_is_overloaded', []]);
  });

  test('is one by its status, without an error', async () => {
    const { reply, context } = await scene();
    receive(reply, { id: 'resp_1', status: 'failed' });
    assert.equal(context.ended, 'failed server null');
  });
});

describe('[Q3] a refusal by status', () => {
  test('is a failure with its body and its headers, whatever the surface', async () => {
    for (const kind of ['responses', 'public-responses', 'forward'] satisfies RouteKind[]) {
      const { reply, context } = await scene({ kind, status: 429, headers: { 'retry-after': '7' } });
      receive(reply, { error: { code: 'rate_limit_exceeded' } });
      assert.equal(context.ended, 'failed rate rate_limit_exceeded');
      const failure = context.verdict?.kind === 'failed' ? context.verdict.failure : undefined;
      assert.deepEqual([failure?.retryAfterMs, failure?.answer?.headers], [7_000, { 'retry-after': '7' }]);
    }
  });

  for (const how of ['network', 'idle'] as const) {
    test(`with a body that breaks off (${how}) is classified only by its status`, async () => {
      const { reply, context } = await scene({ status: 503 });
      reply.data(Buffer.from('{"error":{"co'));
      reply.fail(how);
      assert.equal(context.ended, 'failed server null');
      assert.equal(context.counters.values.upstream_idle_timeouts, how === 'idle' ? 1 : 0);
    });
  }

  test('with a body that does not end in time is classified only by its status, and not read further', async () => {
    const clock = new ManualClock();
    const { reply, context } = await scene({ status: 503, clock });
    reply.data(Buffer.from('{"error":{"co'));
    await clock.advance(context.turn.timeouts.upstream_refusal_ms - 1);
    reply.data(Buffer.from('de'));
    assert.equal(context.ended, undefined);
    await clock.advance(1);
    assert.deepEqual([context.ended, context.account.calls], ['failed server null', ['abort']]);
    assert.equal(context.counters.values.upstream_refusals_cut, 1);
    reply.end();
    assert.equal(context.ended, 'failed server null');
  });

  test('of more than 64 KiB is classified only by its status, and not read further', async () => {
    const { reply, context } = await scene({ status: 400 });
    for (let i = 0; i < 3; i++) reply.data(Buffer.alloc(30_000, ' '));
    reply.data(Buffer.from('{}'));
    reply.end();
    assert.deepEqual([context.ended, context.account.calls], ['failed request null', ['abort']]);
    assert.equal(context.counters.values.upstream_events_too_large, 1);
  });
});

describe('a body', () => {
  test('past limits.upstream_event_bytes is a failure, and the request to the account ends', async () => {
    // A body is held unchanged, and needs memory for its text, its object and the written text.
    const { reply, context } = await scene({ upstreamEventBytes: 4_000 + OBJECT_BYTES });
    reply.data(Buffer.alloc(1_000, ' '));
    assert.equal(context.ended, undefined);
    reply.data(Buffer.from(' '));
    assert.deepEqual([context.ended, context.account.calls], ['failed malformed null', ['abort']]);
    assert.equal(context.counters.values.upstream_events_too_large, 1);
  });

  for (const [failure, idles] of [
    ['network', 0],
    ['idle', 1],
  ] as const) {
    test(`that breaks off (${failure}) is a failure`, async () => {
      const { reply, context } = await scene();
      reply.data(Buffer.from('{"id":'));
      reply.fail(failure);
      assert.deepEqual([context.ended, context.counters.values.upstream_idle_timeouts], ['failed network null', idles]);
    });
  }

  test('of an abandoned reply is not classified', async () => {
    const { reply, context } = await scene();
    reply.data(Buffer.from('{}'));
    reply.abandon();
    reply.end();
    reply.fail('network');
    assert.deepEqual(context.verdicts, []);
  });

  test('is classified once', async () => {
    const { reply, context } = await scene();
    receive(reply, RESPONSE);
    reply.end();
    reply.fail('network');
    assert.equal(context.verdicts.length, 1);
  });
});

describe('a rule that throws', () => {
  for (const [what, thrown, ended, faulted] of [
    ['an error ends the turn with a fixed 500', new TypeError('canary'), 'refused 500 server_error undefined', 1],
    ['a Refusal decides the answer', new Refusal('upstream_error'), 'refused 502 upstream_error undefined', 0],
  ] as const) {
    test(what, async () => {
      const throwing = rule({
        name: 'throwing',
        routes: ['responses'],
        answer: () => {
          throw thrown;
        },
      });
      const { reply, context, faults } = await scene({ rules: [throwing] });
      receive(reply, RESPONSE);
      assert.deepEqual([context.ended, faults.length], [ended, faulted]);
    });
  }
});
