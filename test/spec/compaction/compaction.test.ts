// Compaction over the wire: the native compact routes, the explicit trigger of /v1/responses, and the item in later turns.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import { isList, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { MISPLACED_TRIGGERS, REPLAYS } from '../../rules/compaction/compaction.cases.ts';
import { LITE_REWRITE } from '../../rules/dialect/lite.cases.ts';
import { ALLOW_UP_TO, ALWAYS } from '../../rules/effort/effort.cases.ts';
import { OUTPUT_TOKENS } from '../../rules/effort/output-tokens.cases.ts';
import { AUDIO, REASONING_CONTEXT, UNSUPPORTED_PARAMETERS } from '../../rules/input/input.cases.ts';
import { CUSTOM_TOOLS, REMOTE_MCP, TOOL_TYPES } from '../../rules/tools/tool-shapes.cases.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, KEY, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { user } from '../../support/stages/continuity.ts';
import { fromRules, fromTools, type WireCase } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

const COMPACT = '/backend-api/agent/responses/compact';
const ALIAS = '/backend-api/agent/v1/responses/compact';
const RESPONSES = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const TRIGGER = { type: 'compaction_trigger' };
const SEALED = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA-sealed' };
const MARKER = 'x-internal-agent-responses-lite';

/** A body for the compact path, as native clients write it. */
const compactBody = (more: JsonObject = {}): JsonObject => ({
  model: 'model-a',
  instructions: 'Summarise.',
  input: [user('so much')],
  tools: [],
  parallel_tool_calls: true,
  ...more,
});

/** An explicit compaction of the public surface. */
const explicit = (more: JsonObject = {}): JsonObject => ({ model: 'model-a', input: [user('so much'), TRIGGER], ...more });

/** The ways in which a client requests a compaction, on both surfaces. */
const ASKING: readonly { readonly how: string; readonly path: string; readonly body: JsonObject }[] = [
  { how: 'the compact route', path: COMPACT, body: compactBody() },
  { how: 'its alias', path: ALIAS, body: compactBody() },
  { how: 'an explicit trigger', path: PUBLIC, body: explicit() },
  { how: 'an explicit trigger, streamed', path: PUBLIC, body: explicit({ stream: true }) },
];

/** The ways in which an account compacts. */
const FORMS = ['route', 'trigger'] as const;
type Form = (typeof FORMS)[number];

const clock = new ShiftedClock();
const gates = new Map<Form, TestGateway>();

const gateOf = (form: Form): TestGateway => gates.get(form) ?? assert.fail(form);

before(async () => {
  for (const form of FORMS) {
    const gate = await startGateway({
      clock,
      upstream: {
        models: [modelEntry({ slug: 'model-a' }), modelEntry({ slug: 'model-lite' })],
        manners: { streamedUnstoredLists: false, noCompactPath: false },
      },
      config: (draft) => {
        for (const account of draft.accounts) account.compact = form;
        draft.pools[0].serving_modes = { 'model-lite': 'lite', 'model-a': 'full' };
      },
    });
    gates.set(form, gate);
  }
});
after(() => Promise.all([...gates.values()].map((gate) => gate.close())));
beforeEach(() => {
  // This is longer than the retry budget counts, and longer than any cooldown.
  clock.setAhead(3_600_000);
  for (const gate of gates.values()) {
    gate.reset();
  }
});

/** The only body that reached an account. */
function sentBy(gate: TestGateway): { readonly path: string; readonly body: JsonObject; readonly headers: Record<string, unknown> } {
  const [turn, ...others] = gate.upstream.turns();
  assert.equal(others.length, 0, 'one dispatch');
  assert.ok(turn);
  return { path: turn.path, body: turn.json as JsonObject, headers: turn.headers };
}

/** The compaction item of an answer in any form. */
function itemOf(reply: Reply): JsonObject {
  assert.equal(reply.status, 200, reply.text);
  const response = reply.json ?? eventsOf(reply.text).at(-2)?.data.response;
  assert.equal(response.output.length, 1);
  return response.output[0];
}

