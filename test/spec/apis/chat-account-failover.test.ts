// Chat accounts and agent accounts in one Pool: failover between them, capsules, compaction, the wait for usage (AA22, AA46, AA48, AA54,
// AA59).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import {
  type ChatStage,
  chatStage,
  look,
  NATIVE,
  PUBLIC,
  responseOf,
  translatedEvents,
  typesOf,
  user,
} from '../../providers/chat/chat-stage.ts';
import { call, chunk, ENDING, finish, framed, HELLO, streamed, text } from '../../providers/chat/completions.ts';
import { answers } from '../../providers/responses/platform.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { frameOf, typesOf as frameTypes, NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const COMPACT = `${NATIVE}/compact`;

let stage: ChatStage;
before(async () => {
  stage = await chatStage({ others: ['north'], account: { quirks: { reasoning_replay: 'tool_loop', reasoning_details: true } } });
});
after(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

const attemptsOf = async (reply: { readonly headers: Headers }): Promise<unknown> =>
  (await stage.gate.attempts(reply.headers.get('x-request-id') ?? '')).map(({ account, error_class }) => [account, error_class]);

describe('failover', () => {
  for (const [title, chunks, failure] of [
    ['an error with a rate', [{ error: { message: 'slow', code: 429 } }], 'upstream_rate_limited'],
    ['an error without a code', [{ error: { message: 'no' } }], 'upstream_refusal'],
    ['a failed finish', [chunk({ role: 'assistant' }), finish('error'), '[DONE]'], 'upstream_refusal'],
    ['a dead connection', [chunk({ role: 'assistant' })], 'upstream_network'],
  ] as const) {
    test(`[AA59] ${title} before output goes on at another account`, async () => {
      stage.platform.next.push(streamed(chunks));
      const reply = await stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(await attemptsOf(reply), [
        ['box', failure],
        ['NORTH', null],
      ]);
    });
  }

  test('[AA61] a refusal with a status goes on too', async () => {
    stage.platform.next.push(answers(500, { error: { message: 'no' } }));
    const reply = await stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    assert.deepEqual(await attemptsOf(reply), [
      ['box', 'upstream_status'],
      ['NORTH', null],
    ]);
  });
});

describe('capsules', () => {
  const TOOLS = [look];
  /** Each turn starts another conversation, because a conversation that overflowed stays at its account. */
  let count = 0;
  const title = (): string => `Think ${count}.`;
  beforeEach(() => {
    count += 1;
  });
  const details = [{ type: 'reasoning.encrypted', data: 'abc', index: 0 }];
  const THINKING = [
    chunk({ reasoning: 'First ', reasoning_details: [{ type: 'reasoning.text', text: 'First ', index: 1 }] }),
    chunk({ reasoning: 'look.', reasoning_details: [{ type: 'reasoning.text', text: 'look.', index: 1 }, ...details] }),
    call(0, { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: { signature: 's' } }),
    finish('tool_calls'),
    '[DONE]',
  ];
  const output = { type: 'function_call_output', call_id: 'c1', output: 'found' };
  const body = (input: readonly JsonObject[]): JsonObject => ({ model: 'model-a', stream: true, store: false, input, tools: TOOLS });

  /** The items of a turn that called a tool. */
  async function items(): Promise<readonly JsonObject[]> {
    stage.platform.next.push(streamed(THINKING));
    const reply = await stage.gate.send(NATIVE, { body: body([user(title())]) });
    return responseOf(translatedEvents(reply.text)).output as readonly JsonObject[];
  }

  test('[AA22] [AA44] reasoning comes sealed, and goes back to the account on the message that it belongs to', async () => {
    const made = await items();
    assert.deepEqual(
      made.map(({ type }) => type),
      ['reasoning', 'function_call', 'reasoning'],
    );
    for (const item of [made[0], made[2]]) assert.match(String(item?.encrypted_content), /^pgc1\.[\w-]+$/);
    stage.platform.next.push(streamed(HELLO));
    await stage.gate.send(NATIVE, { body: body([user(title()), ...made, output]) });
    const { messages } = stage.platform.requests.at(-1)?.json ?? {};
    assert.deepEqual(messages[1], {
      role: 'assistant',
      content: null,
      reasoning_content: 'First look.',
      reasoning_details: [{ type: 'reasoning.text', text: 'First look.', index: 1 }, ...details],
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: { signature: 's' } }],
    });
  });

  test('[AA44] under tool_loop nothing goes back before the last user message', async () => {
    const made = await items();
    stage.platform.next.push(streamed(HELLO));
    await stage.gate.send(NATIVE, { body: body([user(title()), ...made, output, user('again')]) });
    const { messages } = stage.platform.requests.at(-1)?.json ?? {};
    assert.equal(messages[1].reasoning_content, undefined);
  });

  test('[AA44] under always every message of the assistant has it', async () => {
    const made = await items();
    await stage.configure({ account: { quirks: { reasoning_replay: 'always', reasoning_field: 'reasoning' } } });
    try {
      stage.platform.next.push(streamed(HELLO));
      const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] };
      await stage.gate.send(NATIVE, { body: body([user(title()), ...made, output, said, user('again')]) });
      const { messages } = stage.platform.requests.at(-1)?.json ?? {};
      assert.deepEqual([messages[1].reasoning, messages[3].reasoning], ['First look.', '']);
    } finally {
      await stage.configure({});
    }
  });

  test('[AA22] an agent account gets no capsule, and no reasoning without ciphertext', async () => {
    const made = await items();
    stage.platform.next.push(answers(500, { error: { message: 'no' } }));
    const bare = { type: 'reasoning', summary: [] };
    const reply = await stage.gate.send(NATIVE, { body: body([user(title()), ...made, bare, output]) });
    assert.equal(reply.status, 200, reply.text);
    const [turn] = stage.gate.upstream.turns('north');
    const sent = JSON.stringify(turn);
    assert.ok(turn && !sent.includes('pgc1.') && !sent.includes('"type":"reasoning"'), sent);
  });

  test('[AA22] one that was changed, or of another Pool, is left out', async () => {
    const made = await items();
    const changed = made.map((item) =>
      item.encrypted_content ? { ...item, encrypted_content: `${String(item.encrypted_content)}AAAA` } : item,
    );
    stage.platform.next.push(streamed(HELLO));
    const reply = await stage.gate.send(NATIVE, { body: body([user(title()), ...changed, output]) });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(stage.platform.requests.at(-1)?.json.messages[1].reasoning_content, undefined);
  });
});

