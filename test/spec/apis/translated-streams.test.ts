// Streams of Chat accounts while they run: how much of them is held, how long the gateway waits for them, and what happens after their
// client leaves (AA57, AA60, AA93).
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type ChatStage, chatStage, NATIVE, PUBLIC, responseOf, translatedEvents, user } from '../../providers/chat/chat-stage.ts';
import { chunk, ENDING, framed, HELLO, streamed, text } from '../../providers/chat/completions.ts';
import type { PlatformAnswer } from '../../providers/responses/platform.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { turnFrame, userMessage } from '../../support/native-frames.ts';
import { dropped } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

interface Open {
  readonly answer: PlatformAnswer;
  /** The reply; it resolves when the account got its request. */
  readonly response: Promise<ServerResponse>;
  readonly closed: Promise<void>;
}

/** Sends these bytes and keeps the reply open. */
function open(bytes: string): Open {
  const asked = Promise.withResolvers<ServerResponse>();
  const closed = Promise.withResolvers<void>();
  const answer: PlatformAnswer = (response) => {
    response.on('close', () => closed.resolve());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(bytes);
    asked.resolve(response);
  };
  return { answer, response: asked.promise, closed: closed.promise };
}

/** Reads a stream until it ends or is cut; `seen` resolves when the stream has this text. */
function reading(response: Response, awaited: string): { readonly seen: Promise<void>; readonly whole: Promise<string> } {
  const seen = Promise.withResolvers<void>();
  let got = '';
  const read = async (): Promise<void> => {
    for await (const bytes of response.body ?? []) {
      got += Buffer.from(bytes).toString();
      if (got.includes(awaited)) seen.resolve();
    }
  };
  const whole = read().then(
    () => got,
    () => got,
  );
  return { seen: seen.promise, whole };
}

const stream = { model: 'model-a', stream: true, input: [user('hi')] };

describe('what is held', () => {
  let stage: ChatStage;
  before(async () => {
    stage = await chatStage({
      config: (draft) => {
        draft.limits = { ...draft.limits, upstream_event_bytes: 200_000 };
      },
    });
  });
  after(() => stage[Symbol.asyncDispose]());
  beforeEach(() => stage.clear());

  const long = (length: number): string => 'x'.repeat(length);

  test('[AA93] of an item that is done its JSON is held for the terminal event, and nothing of what it was made of', async () => {
    const thought = Array.from({ length: 10 }, () => chunk({ reasoning_content: long(10_000) }));
    const reply = open(framed([...thought, text('Hi')]));
    stage.platform.next.push(reply.answer);
    const { seen, whole } = reading(await stage.gate.fetch(NATIVE, { body: stream }), '"delta":"Hi"');
    await seen;
    assert.ok(stage.gate.replyBytes < 10_000, `${stage.gate.replyBytes} bytes are held`);
    (await reply.response).end(framed(ENDING));
    const output = responseOf(translatedEvents(await whole)).output as readonly { readonly type: string }[];
    assert.deepEqual(
      output.map(({ type }) => type),
      ['reasoning', 'message'],
    );
    assert.equal(stage.gate.replyBytes, 0);
  });

  test('[AA93] items that are done count under the limit of a reply', async () => {
    // Each item is small, but the terminal event, which has all of them, exceeds the limit.
    const summary = { ...stream, reasoning: { effort: 'low', summary: 'auto' } };
    const items = Array.from({ length: 50 }, () => [chunk({ reasoning_content: long(5_000) }), text('Hi ')]).flat();
    const reply = open(framed(items));
    stage.platform.next.push(reply.answer);
    const got = await reading(await stage.gate.fetch(NATIVE, { body: summary }), '').whole;
    const done = got.split('event: response.output_item.done').length - 1;
    assert.ok(done > 20 && done < 45, `${done} items`);
    assert.equal(stage.gate.count('upstream_events_too_large'), 1);
    await reply.closed;
  });
});

describe('waits', () => {
  test('[AA57] comments do not hold off the first-byte timer', async () => {
    const clock = new ManualClock();
    await using stage = await chatStage({ clock, account: { first_byte_ms: 2_000 } });
    const reply = open(': PROCESSING\n\n');
    stage.platform.next.push(reply.answer);
    const sending = stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    const response = await reply.response;
    // Comments come until the gateway ends its request.
    const comments = setInterval(() => void response.write(': PROCESSING\n\n'), 5);
    try {
      await until('the end of the wait', async () => {
        await clock.advance(500);
        return stage.gate.count('upstream_first_byte_timeouts') > 0 ? true : undefined;
      });
      await reply.closed;
    } finally {
      clearInterval(comments);
    }
    const answered = await sending;
    assert.deepEqual([answered.status, answered.json.error.code], [504, 'upstream_timeout'], answered.text);
    const attempts = await stage.gate.attempts(answered.headers.get('x-request-id') ?? '');
    assert.deepEqual(
      attempts.map(({ error_class }) => error_class),
      ['upstream_timeout'],
    );
  });

  test('[AA57] the first data ends the wait for it, and comments hold off the idle timer', async () => {
    await using stage = await chatStage({ account: { first_byte_ms: 2_000, idle_ms: 2_000 } });
    const reply = open(framed([text('Hi')]));
    stage.platform.next.push(reply.answer);
    const sending = stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    const response = await reply.response;
    // This takes twice the wait, so the timers of the gateway run between the comments.
    for (let i = 0; i < 40; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      response.write(': PROCESSING\n\n');
    }
    response.end(framed(ENDING));
    const answered = await sending;
    assert.deepEqual([answered.status, answered.json.output[0].content[0].text], [200, 'Hi'], answered.text);
    assert.deepEqual([stage.gate.count('upstream_first_byte_timeouts'), stage.gate.count('upstream_idle_timeouts')], [0, 0]);
  });

  test('[AA6] [AA57] an account that falls silent is left after its own idle_ms', async () => {
    await using stage = await chatStage({ others: ['north'], account: { idle_ms: 1_000 } });
    const reply = open(framed([chunk({ role: 'assistant' })]));
    stage.platform.next.push(reply.answer);
    const answered = await stage.gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
    assert.equal(answered.status, 200, answered.text);
    await reply.closed;
    assert.deepEqual([stage.gate.count('upstream_idle_timeouts'), stage.gate.upstream.turns('north').length], [1, 1]);
  });
});

