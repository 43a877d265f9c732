// The Vercel AI SDK with its Anthropic provider: texts, tool loops and structured output, collected and streamed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway();
});
after(() => gate.close());

const model = () => createAnthropic({ apiKey: KEY, baseURL: `${gate.url}/v1` })('model-a');

const citySchema = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
});

const tools = {
  look_up: tool({ description: 'Looks a city up.', inputSchema: citySchema, execute: async ({ city }) => `${city} is known` }),
};

const RUNS = [
  ['collected', async (options: Parameters<typeof generateText>[0]) => generateText(options)],
  [
    'streamed',
    async (options: Parameters<typeof streamText>[0]) => {
      const result = streamText(options);
      return { text: await result.text, steps: await result.steps, usage: await result.usage, finishReason: await result.finishReason };
    },
  ],
] as const;

for (const [how, run] of RUNS) {
  test(`a text has its reason and its usage, ${how}`, async () => {
    const { text, finishReason, usage } = await run({ model: model(), maxOutputTokens: 1_000, prompt: 'say: hello there' });
    assert.deepEqual([text, finishReason], ['hello there', 'stop']);
    assert.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0);
  });

  test(`a tool loop passes, ${how}`, async () => {
    const prompt = 'call the tool look_up with {"city":"Oslo"}';
    const { steps, finishReason } = await run({ model: model(), maxOutputTokens: 1_000, prompt, tools, stopWhen: isStepCount(3) });
    assert.deepEqual(
      steps[0]?.toolResults.map(({ output }) => output),
      ['Oslo is known'],
    );
    assert.deepEqual([steps.length, finishReason], [2, 'stop']);
  });
}

test('structured output is of its schema', async () => {
  const { output } = await generateText({
    model: model(),
    maxOutputTokens: 1_000,
    prompt: 'Which city?',
    output: Output.object({ schema: citySchema }),
  });
  assert.equal(typeof output.city, 'string');
});
