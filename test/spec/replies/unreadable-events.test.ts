// Events of an account that are not a JSON object, on streams over HTTP: SDKs end a stream with an error at the first of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes, turnBody } from '../../support/rehearsal-replies.ts';

const data = (type: string, n: number, members: object = {}): string =>
  `data: ${JSON.stringify({ type, sequence_number: n, ...members })}\n\n`;

const DELTA = 'response.output_text.delta';

/** Texts that providers, and proxies in front of them, write between events. */
const UNREADABLE: Readonly<Record<string, string>> = {
  'is empty': 'data:\n\n',
  'is text': 'event: response.output_text.delta\ndata: upstream connect error\n\n',
  'is a list': 'data: []\n\n',
  'is cut off': `data: {"type":"${DELTA}","sequence_number":3,"delta":"a\n\n`,
  'is cut off, and has no type first': 'data: {"sequence_number":3,"type":\n\n',
  'is on two lines, and no JSON': 'event: ping\ndata: {"a":\ndata: }}\n\n',
  'is wanted by a rule, and broken in the middle': 'data: {"type":"response.output_item.done","item":{"a":b}}\n\n',
};

/** A reply with an unreadable event before its first visible event, and with another one between two visible events. */
const replyWith = (unreadable: string) =>
  replyBytes(
    [
      data('response.created', 0, { response: { id: 'r', object: 'response', output: [] } }),
      unreadable,
      data('response.output_item.added', 1, { output_index: 0, item: { type: 'message', id: 'm', role: 'assistant', content: [] } }),
      data('response.content_part.added', 2, { output_index: 0, content_index: 0, item_id: 'm', part: { type: 'output_text', text: '' } }),
      unreadable,
      ': a comment\n\n',
      data(DELTA, 4, { output_index: 0, content_index: 0, item_id: 'm', delta: 'hello' }),
      data('response.completed', 5, { response: { id: 'r', object: 'response', status: 'completed', output: [] } }),
      'data: [DONE]\n\n',
    ].join(''),
  );

const READABLE = [
  'response.created',
  'response.output_item.added',
  'response.content_part.added',
  'response.output_text.delta',
  'response.completed',
];

const started = (): Promise<TestGateway> => startGateway({ upstream: { accounts: ['north'] } });

for (const [what, unreadable] of Object.entries(UNREADABLE)) {
  test(`[F1.8] a public stream passes no event that ${what}, and its numbers have no gap`, async () => {
    await using gate = await started();
    gate.upstream.next('north', replyWith(unreadable));
    const { text } = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello', stream: true } });
    const events = [...eventsOf(text)];
    assert.equal(events.pop()?.data, '[DONE]');
    assert.deepEqual(
      events.map(({ data: { type, sequence_number: n } }) => [type, n]),
      READABLE.map((type, n) => [type, n]),
    );
    assert.equal(gate.count('upstream_frames_dropped'), 2);
  });

  test(`[F1.9] a Chat stream continues after an event that ${what}`, async () => {
    await using gate = await started();
    gate.upstream.next('north', replyWith(unreadable));
    const body = { model: 'model-a', messages: [{ role: 'user', content: 'hello' }], stream: true };
    const { text } = await gate.send('/v1/chat/completions', { body });
    const chunks = [...eventsOf(text)];
    assert.equal(chunks.pop()?.data, '[DONE]');
    assert.equal(chunks.map(({ data: chunk }) => chunk.choices[0].delta.content ?? '').join(''), 'hello');
  });
}

test('[F1.8] the SDK reads such a stream to its end, and its numbers stay as the provider counts them where nothing was dropped', async () => {
  await using gate = await started();
  const client = new OpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1`, maxRetries: 0 });
  for (const unreadable of [...Object.values(UNREADABLE), '']) {
    gate.upstream.next('north', replyWith(unreadable));
    const numbers: number[] = [];
    for await (const event of await client.responses.create({ model: 'model-a', input: 'hello', stream: true }))
      numbers.push(event.sequence_number);
    assert.deepEqual(numbers, unreadable === '' ? [0, 1, 2, 4, 5] : [0, 1, 2, 3, 4]);
  }
});

test('[Q6] an unreadable event shows nothing: after a refusal that follows it the turn goes to another account', async () => {
  await using gate = await startGateway();
  const refusal = data('error', 1, { code: 'server_is_overloaded', message: 'busy' });
  for (const stream of [true, false]) {
    gate.heal();
    gate.upstream.next('north', replyBytes(`data: {"type":\n\n${refusal}`));
    const { status, text } = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'say: hello', stream } });
    assert.equal(status, 200);
    assert.match(text, /hello/);
  }
  assert.equal(gate.upstream.turns('south').length, 2);
});

test('[EV3] a native stream passes every event as it came', async () => {
  await using gate = await started();
  for (const unreadable of Object.values(UNREADABLE)) {
    const reply = replyWith(unreadable);
    gate.upstream.next('north', reply);
    const { text } = await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
    assert.equal(text.split(unreadable).length, 3);
    assert.equal(gate.count('upstream_frames_dropped'), 0);
  }
});
