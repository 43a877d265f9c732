// Streams as clients get them (A3, D2, F1.8, EV2, EV3), and the requests that reached the account.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { turnOn } from '../../support/turns/turn-paths.ts';

const NATIVE = ['/backend-api/agent/responses', '/backend-api/agent/v1/responses'];
const PUBLIC = '/v1/responses';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'], manners: { streamedUnstoredLists: false, knownMembers: false } },
    config: (draft) => {
      for (const account of draft.accounts) account.models = { 'model-a': 'model-b' };
    },
  });
});
after(() => gate.close());
beforeEach(() => gate.upstream.clear());

const TURN = { model: 'model-a', input: 'hello', stream: true };

const typesOf = (text: string): unknown[] => eventsOf(text).map(({ data }) => data.type ?? data);
const numbersOf = (text: string): unknown[] => eventsOf(text).flatMap(({ data }) => data.sequence_number ?? []);

const response = (status: string, more: JsonObject = {}): JsonObject => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, status, model: 'model-b', output: [], error: null },
  ...more,
});
const created = (n: number): JsonObject => ({ type: 'response.created', sequence_number: n, response: response('in_progress') });
const running = (n: number): JsonObject => ({ type: 'response.in_progress', sequence_number: n, response: response('in_progress') });
const delta = (n: number, text = 'hi'): JsonObject => ({
  ...{ type: 'response.output_text.delta', sequence_number: n, item_id: 'msg_1', output_index: 0, content_index: 0, delta: text },
});
const completed = (n: number): JsonObject => ({ type: 'response.completed', sequence_number: n, response: response('completed') });
const quota = { type: 'agent.rate_limits', plan_type: 'plus', rate_limits: { primary: { used_percent: 1 } } };
const quotaNumbered = (n: number): JsonObject => ({ ...quota, sequence_number: n });

/** SSE with another line ending. */
const framed = (events: readonly Json[], newline: string): string =>
  events.map((event) => `event: ${(event as JsonObject).type}${newline}data: ${JSON.stringify(event)}${newline}${newline}`).join('');

describe('native turns', () => {
  for (const path of NATIVE) {
    test(`${path} streams the provider's events byte for byte [A3] [EV3]`, async () => {
      const odd =
        ': a comment\n\nid: 7\nretry: 10\nevent: response.created\ndata: {"type":"response.created", "sequence_number": 0}\n\n' +
        'event: response.whatever_comes_next\ndata: {"n": 1.0e3,\ndata: "type": "response.whatever_comes_next", "é": "\\u00e9"}\n\n' +
        'data: {"type":"agent.response.metadata","headers":{"x-models-etag":"W/\\"theirs\\""}}\n\n' +
        'data:{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":4}}}\n\n' +
        'event: agent.rate_limits\ndata: {"type":"agent.rate_limits"}\n\n';
      gate.upstream.next('north', replyBytes(odd));
      const { status, headers, text } = await gate.send(path, { body: turnBody('hello') });
      assert.equal(status, 200);
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.equal(text, odd);
      const [turn] = gate.upstream.turns();
      assert.equal(turn?.path, '/backend-api/agent/responses');
      assert.equal(turn?.headers.accept, '*/*');
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.input_tokens, row?.output_tokens, row?.outcome, row?.endpoint], [3, 4, 'completed', path]);
    });

    test(`${path} answers JSON where the client requests no stream [A3]`, async () => {
      const json = { ...response('completed'), odd: { b: 1, a: [null] }, usage: { input_tokens: 5, output_tokens: 6 } };
      gate.upstream.next('north', replyJson(json));
      const reply = await gate.send(path, { body: turnBody('hello', { stream: false, unknown_member: [1, { a: null }] }) });
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.get('content-type'), 'application/json');
      assert.equal(reply.text, JSON.stringify(json), 'as it came');
      const sent = gate.upstream.turns()[0]?.json as JsonObject;
      assert.equal(sent.stream, false);
      assert.deepEqual(sent.unknown_member, [1, { a: null }]);
    });

    test(`${path} sends a compaction turn like any other [A3]`, async () => {
      const body = turnBody('hello', { input: [...(turnBody('hello').input as Json[]), { type: 'compaction_trigger' }] });
      const { text } = await gate.send(path, { body });
      const items = eventsOf(text).filter(({ data }) => data.type === 'response.output_item.done');
      assert.equal(items.length, 1);
      assert.equal(items[0]?.data.item.type, 'compaction');
      assert.equal(typeof items[0]?.data.item.encrypted_content, 'string');
      assert.equal(typesOf(text).at(-1), 'response.completed');
      const sent = gate.upstream.turns()[0]?.json as JsonObject;
      assert.deepEqual((sent.input as Json[]).at(-1), { type: 'compaction_trigger' });
    });
  }

  for (const newline of ['\r\n', '\r']) {
    test(`keep their framing by ${JSON.stringify(newline)} [EV3]`, async () => {
      const text = framed([created(0), delta(1), completed(2)], newline);
      gate.upstream.next('north', replyBytes(text));
      const reply = await gate.send(NATIVE[0] as string, { body: turnBody('hello') });
      assert.equal(reply.text, text);
    });
  }

  test('that end cleanly without a terminal event pass unchanged [F1.8]', async () => {
    gate.upstream.next('north', replyEvents([created(0), delta(1)]));
    const { status, text } = await gate.send(NATIVE[0] as string, { body: turnBody('hello') });
    assert.equal(status, 200);
    assert.equal(text, framed([created(0), delta(1)], '\n'));
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.status, row?.outcome, row?.code], [200, 'cut', 'upstream_error']);
  });

  test('whose upstream dies after visible output end without their final chunk [F1.8]', async () => {
    gate.upstream.next('north', [replyEvents([created(0), delta(1), delta(2)]), { kind: 'cut', at: { events: 2 }, how: 'reset' }]);
    const reply = await gate.fetch(NATIVE[0] as string, { body: turnBody('hello') });
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    await assert.rejects(async () => {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        text += Buffer.from(value).toString();
      }
    });
    assert.equal(text, framed([created(0), delta(1)], '\n'), 'what had come is delivered');
  });

  test('relay a refusal at the beginning, after the events before it [F1.8] [EV3]', async () => {
    const failed = {
      type: 'response.failed',
      sequence_number: 1,
      response: response('failed', { error: { code: 'bad_request', message: 'no' } }),
    };
    gate.upstream.next('north', replyEvents([created(0), failed]));
    const { status, text } = await gate.send(NATIVE[0] as string, { body: turnBody('hello') });
    assert.equal(status, 200);
    assert.equal(text, framed([created(0), failed], '\n'));
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.outcome, row?.code, row?.retries], ['failed', 'bad_request', 0]);
  });
});