describe('a client that leaves', () => {
  let stage: ChatStage;
  before(async () => {
    // One account has websockets, because otherwise no client could connect by one.
    stage = await chatStage({ others: ['north'] });
  });
  after(() => stage[Symbol.asyncDispose]());
  beforeEach(() => stage.clear());

  test('[AA60] ends the request to the account at once: over HTTP, and by a websocket of the compatible surface', async () => {
    for (const leave of [
      async () => {
        const leaving = new AbortController();
        const response = await stage.gate.fetch(PUBLIC, { body: { ...stream, input: 'hi' }, signal: leaving.signal });
        await response.body?.getReader().read();
        leaving.abort();
      },
      async () => {
        const socket = await connect(stage.gate, PUBLIC);
        socket.send({ type: 'response.create', model: 'model-a', input: 'hi' });
        await socket.next();
        socket.terminate();
      },
    ]) {
      const reply = open(framed([text('Hi')]));
      stage.platform.next.push(reply.answer);
      await leave();
      await reply.closed;
      await until('the slot to be free', () => (stage.gate.slots('box') === 0 ? true : undefined));
    }
    assert.equal(stage.gate.account('box').cooldown, undefined);
  });

  test('[AA60] a native turn goes on without its client, who comes back for it', async () => {
    const reply = open(framed([text('Hi ')]));
    stage.platform.next.push(reply.answer);
    const headers = { 'session-id': 'left' };
    const frame = turnFrame('t1', [userMessage('hi')]);
    const first = await connect(stage.gate, NATIVE, { headers });
    first.send(frame);
    await until('the first delta', () => (first.frames.some(({ type }) => type === 'response.output_text.delta') ? true : undefined));
    await dropped(stage.gate, first);
    const response = await reply.response;
    assert.ok(!response.destroyed, 'the request to the account goes on');
    response.end(framed([text('again'), ...ENDING]));
    using second = await connect(stage.gate, NATIVE, { headers });
    second.send(frame);
    const frames = await second.rest();
    assert.equal(frames.at(-1)?.type, 'response.completed');
    const said = second.frames.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : []));
    assert.deepEqual(said, ['Hi ', 'again']);
    assert.deepEqual([stage.platform.requests.length, stage.gate.upstream.turns().length], [1, 0], 'it was sent once');
  });
});

describe('a native websocket', () => {
  let stage: ChatStage;
  before(async () => {
    stage = await chatStage({ others: ['north'] });
  });
  after(() => stage[Symbol.asyncDispose]());
  beforeEach(() => stage.clear());

  test('[AA63] [AA59] reads of an error before output in the form of the error table, with a status', async () => {
    stage.platform.next.push(streamed([{ error: { code: 400, message: 'no', metadata: { raw: 'x' } } }]));
    using socket = await connect(stage.gate, NATIVE);
    socket.send(turnFrame('t1', [userMessage('hi')]));
    assert.deepEqual(await socket.rest(), [
      { type: 'error', status: 400, error: { message: 'no', type: 'invalid_request_error', code: 'upstream_error', param: null } },
    ]);
  });
});

describe('a native turn without a stream', () => {
  let stage: ChatStage;
  before(async () => {
    stage = await chatStage({ others: ['north'] });
  });
  after(() => stage[Symbol.asyncDispose]());
  beforeEach(() => stage.clear());

  test('[A3] [AA91] gets one answer, as an agent account gives it', async () => {
    const body = { ...stream, stream: false };
    stage.platform.next.push(streamed(HELLO));
    const translated = await stage.gate.send(NATIVE, { body });
    assert.deepEqual([translated.status, translated.headers.get('content-type')], [200, 'application/json'], translated.text);
    assert.equal(stage.platform.requests[0]?.json.stream, true, 'the account streams in any case');
    const { object, status, output, usage } = translated.json;
    assert.deepEqual(
      [object, status, output[0].content[0].text, usage.output_tokens],
      ['response', 'completed', 'hello brave new world', 7],
    );
  });

  test('[AA59] is refused with a status where the reply fails after output', async () => {
    stage.platform.next.push(streamed([text('Hi'), { error: { message: 'slow', code: 429 } }]));
    const refused = await stage.gate.send(NATIVE, { body: { ...stream, stream: false } });
    assert.ok(refused.status >= 400, refused.text);
    assert.equal(typeof refused.json.error.code, 'string');
  });
});