/** The answer of an account to a compaction: one body on its compact path, otherwise the events of a turn. */
function compactionOf(form: Form, output: readonly Json[], more: JsonObject = {}) {
  if (form === 'route') return replyJson({ id: 'resp_1', object: 'response.compaction', created_at: 7, output, ...more });
  const response = { id: 'resp_1', object: 'response', created_at: 7, status: 'completed', output, ...more };
  return replyEvents([
    { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', output: [] } },
    ...output.map((item, i) => ({ type: 'response.output_item.done', sequence_number: i + 1, output_index: i, item })),
    { type: 'response.completed', sequence_number: output.length + 1, response },
  ]);
}

const rotating = (draft: Draft): void => {
  draft.pools[0].strategy = 'rotation';
};

for (const form of FORMS) {
  describe(`[Q27] at an account that compacts by ${form}`, () => {
    for (const path of [COMPACT, ALIAS]) {
      test(`[A5] [A7] ${path} answers what the compact route answers`, async () => {
        const gate = gateOf(form);
        const reply = await gate.send(path, { body: compactBody() });
        const { type, encrypted_content, id } = itemOf(reply);
        assert.deepEqual([type, typeof encrypted_content, typeof id], ['compaction', 'string', 'string']);
        assert.equal(reply.json.object, 'response.compaction');
        assert.equal(reply.headers.get('content-type'), 'application/json');
        assert.match(reply.headers.get('x-models-etag') ?? '', /^W\/"[0-9a-f]{64}"$/);
        const row = await gate.row(reply);
        assert.deepEqual(
          [row?.endpoint, row?.status, row?.code, row?.outcome, row?.retries, row?.input_tokens, row?.output_tokens],
          [path, 200, null, 'completed', 0, reply.json.usage.input_tokens, 24],
        );
      });
    }

    test('[F1.4] a compact dispatch gets no reasoning, no include, no cap of output', async () => {
      for (const { path, body } of ASKING) {
        const gate = gateOf(form);
        gate.upstream.clear();
        await gate.send(path, { body });
        const sent = sentBy(gate);
        const turn = form === 'trigger' ? { input: [user('so much'), TRIGGER], stream: true, store: false } : { input: [user('so much')] };
        const { stream: _, ...asked } = body;
        assert.deepEqual(sent.body, { ...asked, ...turn });
        assert.equal(sent.path, form === 'trigger' ? RESPONSES : COMPACT);
      }
    });

    test('[F2.15] Lite rewrites a compaction before its projection, and marks it', async () => {
      for (const { path, body } of ASKING) {
        const gate = gateOf(form);
        gate.upstream.clear();
        const tool = { type: 'function', name: 'f', strict: true, parameters: { type: 'object', properties: {} } };
        const more = { model: 'model-lite', instructions: 'Summarise.', tools: [tool], reasoning: { effort: 'low' } };
        const reply = await gate.send(path, { body: { ...body, ...more }, headers: { [MARKER]: 'false' } });
        assert.equal(reply.status, 200, reply.text);
        const sent = sentBy(gate);
        assert.equal(sent.headers[MARKER], 'true');
        assert.deepEqual(sent.body.input, [
          { type: 'additional_tools', role: 'developer', tools: [tool] },
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Summarise.' }] },
          user('so much'),
          ...(form === 'trigger' ? [TRIGGER] : []),
        ]);
        const { tools, instructions, parallel_tool_calls, reasoning, include } = sent.body;
        assert.deepEqual([tools, instructions, parallel_tool_calls, include], [undefined, undefined, false, undefined]);
        assert.deepEqual(reasoning, { effort: 'low', context: 'all_turns' });
        assert.ok(![...reply.headers.keys()].some((name) => name.includes('lite')));
        const row = await gate.row(reply);
        assert.deepEqual([row?.configured_mode, row?.effective_mode, row?.mode_source], ['lite', 'lite', 'override']);
      }
    });

    test('[F3.2] an explicit compaction answers one completed Responses object', async () => {
      const gate = gateOf(form);
      const reply = await gate.send(PUBLIC, { body: explicit() });
      const { object, status, model, output, id, created_at, error, usage } = reply.json;
      assert.deepEqual([object, status, model, error], ['response', 'completed', 'model-a', null]);
      assert.deepEqual(Object.keys(output[0]).sort(), ['encrypted_content', 'id', 'type']);
      assert.match(id, /^resp_/);
      assert.ok(Number.isInteger(created_at));
      const row = await gate.row(reply);
      assert.deepEqual(
        [row?.endpoint, row?.family, row?.input_tokens, row?.output_tokens, row?.outcome],
        [PUBLIC, 'v1', usage.input_tokens, usage.output_tokens, 'completed'],
      );
      assert.equal(reply.headers.get('content-type'), 'application/json');
      assert.equal(reply.headers.get('x-agent-turn-state'), null, 'no header of the backend’s own');
    });

    test('[F3.2] [EV2] public SSE has the item, the completed response, and [DONE], numbered from 0', async () => {
      const reply = await gateOf(form).send(PUBLIC, { body: explicit({ stream: true }) });
      assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/);
      const events = eventsOf(reply.text);
      assert.deepEqual(
        events.map(({ event, data }) => [event, data.type, data.sequence_number]),
        [
          ['response.output_item.done', 'response.output_item.done', 0],
          ['response.completed', 'response.completed', 1],
          [undefined, undefined, undefined],
        ],
      );
      assert.equal(events[2]?.data, '[DONE]');
      assert.equal(events[0]?.data.output_index, 0);
      const { response } = events[1]?.data ?? {};
      assert.deepEqual(response.output, [events[0]?.data.item]);
      assert.deepEqual([response.object, response.status, response.model], ['response', 'completed', 'model-a']);
    });

    test('[F3.3] the item keeps an id that is absent, a string or null, and loses members that could not be sent back', async () => {
      for (const id of [{}, { id: 'cmp_7' }, { id: null }]) {
        const gate = gateOf(form);
        const sealed = { type: 'compaction', encrypted_content: 'gAAAA', ...id };
        gate.upstream.next('north', compactionOf(form, [{ ...sealed, created_by: 'x', status: 'completed' }]));
        const reply = await gate.send(PUBLIC, { body: explicit() });
        assert.deepEqual(itemOf(reply), sealed);
        const again = await gate.send(PUBLIC, { body: { model: 'model-a', input: [itemOf(reply), user('more')] } });
        assert.notEqual(again.json?.error?.code, 'invalid_request', again.text);
      }
    });

    test('[F3.4] the answered item begins a new chain, at the account that made it', async () => {
      const gate = gateOf(form);
      const item = itemOf(await gate.send(PUBLIC, { body: explicit() }));
      const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: [item, user('more')] } });
      assert.equal(reply.status, 200, reply.text);
      const [made, continued] = gate.upstream.turns();
      assert.deepEqual([made?.account, continued?.account], ['north', 'north']);
      assert.deepEqual((continued?.json as JsonObject | undefined)?.input, [item, user('more')]);
    });

    for (const { how, path, body } of ASKING) {
      for (const fault of ['compaction missing', 'compaction twice', 'compaction blank', 'compaction unsealed']) {
        test(`[F3.7] ${how}: ${fault} is a sanitised 502 that clients do not retry, and is not a failure of the account`, async () => {
          const gate = gateOf(form);
          gate.upstream.always('north', fault);
          for (let i = 0; i < 4; i++) {
            const reply = await gate.send(path, { body });
            assert.deepEqual([reply.status, reply.headers.get('x-should-retry'), reply.headers.get('retry-after')], [502, 'false', null]);
            assert.deepEqual(reply.json, {
              error: {
                message: 'The provider returned an invalid compaction.',
                type: 'server_error',
                code: 'invalid_compaction_response',
                param: null,
              },
            });
            const row = await gate.row(reply);
            assert.deepEqual(
              [row?.code, row?.error_class, row?.account, row?.retries, row?.outcome],
              ['invalid_compaction_response', 'upstream_malformed', 'NORTH', 0, 'failed'],
            );
            const attempts = await gate.attempts(row?.id ?? '');
            assert.deepEqual(
              attempts.map(({ status, error_class }) => [status, error_class]),
              [[200, 'upstream_malformed']],
            );
          }
          assert.deepEqual([gate.upstream.turns('north').length, gate.upstream.turns('south').length], [4, 0], 'never tried elsewhere');
          assert.equal(gate.account('north').status, 'active');
          gate.upstream.always('north', 'steady');
          assert.equal((await gate.send(path, { body })).status, 200, 'the account goes on');
        });
      }

      for (const [what, bytes] of [
        ['no JSON', form === 'route' ? 'nonsense' : 'data: nonsense\n\n'],
        ['half of its JSON', form === 'route' ? '{"output":[{"type":"compac' : 'data: {"type":"response.completed","response":{"id"\n\n'],
        ['a list', form === 'route' ? '[1]' : 'data: [1]\n\n'],
        ['nothing', ''],
        ['no end', form === 'route' ? ' ' : 'data: {"type":"response.created","response":{"id":"resp_1"}}\n\n'],
      ] as const) {
        test(`[F3.7] ${how}: an answer of ${what} is the same 502`, async () => {
          const gate = gateOf(form);
          const type = form === 'route' ? 'application/json' : 'text/event-stream';
          gate.upstream.next('north', replyBytes(bytes, { headers: { 'content-type': type } }));
          const reply = await gate.send(path, { body });
          assert.deepEqual([reply.status, reply.json.error.code], [502, 'invalid_compaction_response'], reply.text);
          assert.equal(gate.upstream.turns().length, 1);
        });
      }

      for (const fault of ['refuse 503', 'refuse 429', 'refuse 401', 'refuse 404 model_not_found', 'reset before headers']) {
        test(`[Q6] ${how}: before the account begins to answer, another one is tried (${fault})`, async () => {
          const gate = gateOf(form);
          gate.upstream.next('north', fault);
          const reply = await gate.send(path, { body });
          assert.equal(itemOf(reply).type, 'compaction');
          assert.deepEqual(
            gate.upstream.turns().map(({ account }) => account),
            ['north', 'south'],
          );
          assert.equal((await gate.row(reply))?.retries, 1);
        });
      }

      for (const [fault, status, code] of [
        ['cut after headers', 502, 'upstream_error'],
        ['reset after 20 bytes', 502, 'upstream_error'],
        ['refuse inside', 502, 'upstream_error'],
        ['refuse inside rate_limit_exceeded', 429, 'rate_limit_exceeded'],
      ] as const) {
        test(`[Q6] ${how}: once it has begun, no other account is asked (${fault})`, async () => {
          const gate = gateOf(form);
          gate.upstream.next('north', fault);
          const reply = await gate.send(path, { body });
          assert.deepEqual([reply.status, reply.json.error.code], [status, code], reply.text);
          assert.equal(gate.upstream.turns().length, 1);
          assert.equal((await gate.row(reply))?.retries, 0);
        });
      }

      test(`[Q3] ${how}: a refusal inside a 200 that blames the request is a 400`, async () => {
        const gate = gateOf(form);
        gate.upstream.next('north', 'refuse inside context_length_exceeded');
        const reply = await gate.send(path, { body });
        assert.deepEqual([reply.status, reply.json.error.code], [400, 'context_length_exceeded'], reply.text);
      });

      test(`[Q3] ${how}: exhausted quota inside a 200 is answered with its reset, and counts for the account`, async () => {
        const gate = gateOf(form);
        const error = { code: 'usage_limit_reached', message: 'spent', resets_in_seconds: 600 };
        const failed = { id: 'resp_1', status: 'failed', error, output: [] };
        gate.upstream.next('north', form === 'route' ? replyJson(failed) : replyEvents([{ type: 'response.failed', response: failed }]));
        const reply = await gate.send(path, { body });
        assert.deepEqual([reply.status, reply.json.error.code], [429, 'usage_limit_reached'], reply.text);
        assert.equal(gate.upstream.turns().length, 1);
      });

      test(`[Q33] ${how}: under explicit Full a provider's 4xx keeps the answer of every mode`, async () => {
        const gate = gateOf(form);
        gate.upstream.always('north', replyJson({ error: { code: 'bad_request', message: 'too odd' } }, { status: 400 }));
        const reply = await gate.send(path, { body });
        assert.deepEqual([reply.status, reply.json.error.code], [400, 'bad_request'], reply.text);
        assert.equal((await gate.row(reply))?.error_class, 'upstream_status');
      });
    }
  });
}

