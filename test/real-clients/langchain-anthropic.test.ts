// LangChain's ChatAnthropic: answers, streams, tools and structured output.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
});
after(() => gate.close());

const modelOf = (): ChatAnthropic =>
  new ChatAnthropic({ model: 'model-a', anthropicApiKey: KEY, anthropicApiUrl: gate.url, maxRetries: 0, maxTokens: 1_000 });

const outputTokens = (message: object): number =>
  (message as { usage_metadata?: { output_tokens?: number } }).usage_metadata?.output_tokens ?? 0;

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const lookUp = { name: 'look_up', description: 'Looks a city up.', input_schema: schema };

test('an answer has its text and its usage', async () => {
  const answer = await modelOf().invoke([new SystemMessage('Be brief.'), new HumanMessage('say: hello there')]);
  assert.equal(answer.text, 'hello there');
  assert.ok(outputTokens(answer) > 0);
});

test('a stream has its text in pieces and its usage', async () => {
  let [text, pieces, output] = ['', 0, 0];
  for await (const chunk of await modelOf().stream('write 20 words')) {
    text += chunk.text;
    if (chunk.text !== '') pieces += 1;
    output += outputTokens(chunk);
  }
  assert.equal(text.split(' ').length, 20);
  assert.ok(pieces > 10 && output > 0);
});

test('a tool loop passes', async () => {
  const model = modelOf().bindTools([lookUp]);
  const question = new HumanMessage('call the tool look_up with {"city":"Oslo"}');
  const first = await model.invoke([question]);
  assert.deepEqual(
    first.tool_calls?.map(({ name, args }) => [name, args]),
    [['look_up', { city: 'Oslo' }]],
  );
  const result = new ToolMessage({ content: 'known', tool_call_id: first.tool_calls?.[0]?.id ?? '' });
  const second = await model.invoke([question, first, result]);
  assert.ok(second.text.length > 0);
});

test('structured output is of its schema', async () => {
  const answer = await modelOf().withStructuredOutput<{ city: string }>(schema, { name: 'place' }).invoke('Which city?');
  assert.equal(typeof answer.city, 'string');
});