test('streams of every surface ask a proxy before the gateway not to gather their events, and other answers do not [D2] [A3]', async () => {
  for (const path of [...NATIVE, PUBLIC, '/v1/chat/completions']) {
    for (const stream of [true, false]) {
      const { headers } = await gate.send(path, { body: turnOn(path, 'hi', { stream }) });
      assert.equal(headers.get('x-accel-buffering'), stream ? 'no' : null, path);
    }
  }
});

test('[Q15] [Q24] a `stream` that is not a boolean is refused on /v1: its client waits for a stream, and would get one answer', async () => {
  for (const path of [PUBLIC, '/v1/chat/completions']) {
    for (const stream of ['true', 1, {}]) {
      const { status, json } = await gate.send(path, { body: turnOn(path, 'hi', { stream }) });
      assert.deepEqual([status, json.error.code, json.error.param], [400, 'invalid_request', 'stream'], path);
    }
    const { status, headers } = await gate.send(path, { body: turnOn(path, 'hi', { stream: null }) });
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/json']);
  }
  assert.equal(gate.upstream.turns().length, 2);
});

describe('public streams', () => {
  test('are sent as backend turns, and return with the exposed model id and a final [DONE] [D2] [EV2]', async () => {
    const { status, headers, text } = await gate.send(PUBLIC, { body: TURN });
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
    const [turn] = gate.upstream.turns();
    const sent = turn?.json as JsonObject;
    assert.equal(turn?.path, '/backend-api/agent/responses');
    assert.deepEqual([sent.model, sent.stream, sent.store], ['model-b', true, false]);
    assert.equal(turn?.headers.authorization, 'Bearer bearer-of-north');
    assert.equal(typesOf(text).at(-1), '[DONE]');
    assert.equal(typesOf(text).at(-2), 'response.completed');
    assert.equal(text.match(/\[DONE\]/g)?.length, 1);
    for (const { data } of eventsOf(text)) if (data.response) assert.equal(data.response.model, 'model-a');
    const numbers = numbersOf(text);
    assert.deepEqual(numbers, [...numbers.keys()]);
  });

  test('of an incomplete response end with [DONE], those of a failed one without [EV2]', async () => {
    const incomplete = await gate.send(PUBLIC, { body: { ...TURN, input: 'stop short' } });
    assert.deepEqual(typesOf(incomplete.text).slice(-2), ['response.incomplete', '[DONE]']);
    const failed = {
      type: 'response.failed',
      sequence_number: 2,
      response: response('failed', { error: { code: 'server_error', message: 'no' } }),
    };
    gate.upstream.next('north', replyEvents([created(0), delta(1), failed]));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(typesOf(text), ['response.created', 'response.output_text.delta', 'response.failed']);
  });

  test('have one [DONE] where the provider sends one of its own, and none where it sends nothing else [EV2]', async () => {
    gate.upstream.next('north', replyBytes(`${framed([created(0), delta(1), completed(2)], '\n')}data: [DONE]\n\n`));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.equal(text.match(/\[DONE\]/g)?.length, 1);
    assert.ok(text.endsWith('data: [DONE]\n\n'));
    gate.upstream.next('north', replyBytes('data: [DONE]\n\n'));
    const empty = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual([empty.status, empty.json.error.code], [502, 'upstream_error']);
  });

  for (const newline of ['\n', '\r\n', '\r']) {
    test(`framed by ${JSON.stringify(newline)} that break off after visible output end with an error that continues the numbers [F1.8]`, async () => {
      gate.upstream.next('north', replyBytes(framed([created(0), running(1), delta(2), delta(3)], newline)));
      const { status, text } = await gate.send(PUBLIC, { body: TURN });
      assert.equal(status, 200);
      assert.deepEqual(numbersOf(text), [0, 1, 2, 3, 4]);
      const { event, data } = eventsOf(text).at(-1) ?? {};
      assert.equal(event, 'error');
      const error = {
        ...{ message: 'The reply broke off before it was complete.', type: 'server_error', code: 'server_error', param: null },
      };
      assert.deepEqual(data, { type: 'error', sequence_number: 4, code: error.code, message: error.message, param: null, error });
      assert.ok(!text.includes('[DONE]'));
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.status, row?.outcome, row?.code], [200, 'cut', 'server_error']);
    });
  }

  test('that are reset after visible output end with the same error [F1.8]', async () => {
    gate.upstream.next('north', [replyEvents([created(0), delta(1), delta(2)]), { kind: 'cut', at: { events: 2 }, how: 'reset' }]);
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(typesOf(text), ['response.created', 'response.output_text.delta', 'error']);
    assert.deepEqual(numbersOf(text), [0, 1, 2]);
  });

  test('continue their numbers after events that never had one [F1.8]', async () => {
    const events = [created(0), delta(1), { type: 'keepalive' }, { type: 'response.something_new', odd: true }, { type: 'keepalive' }];
    gate.upstream.next('north', replyEvents(events));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(numbersOf(text), [0, 1, 2]);
  });

  test('pass events of any name, even those of Object.prototype members', async () => {
    const named = ['constructor', '__proto__', 'toString', 'hasOwnProperty'].map((type, i) => ({ type, sequence_number: i + 1 }));
    gate.upstream.next('north', replyEvents([created(0), ...named, delta(5), completed(6)]));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(numbersOf(text), [0, 1, 2, 3, 4, 5, 6]);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.outcome, row?.code], ['completed', null]);
  });

  test('give an error after visible output its number where the provider stated none [Q2] [F1.8]', async () => {
    gate.upstream.next('north', replyEvents([created(0), delta(1), { type: 'error', code: 'server_error', message: 'late' }]));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(typesOf(text), ['response.created', 'response.output_text.delta', 'error']);
    assert.deepEqual(numbersOf(text), [0, 1, 2]);
  });

  test('that begin with any number continue from it, and those without any number begin at 0 [F1.8]', async () => {
    gate.upstream.next('north', replyEvents([created(41), delta(42)]));
    assert.deepEqual(numbersOf((await gate.send(PUBLIC, { body: TURN })).text), [41, 42, 43]);
    gate.upstream.next('north', replyEvents([{ type: 'response.output_text.delta', delta: 'a' }]));
    assert.deepEqual(numbersOf((await gate.send(PUBLIC, { body: TURN })).text), [0]);
  });

  test('lose every event of the backend family, with and without numbers, and have no gap in their numbers [F1.8]', async () => {
    const metadata = { type: 'agent.response.metadata', sequence_number: 3, headers: {} };
    const events = [quota, created(0), quotaNumbered(1), running(2), metadata, delta(4), quota, delta(5), quotaNumbered(6), delta(7)];
    gate.upstream.next('north', replyEvents(events));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.ok(!text.includes('agent.'));
    assert.ok(!text.includes('plan_type'));
    assert.deepEqual(numbersOf(text), [0, 1, 2, 3, 4, 5]);
    assert.equal(typesOf(text).at(-1), 'error');
  });

  for (const newline of ['\r\n', '\r']) {
    test(`framed by ${JSON.stringify(newline)} are numbered again without losing an event [F1.8]`, async () => {
      gate.upstream.next('north', replyBytes(framed([created(0), quotaNumbered(1), delta(2, 'é\n'), completed(3)], newline)));
      const { text } = await gate.send(PUBLIC, { body: TURN });
      assert.deepEqual(typesOf(text), ['response.created', 'response.output_text.delta', 'response.completed', '[DONE]']);
      assert.deepEqual(numbersOf(text), [0, 1, 2]);
      assert.equal(eventsOf(text)[1]?.data.delta, 'é\n');
    });
  }

  const REFUSALS: Readonly<Record<string, JsonObject>> = {
    'an error event': { type: 'error', sequence_number: 2, code: 'invalid_prompt', message: 'no', param: 'input' },
    'a nested error event': {
      type: 'error',
      sequence_number: 2,
      error: { type: 'invalid_request_error', code: 'invalid_prompt', message: 'no', param: 'input' },
    },
    'response.failed': {
      ...{ type: 'response.failed', sequence_number: 2 },
      response: response('failed', { error: { code: 'invalid_prompt', message: 'no' } }),
    },
  };
  for (const [what, refusal] of Object.entries(REFUSALS)) {
    test(`that begin with ${what} are one error event, without any event of success before it [F1.8] [Q17]`, async () => {
      for (const before of [[], [created(0), running(1)], [quota, created(0), quotaNumbered(1)]]) {
        gate.upstream.clear();
        gate.upstream.next('north', replyEvents([...before, refusal]));
        const { status, text } = await gate.send(PUBLIC, { body: TURN });
        assert.equal(status, 200);
        const [first, ...rest] = eventsOf(text);
        const shown = { code: 'invalid_prompt', message: 'no', param: refusal.type === 'error' ? 'input' : null };
        const error = { ...shown, type: 'invalid_request_error' };
        assert.equal(first?.event, 'error');
        assert.deepEqual(first?.data, { type: 'error', sequence_number: 0, ...shown, error });
        assert.deepEqual(rest, []);
        assert.equal(gate.upstream.turns().length, 1, 'the request is at fault: no other account is asked');
        const row = (await gate.rows()).at(-1);
        assert.deepEqual([row?.status, row?.outcome, row?.code], [200, 'failed', 'invalid_prompt']);
      }
    });
  }

  test('of a refusal have the error type that a collected answer has [Q17]', async () => {
    for (const code of ['invalid_prompt', 'context_length_exceeded', 'server_error', 'rate_limit_exceeded', 'usage_limit_reached', 'odd']) {
      for (const as of ['failed', 'error']) {
        await using gate = await startGateway({ upstream: { accounts: ['north'] } });
        gate.upstream.always('north', `refuse inside ${code} as ${as}`);
        const { text } = await gate.send(PUBLIC, { body: TURN });
        const [{ data } = { data: undefined }, ...rest] = eventsOf(text);
        gate.heal();
        const collected = await gate.send(PUBLIC, { body: { ...TURN, stream: false } });
        assert.deepEqual([data.type, data.code, data.error.type, rest], ['error', code, collected.json.error.type, []], `${code} as ${as}`);
      }
    }
  });

  test('of a refusal after visible output state its type too, where the provider states none [Q17]', async () => {
    for (const [code, type] of [
      ['invalid_prompt', 'invalid_request_error'],
      ['usage_limit_reached', 'usage_limit_reached'],
      ['server_error', 'server_error'],
    ]) {
      gate.heal();
      gate.upstream.next(
        'north',
        replyEvents([created(0), delta(1), { type: 'error', sequence_number: 2, code: code as string, message: 'no' }]),
      );
      const { text } = await gate.send(PUBLIC, { body: TURN });
      assert.deepEqual(eventsOf(text).at(-1)?.data.error.type, type);
    }
    gate.heal();
  });

  test('of a failure at the beginning are billed for the usage that it states [Q18]', async () => {
    const usage = { input_tokens: 7, output_tokens: 0, total_tokens: 7 };
    const refused = response('failed', { error: { code: 'content_filter', message: 'no' }, usage });
    gate.upstream.next('north', replyEvents([created(0), { type: 'response.failed', sequence_number: 1, response: refused }]));
    const { text } = await gate.send(PUBLIC, { body: TURN });
    assert.deepEqual(typesOf(text), ['error']);
    assert.equal((await gate.rows()).at(-1)?.input_tokens, 7);
  });

  test('are tried at other accounts first, where the account is at fault, and the last refusal is an error event [F1.8]', async () => {
    await using gate = await startGateway();
    for (const account of ['north', 'south']) gate.upstream.always(account, 'refuse inside server_is_overloaded');
    const { status, text } = await gate.send(PUBLIC, { body: TURN });
    assert.equal(status, 200);
    assert.deepEqual(typesOf(text), ['error']);
    assert.deepEqual(numbersOf(text), [0]);
    assert.deepEqual(
      gate.upstream
        .turns()
        .map(({ account }) => account)
        .sort(),
      ['north', 'south'],
    );
  });
});