describe('[A5] the native compact route', () => {
  test('leaves an answer byte for byte, including retained messages and unknown members', async () => {
    const gate = gateOf('route');
    const text = `{ "output":[${JSON.stringify(user('kept'))}, {"type":"compaction","encrypted_content":"gAAAA","odd":1}],\n "odd": 1.0 }`;
    gate.upstream.next('north', replyBytes(text, { headers: { 'content-type': 'application/json' } }));
    assert.equal((await gate.send(COMPACT, { body: compactBody() })).text, text);
  });

  test('passes unknown members and items, and a string input', async () => {
    const gate = gateOf('route');
    for (const body of [
      compactBody({ odd: [1, { a: null }], input: [user('x'), { type: 'odd_item', a: 1 }], service_tier: 'flex' }),
      compactBody({ input: 'hi', tools: null }),
    ]) {
      gate.upstream.clear();
      gate.upstream.next('north', compactionOf('route', [SEALED]));
      await gate.send(COMPACT, { body });
      assert.deepEqual(sentBy(gate).body, body);
    }
  });

  test('of an account that compacts by turns collects items that the terminal event left out', async () => {
    const gate = gateOf('trigger');
    gate.upstream.next('north', 'empty output + cr framing + drip 7 bytes');
    assert.equal(itemOf(await gate.send(COMPACT, { body: compactBody() })).type, 'compaction');
  });

  test('of an account that compacts by turns also takes the whole response that such an account may answer', async () => {
    const gate = gateOf('trigger');
    gate.upstream.next('north', replyJson({ id: 'resp_1', object: 'response', status: 'completed', output: [SEALED], usage: null }));
    const { json } = await gate.send(COMPACT, { body: compactBody() });
    assert.deepEqual(json, { id: 'resp_1', object: 'response.compaction', output: [SEALED], usage: null });
  });

  test('does not wait for an account that keeps a finished reply open', async () => {
    const gate = gateOf('trigger');
    const events = [{ type: 'response.completed', response: { id: 'resp_1', object: 'response', status: 'completed', output: [SEALED] } }];
    gate.upstream.next('north', [replyEvents(events), { kind: 'stall', at: { events: 1 } }]);
    const answer = gate.send(COMPACT, { body: compactBody() });
    await gate.upstream.stalled('north');
    assert.deepEqual(itemOf(await answer), SEALED);
  });

  test('is aborted at the account when its client leaves', async () => {
    for (const form of FORMS) {
      const gate = gateOf(form);
      gate.upstream.next('north', 'stall after headers');
      const leaving = new AbortController();
      const answer = gate.fetch(COMPACT, { body: compactBody(), signal: leaving.signal });
      await gate.upstream.stalled('north');
      leaving.abort();
      await assert.rejects(answer);
      const [turn] = gate.upstream.turns();
      await turn?.closed;
      assert.equal(turn?.aborted, true);
      assert.equal(gate.account('north').status, 'active');
    }
  });

  test('[F4.1] is under the effort policy and the models of its key', async () => {
    const gate = gateOf('route');
    await gate.reconfigure((draft) => {
      draft.keys[0].reasoning_effort = { allow_up_to: 'low' };
      draft.keys[0].models = ['model-a'];
    });
    try {
      for (const { path, body } of ASKING) {
        const tooHigh = await gate.send(path, { body: { ...body, reasoning: { effort: 'high' } } });
        assert.deepEqual(
          [tooHigh.status, tooHigh.json.error.code, tooHigh.json.error.param],
          [400, 'reasoning_effort_not_allowed', 'reasoning.effort'],
        );
        const denied = await gate.send(path, { body: { ...body, model: 'model-lite', reasoning: { effort: 'high' } } });
        assert.deepEqual([denied.status, denied.json.error.code], [403, 'model_not_allowed']);
        gate.upstream.clear();
        await gate.send(path, { body });
        assert.deepEqual(sentBy(gate).body.reasoning, { effort: 'low' }, 'the effort of the policy alone');
      }
    } finally {
      await gate.reconfigure((draft) => {
        delete draft.keys[0].reasoning_effort;
        delete draft.keys[0].models;
      });
    }
  });

  test('[F8.3] has no prompt-cache locality, and neither has an explicit trigger', async () => {
    await using gate = await startGateway({ config: rotating, upstream: { manners: { noCompactPath: false } } });
    for (const { path, body } of ASKING) {
      gate.upstream.clear();
      for (let i = 0; i < 4; i++) assert.equal((await gate.send(path, { body: { ...body, prompt_cache_key: 'one' } })).status, 200);
      assert.deepEqual(
        [gate.upstream.turns('north').length, gate.upstream.turns('south').length],
        [2, 2],
        'the strategy alone places them',
      );
    }
  });

  test('keeps the session of its client at its account', async () => {
    await using gate = await startGateway({ config: rotating, upstream: { manners: { noCompactPath: false } } });
    const headers = { 'x-agent-window-id': 'thread-1:0' };
    for (const { path, body } of ASKING) await gate.send(path, { body, headers });
    assert.equal(new Set(gate.upstream.turns().map(({ account }) => account)).size, 1);
  });
});

