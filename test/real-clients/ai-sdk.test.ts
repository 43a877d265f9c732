// The Vercel AI SDK with its default settings, with which it sends references to stored items: a tool loop works, and other references are
// refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { modelEntry, replyEvents } from '../support/rehearsal-replies.ts';

/** The SDK treats the first model as a reasoning model, the second one not; by default it sends references for both. */
const MODELS = ['gpt-5.5', 'model-a'] as const;

const started = (): Promise<TestGateway> =>
  startGateway({ upstream: { accounts: [{ id: 'north', models: MODELS.map((slug) => modelEntry({ slug })) }] } });

interface Client {
  readonly openai: ReturnType<typeof createOpenAI>;
  /** The `input` of each request as the SDK sent it: the id of a reference, or the type or role of another item. */
  readonly sent: string[][];
}

function clientOf(gate: TestGateway): Client {
  const sent: string[][] = [];
  const recording: typeof fetch = (url, init) => {
    sent.push(shapeOf(JSON.parse(String(init?.body)) as JsonObject));
    return fetch(url, init);
  };
  return { openai: createOpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1`, fetch: recording }), sent };
}

const shapeOf = ({ input }: JsonObject): string[] =>
  (input as readonly JsonObject[]).map(({ type, role, id }) => String(type === 'item_reference' ? id : (type ?? role)));

const arrived = (gate: TestGateway): string[][] => gate.upstream.turns().map(({ json }) => shapeOf(json as JsonObject));

const tools = {
  look_up: tool({
    description: 'Looks a city up.',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }),
    execute: async ({ city }) => `${city} is known`,
  }),
};

const ASK = 'call the tool look_up with {"city":"Oslo"}';

/** A reply with reasoning and another call, after the answer to the first call. */
function secondCall(model: string): ReturnType<typeof replyEvents> {
  const reasoning = { id: 'rs_second', type: 'reasoning', summary: [], encrypted_content: 'secret' };
  const call = {
    id: 'fc_second',
    type: 'function_call',
    call_id: 'call_second',
    name: 'look_up',
    arguments: '{"city":"Bergen"}',
    status: 'completed',
  };
  const response = { id: 'resp_second', object: 'response', created_at: 1, status: 'in_progress', model, output: [] };
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  const events: readonly JsonObject[] = [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, encrypted_content: null } },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '', status: 'in_progress' } },
    { type: 'response.function_call_arguments.delta', output_index: 1, item_id: call.id, delta: call.arguments },
    { type: 'response.function_call_arguments.done', output_index: 1, item_id: call.id, arguments: call.arguments },
    { type: 'response.output_item.done', output_index: 1, item: call },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [reasoning, call], usage } },
  ];
  return replyEvents(events.map((event, sequence_number): Json => ({ ...event, sequence_number })));
}

const CALLED = ['function_call', 'function_call_output'];

for (const name of MODELS) {
  for (const [how, run] of [
    ['collected', async (options: Parameters<typeof generateText>[0]) => generateText(options)],
    [
      'streamed',
      async (options: Parameters<typeof streamText>[0]) => {
        const result = streamText(options);
        return { text: await result.text, steps: await result.steps };
      },
    ],
  ] as const) {
    test(`[Q15] a tool loop of three steps passes, ${how}, for ${name}`, async () => {
      await using gate = await started();
      gate.upstream.next('north', 'steady', secondCall(name));
      const { openai, sent } = clientOf(gate);
      const { text, steps } = await run({ model: openai(name), prompt: ASK, tools, stopWhen: isStepCount(5), maxRetries: 0 });
      assert.equal(steps.length, 3);
      assert.match(text, /The tool answered: Bergen is known$/);
      assert.match(sent[1]?.[1] ?? '', /^rs_/, 'the SDK refers to reasoning');
      assert.equal(sent[2]?.[4], 'rs_second');
      assert.deepEqual(arrived(gate), [['user'], ['user', ...CALLED], ['user', ...CALLED, ...CALLED]]);
    });
  }
}

test('[Q15] a reference to text is refused with advice, and following the advice works', async () => {
  await using gate = await started();
  const { openai, sent } = clientOf(gate);
  const first = await generateText({ model: openai('gpt-5.5'), prompt: 'say: hello' });
  const messages = [{ role: 'user', content: 'say: hello' }, ...first.response.messages, { role: 'user', content: 'say: again' }] as const;
  const next = { model: openai('gpt-5.5'), messages: [...messages], maxRetries: 0 };
  await assert.rejects(generateText(next), (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.equal(error.statusCode, 400);
    assert.match(error.message, /^`input\.2` refers to a stored item, but nothing is stored here; send the item itself/);
    return true;
  });
  assert.match(sent[1]?.[2] ?? '', /^msg_/);
  assert.equal((await generateText({ ...next, providerOptions: { openai: { store: false } } })).text, 'again');
});