describe('collected public answers', () => {
  const turn = { model: 'model-a', input: 'hello' };

  test('are one JSON response, although the account streams [D2]', async () => {
    const { status, headers, json } = await gate.send(PUBLIC, { body: turn });
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/json');
    assert.deepEqual([json.object, json.status, json.model], ['response', 'completed', 'model-a']);
    assert.ok(json.output.length > 0);
    const sent = gate.upstream.turns()[0]?.json as JsonObject;
    assert.deepEqual([sent.stream, sent.store], [true, false]);
    const row = (await gate.rows()).at(-1);
    assert.deepEqual([row?.input_tokens, row?.output_tokens], [json.usage.input_tokens, json.usage.output_tokens]);
  });

  test('[Q6] wait past hold_ms: a refusal that comes late, before any output, goes to another account', async () => {
    await using slow = await startGateway({
      config: (draft) => {
        draft.timeouts.hold_ms = 20;
      },
    });
    for (const [path, body] of [
      [PUBLIC, turn],
      ['/v1/chat/completions', { model: 'model-a', messages: [{ role: 'user', content: 'hello' }] }],
    ] as const) {
      slow.heal();
      slow.upstream.next('north', 'refuse inside rate_limit_exceeded + pace 60ms');
      assert.equal((await slow.send(path, { body })).status, 200);
    }
    assert.deepEqual([slow.upstream.turns('south').length, slow.count('hold_expired')], [2, 0]);
  });

  test('of a provider that answers with JSON instead of a stream are that JSON, with the exposed model id [D2]', async () => {
    gate.upstream.next('north', replyJson(response('completed', { usage: { input_tokens: 1, output_tokens: 2 } })));
    const { status, json } = await gate.send(PUBLIC, { body: turn });
    assert.deepEqual([status, json.model, json.id], [200, 'model-a', 'resp_1']);
  });

  const ENDINGS: readonly (readonly [string, Parameters<TestGateway['upstream']['next']>[1], number, string])[] = [
    [
      'whose stream dies',
      [replyEvents([created(0), delta(1), delta(2)]), { kind: 'cut', at: { events: 2 }, how: 'reset' }],
      502,
      'upstream_error',
    ],
    ['whose stream has no terminal event', replyEvents([created(0), delta(1)]), 502, 'upstream_error'],
    ['that blame the request inside a 200', 'refuse inside invalid_prompt after 3 events', 400, 'invalid_prompt'],
    ['that blame the account inside a 200, too late', 'refuse inside server_error after 3 events', 502, 'upstream_error'],
    ['that blame a rate inside a 200, too late', 'refuse inside rate_limit_exceeded after 3 events', 429, 'rate_limit_exceeded'],
    [
      'whose terminal event is no JSON',
      replyBytes(`${framed([delta(1)], '\n')}event: response.completed\ndata: {"type":"resp\n\n`),
      502,
      'upstream_error',
    ],
    ...[{}, { error: 'No.' }, { detail: 'No.', status: 400 }, { object: 'error', message: 'No.' }, { ...response('queued') }].map(
      (body): readonly [string, Parameters<TestGateway['upstream']['next']>[1], number, string] => [
        `whose one body is no response that has ended, ${JSON.stringify(body).slice(0, 40)}`,
        replyJson(body),
        502,
        'upstream_error',
      ],
    ),
    ['whose terminal event has no response', replyEvents([delta(1), { type: 'response.completed' }]), 502, 'upstream_error'],
  ];
  for (const [what, script, status, code] of ENDINGS) {
    test(`${what} are ${status} ${code}`, async () => {
      gate.upstream.next('north', script);
      const reply = await gate.send(PUBLIC, { body: turn });
      assert.deepEqual([reply.status, reply.json.error.code], [status, code]);
      assert.equal(gate.upstream.turns().length, 1, 'what was begun is not tried again');
      const row = (await gate.rows()).at(-1);
      assert.deepEqual([row?.status, row?.code], [status, code]);
      assert.ok(row?.outcome === 'cut' || row?.outcome === 'failed');
    });
  }
});