describe('[F3.1] the explicit trigger', () => {
  test('is refused before dispatch where it is misplaced, with the row of the endpoint', async () => {
    const gate = gateOf('route');
    const reply = await gate.send(PUBLIC, { body: explicit({ input: [TRIGGER, user('late')] }) });
    assert.deepEqual([reply.status, reply.json.error.code, reply.json.error.param], [400, 'invalid_request', 'input']);
    assert.equal(gate.upstream.turns().length, 0);
    assert.equal((await gate.row(reply))?.endpoint, PUBLIC);
  });

  test('[F3.5] with an anchor over HTTP is previous_response_not_found, so that its client sends the full history', async () => {
    const gate = gateOf('route');
    for (const previous_response_id of ['resp_unknown', (await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } })).json.id]) {
      gate.upstream.clear();
      const reply = await gate.send(PUBLIC, { body: explicit({ previous_response_id }) });
      assert.deepEqual(
        [reply.status, reply.json.error.code, reply.json.error.param],
        [400, 'previous_response_not_found', 'previous_response_id'],
      );
      assert.equal(gate.upstream.turns().length, 0);
    }
    assert.equal((await gate.send(PUBLIC, { body: explicit({ previous_response_id: null }) })).status, 200);
  });

  test('[F3.6] sends the full history unchanged', async () => {
    const gate = gateOf('route');
    const history = [
      user('read it'),
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'long' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
    ];
    await gate.send(PUBLIC, { body: explicit({ input: [...history, TRIGGER] }) });
    assert.deepEqual(sentBy(gate).body.input, history);
  });

  test('[F1.1] lifts instructions in Full, as in every public turn', async () => {
    const gate = gateOf('route');
    const developer = { role: 'developer', content: 'Be short.' };
    await gate.send(PUBLIC, { body: explicit({ input: [developer, user('x'), TRIGGER] }) });
    const { instructions, input } = sentBy(gate).body;
    assert.deepEqual([instructions, input], ['Be short.', [user('x')]]);
  });

  test('[A3] of a native client passes as an ordinary turn, over SSE and JSON, and its item may come back last', async () => {
    const gate = gateOf('route');
    for (const stream of [true, false]) {
      for (const path of [RESPONSES, '/backend-api/agent/v1/responses']) {
        gate.upstream.clear();
        const body = turnBody('x', { stream, input: [user('a'), { ...TRIGGER }] });
        const made = await gate.send(path, { body });
        const item = stream
          ? eventsOf(made.text).find(({ event }) => event === 'response.output_item.done')?.data.item
          : made.json.output[0];
        assert.equal(item.type, 'compaction');
        assert.deepEqual([sentBy(gate).path, sentBy(gate).body], [RESPONSES, body]);
        gate.upstream.clear();
        const next = turnBody('x', { stream, input: [user('a'), { ...item, odd: true }] });
        assert.equal((await gate.send(path, { body: next })).status, 200, 'the compaction item last, with fields of its own');
        assert.deepEqual(sentBy(gate).body, next);
      }
    }
  });

  test('works through the OpenAI SDK, collected and streamed, and its answer can be sent back', async () => {
    const gate = gateOf('route');
    const client = new OpenAI({ baseURL: `${gate.url}/v1`, apiKey: KEY });
    const input = [user('so much'), TRIGGER] as unknown as OpenAI.Responses.ResponseInput;
    const whole = await client.responses.create({ model: 'model-a', input });
    assert.equal(whole.output[0]?.type, 'compaction');
    const stream = await client.responses.create({ model: 'model-a', input, stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    assert.deepEqual(types, ['response.output_item.done', 'response.completed']);
    const replayed = await client.responses.create({
      model: 'model-a',
      input: [whole.output[0], user('go on')] as unknown as OpenAI.Responses.ResponseInput,
    });
    assert.equal(replayed.status, 'completed');
  });

  test('[F3.7] is asked once by the OpenAI SDK where its answer is invalid', async () => {
    const gate = gateOf('route');
    gate.upstream.always('north', 'compaction missing');
    const client = new OpenAI({ baseURL: `${gate.url}/v1`, apiKey: KEY });
    const asked = client.responses.create({ model: 'model-a', input: [user('x'), TRIGGER] as unknown as OpenAI.Responses.ResponseInput });
    await assert.rejects(asked, (thrown) => thrown instanceof OpenAI.APIError && thrown.code === 'invalid_compaction_response');
    assert.equal(gate.upstream.turns().length, 1);
  });
});

