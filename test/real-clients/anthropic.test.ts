// The official Anthropic SDK: messages, streams with their helpers, tool loops, counts, models, and its classes of errors.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import Anthropic, { AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { replyJson } from '../support/rehearsal-replies.ts';

let gate: TestGateway;
let client: Anthropic;
before(async () => {
  gate = await startGateway();
  client = new Anthropic({ baseURL: gate.url, apiKey: KEY, authToken: null, maxRetries: 0 });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const MODEL = { model: 'model-a', max_tokens: 1_000 } as const;

const lookUp: Anthropic.Tool = {
  name: 'look_up',
  description: 'Looks a city up.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const user = (content: Anthropic.MessageParam['content']): Anthropic.MessageParam => ({ role: 'user', content });

const textIn = ({ content }: Anthropic.Message): string => content.map((block) => (block.type === 'text' ? block.text : '')).join('');

test('a message has its text, its reason and its usage', async () => {
  const message = await client.messages.create({ ...MODEL, system: 'Be brief.', messages: [user('say: hello there')] });
  assert.deepEqual([textIn(message), message.stop_reason, message.model], ['hello there', 'end_turn', 'model-a']);
  assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
  assert.match(message._request_id ?? '', /^req_/);
  const sent = gate.upstream.turns()[0]?.json as { readonly instructions: string } | undefined;
  assert.equal(sent?.instructions, 'Be brief.');
});

test('the helper of a stream has its pieces, and the message that they add up to', async () => {
  const pieces: string[] = [];
  const stream = client.messages.stream({ ...MODEL, messages: [user('write 20 words')] }).on('text', (text) => pieces.push(text));
  const message = await stream.finalMessage();
  assert.ok(pieces.length > 10);
  assert.equal(pieces.join(''), textIn(message));
  assert.ok(message.usage.output_tokens > 0);
});

test('a stop sequence ends a stream', async () => {
  const stream = client.messages.stream({ ...MODEL, stop_sequences: ['two'], messages: [user('say: one two three')] });
  const message = await stream.finalMessage();
  assert.deepEqual([textIn(message), message.stop_reason, message.stop_sequence], ['one ', 'stop_sequence', 'two']);
});

for (const [how, ask] of [
  ['whole', (body: Anthropic.MessageCreateParamsNonStreaming) => client.messages.create(body)],
  ['streamed', (body: Anthropic.MessageCreateParamsNonStreaming) => client.messages.stream(body).finalMessage()],
] as const) {
  test(`a loop of parallel tools with thinking passes, ${how}`, async () => {
    const question = user('call the tool look_up with {"city":"Oslo"}\ncall the tool look_up with {"city":"Bergen"}');
    const body = { ...MODEL, tools: [lookUp], thinking: { type: 'adaptive' } as const };
    const first = await ask({ ...body, messages: [question] });
    const calls = first.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual(
      calls.map(({ name, input }) => [name, input]),
      [
        ['look_up', { city: 'Oslo' }],
        ['look_up', { city: 'Bergen' }],
      ],
    );
    assert.equal(first.stop_reason, 'tool_use');
    const thoughts = first.content.filter((block) => block.type === 'thinking' || block.type === 'redacted_thinking');
    assert.ok(thoughts.length > 0);
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'known' }) as const);
    const second = await ask({ ...body, messages: [question, { role: 'assistant', content: first.content }, user(results)] });
    assert.equal(second.stop_reason, 'end_turn');
    const sent = gate.upstream.turns().at(-1)?.json as { readonly input: readonly { readonly type: string }[] } | undefined;
    const types = sent?.input.map(({ type }) => type) ?? [];
    // The ciphertext of the first turn is sent back (AM38).
    assert.equal(types.filter((type) => type === 'reasoning').length, thoughts.length);
    assert.equal(types.filter((type) => type === 'function_call_output').length, 2);
  });
}

test('tokens are counted without an account', async () => {
  const { input_tokens } = await client.messages.countTokens({ model: 'model-a', tools: [lookUp], messages: [user('How is Oslo?')] });
  assert.ok(input_tokens > 20 && input_tokens < 100);
  assert.equal(gate.upstream.turns().length, 0);
});

test('models are listed, and one is retrieved', async () => {
  const ids: string[] = [];
  for await (const { id } of client.models.list({ limit: 1 })) ids.push(id);
  assert.ok(ids.includes('model-a') && ids.length >= 2);
  assert.equal((await client.models.retrieve('model-a')).id, 'model-a');
});

describe('errors have their classes', () => {
  test('a wrong key', async () => {
    const stranger = new Anthropic({ baseURL: gate.url, apiKey: 'sk-ant-wrong', authToken: null });
    await assert.rejects(stranger.messages.create({ ...MODEL, messages: [user('hi')] }), AuthenticationError);
  });

  test('a wrong model', async () => {
    await assert.rejects(client.messages.create({ ...MODEL, model: 'no-such-model', messages: [user('hi')] }), NotFoundError);
  });

  test('a prompt that is too long', async () => {
    for (const account of ['north', 'south']) {
      gate.upstream.next(account, replyJson({ error: { code: 'context_length_exceeded', message: 'Too long.' } }, { status: 400 }));
    }
    await assert.rejects(client.messages.create({ ...MODEL, messages: [user('hi')] }), (error) => {
      assert.ok(error instanceof BadRequestError);
      assert.match(error.message, /prompt is too long: \d+ tokens > \d+ maximum/);
      return true;
    });
  });
});

test('a stream that its client aborts ends at the account', async () => {
  const stream = client.messages.stream({ ...MODEL, messages: [user('write 5000 words')] });
  stream.on('error', () => undefined);
  await stream.emitted('text');
  stream.abort();
  await assert.rejects(stream.done());
});