describe('compaction', () => {
  const SUMMARY = [text('Goal: tests. '), text('Next: more.'), ...ENDING];
  const history = [user('Write tests.'), { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }];
  const trigger = { type: 'compaction_trigger' };
  const question = (): JsonObject => stage.platform.requests.at(-1)?.json;

  function assertQuestion(): void {
    const { messages, tools, response_format, max_completion_tokens } = question();
    assert.deepEqual([tools, response_format, max_completion_tokens], [undefined, undefined, 8_192]);
    const last = (messages as readonly JsonObject[]).at(-1);
    assert.match(String(last?.content), /goals.*decisions.*files.*next steps/s);
  }

  /** Asserts that the item is sent back as a user message. */
  async function assertReplays(item: JsonObject): Promise<void> {
    assert.equal(item.type, 'compaction');
    stage.platform.next.push(streamed(HELLO));
    const reply = await stage.gate.send(NATIVE, { body: { model: 'model-a', stream: true, input: [item, user('Go on.')] } });
    assert.equal(reply.status, 200, reply.text);
    const [summary] = question().messages as readonly JsonObject[];
    assert.match(String(summary?.content), /Goal: tests\. Next: more\.$/);
  }

  test('[AA48] on the native compact path', async () => {
    stage.platform.next.push(streamed(SUMMARY));
    const reply = await stage.gate.send(COMPACT, { body: { model: 'model-a', input: history, tools: [look] } });
    assert.equal(reply.status, 200, reply.text);
    assertQuestion();
    assert.deepEqual([reply.json.object, reply.json.output.length], ['response.compaction', 1]);
    await assertReplays(reply.json.output[0]);
  });

  test('[AA48] of a native turn that ends in a trigger, as events', async () => {
    stage.platform.next.push(streamed(SUMMARY));
    const reply = await stage.gate.send(NATIVE, { body: { model: 'model-a', stream: true, input: [...history, trigger], tools: [look] } });
    assertQuestion();
    const events = translatedEvents(reply.text);
    assert.deepEqual(
      typesOf(events),
      ['response.created', 'response.in_progress', 'response.output_item.added', 'response.output_item.done', 'response.completed'],
      reply.text,
    );
    await assertReplays((responseOf(events).output as readonly JsonObject[])[0] as JsonObject);
  });

  test('[AA48] of a public turn, as JSON and as events', async () => {
    stage.platform.next.push(streamed(SUMMARY), streamed(SUMMARY));
    const body = { model: 'model-a', input: [...history, trigger] };
    const whole = await stage.gate.send(PUBLIC, { body });
    assert.equal(whole.status, 200, whole.text);
    assertQuestion();
    const events = translatedEvents((await stage.gate.send(PUBLIC, { body: { ...body, stream: true } })).text);
    assert.deepEqual(events.map(({ type }) => type).filter(Boolean), ['response.output_item.done', 'response.completed']);
    await assertReplays(whole.json.output[0]);
  });

  test('[AA48] over both websockets', async () => {
    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      stage.platform.next.push(streamed(SUMMARY));
      using socket = await connect(stage.gate, path);
      const frames = await socket.turn({ ...frameOf('hi'), input: [...history, trigger] });
      assert.ok(frameTypes(frames).includes('response.completed'), JSON.stringify(frames));
      const done = frames.find(({ type }) => type === 'response.output_item.done') as JsonObject | undefined;
      await assertReplays(done?.item as JsonObject);
    }
  });

  for (const [title, chunks] of [
    ['empty', [finish('stop'), '[DONE]']],
    ['cut', [text('Goal'), finish('length'), '[DONE]']],
    ['filtered', [text('Goal'), finish('content_filter'), '[DONE]']],
  ] as const) {
    test(`[AA48] an answer that is ${title} is no compaction`, async () => {
      for (const [path, body] of [
        [COMPACT, { model: 'model-a', input: history }],
        [NATIVE, { model: 'model-a', stream: true, input: [...history, trigger] }],
        [PUBLIC, { model: 'model-a', input: [...history, trigger] }],
      ] as const) {
        stage.platform.next.push(streamed(chunks));
        const reply = await stage.gate.send(path, { body });
        assert.deepEqual([reply.status, reply.json?.error?.code], [502, 'invalid_compaction_response'], reply.text);
        const row = await stage.gate.row(reply);
        const attempts = await stage.gate.attempts(row?.id ?? '');
        assert.deepEqual(
          [row, ...attempts].map((one) => one?.error_class),
          ['upstream_malformed', 'upstream_malformed'],
        );
      }
    });
  }

  test('[AA22] a summary that does not open asks for a restart', async () => {
    const item = { type: 'compaction', encrypted_content: 'pgc1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' };
    const reply = await stage.gate.send(NATIVE, { body: { model: 'model-a', stream: true, input: [item, user('Go on.')] } });
    assert.deepEqual([reply.status, reply.json.error.code], [400, 'continuation_requires_restart']);
    assert.equal(stage.platform.requests.length, 0);
  });
});