/** The rows about ordinary public turns, changed to explicit compactions with visible input. */
const asExplicit = (rows: readonly WireCase[]): readonly WireCase[] =>
  rows.flatMap((row): readonly WireCase[] => {
    const { input } = row.body;
    if (row.kind !== 'public-responses' || !isList(input) || 'input' in row.changes) return [];
    return [{ ...row, kind: 'public-compact', body: { ...row.body, input: [...input, user('visible')] } }];
  });

/** The rows about native turns, changed to this kind and to visible input. */
const onKind = (kind: 'compact' | 'public-compact', rows: typeof ALWAYS): readonly WireCase[] =>
  fromRules(
    rows
      .filter(({ options }) => options?.kind === undefined)
      .map((row) => ({ ...row, body: { ...row.body, input: [user('x')] }, options: { ...row.options, kind } })),
  ).map(({ changes, ...row }) => ({ ...row, changes: { ...changes, max_output_tokens: row.body.max_output_tokens } }));

testTable('[F3.1] a misplaced trigger is refused before dispatch', fromTools(MISPLACED_TRIGGERS));
testTable('[F3.4] a replayed compaction is checked before dispatch', fromTools(REPLAYS));
testTable(
  '[F2.12] [F1.7] an explicit compaction is judged like a public turn',
  asExplicit(fromTools([...REASONING_CONTEXT, ...UNSUPPORTED_PARAMETERS])),
);
testTable(
  '[F5.2] its tools are judged like those of a public turn',
  asExplicit(fromTools([...REMOTE_MCP, ...TOOL_TYPES, ...CUSTOM_TOOLS])),
);
testTable('[F1.2] its audio too', asExplicit(fromTools(AUDIO)));
testTable('[F2.15] Lite rewrites compactions', fromRules(LITE_REWRITE.filter(({ options }) => options?.kind === 'compact')));
for (const kind of ['compact', 'public-compact'] as const) {
  testTable(`[F4.1] the effort policy covers ${kind}`, onKind(kind, [...ALLOW_UP_TO, ...ALWAYS]));
  testTable(`[CR1] the cap of output tokens covers ${kind}`, onKind(kind, OUTPUT_TOKENS));
}