describe('the wait for usage', () => {
  test('[AA54] after the finish reason 5 s of silence end the reply', async () => {
    const clock = new ManualClock();
    await using late = await chatStage({ clock });
    const closed = Promise.withResolvers<void>();
    late.platform.next.push((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(framed([text('Hi'), finish('stop')]));
      response.on('close', () => closed.resolve());
    });
    const response = await late.gate.fetch(NATIVE, { body: { model: 'model-a', stream: true, input: [user('hi')] } });
    let got = '';
    const reading = (async (): Promise<void> => {
      for await (const bytes of response.body ?? []) got += Buffer.from(bytes).toString();
    })();
    await until('the end of the text', () => got.includes('response.output_item.done') || undefined);
    assert.ok(!got.includes('response.completed'));
    await clock.advance(5_000);
    await reading;
    await closed.promise;
    const { estimated } = responseOf(translatedEvents(got)).usage as JsonObject;
    assert.equal(estimated, true);
  });
});

test('[AA60] a client that leaves ends the request to the account at once', async () => {
  const closed = Promise.withResolvers<void>();
  stage.platform.next.push((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(framed([text('Hi')]));
    response.on('close', () => closed.resolve());
  });
  const leaving = new AbortController();
  const response = await stage.gate.fetch(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true }, signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await closed.promise;
});
