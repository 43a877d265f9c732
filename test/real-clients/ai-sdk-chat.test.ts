// The Vercel AI SDK on Chat Completions: texts, tool loops and structured output, collected and streamed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { modelEntry } from '../support/rehearsal-replies.ts';

/** The SDK treats the first model as a reasoning model, and sends other parameters for it. */
const MODELS = ['gpt-5.5', 'model-a'] as const;

const accounts = [{ id: 'north', models: MODELS.map((slug) => modelEntry({ slug })) }];

/** @param kept members that the account accepts in addition to those of RB8 */
const started = (kept: readonly string[] = []): Promise<TestGateway> =>
  startGateway({
    upstream: { accounts, manners: { knownMembers: kept.length === 0 } },
    config: (draft) => {
      for (const account of draft.accounts) account.keep_fields = [...kept];
    },
  });

const chatOf = (gate: TestGateway, name: string) => createOpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1` }).chat(name);

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

for (const name of MODELS) {
  for (const [how, run] of RUNS) {
    for (const [kept, cap] of [
      [[], undefined],
      [['max_output_tokens'], 100],
    ] as const) {
      const where = cap === undefined ? 'takes no cap' : 'takes its cap';
      test(`[RB8] a text has its reason and its usage, ${how}, for ${name} at an account that ${where}`, async () => {
        await using gate = await started(kept);
        const { text, usage, finishReason } = await run({
          model: chatOf(gate, name),
          system: 'Be brief.',
          prompt: 'say: hello there',
          maxOutputTokens: 100,
          temperature: 0,
          maxRetries: 0,
        });
        assert.deepEqual([text, finishReason], ['hello there', 'stop']);
        assert.ok((usage.outputTokens ?? 0) > 0 && (usage.inputTokens ?? 0) > 0);
        const sent = gate.upstream.turns()[0]?.json as { instructions: string; max_output_tokens?: number };
        assert.deepEqual([sent.instructions, sent.max_output_tokens], ['Be brief.', cap]);
      });
    }

    test(`a tool loop passes, ${how}, for ${name}`, async () => {
      await using gate = await started();
      const { text, steps } = await run({
        model: chatOf(gate, name),
        prompt: 'call the tool look_up with {"city":"Oslo"}\ncall the tool look_up with {"city":"Bergen"}',
        tools,
        stopWhen: isStepCount(5),
        maxRetries: 0,
      });
      assert.equal(steps.length, 2);
      assert.deepEqual(
        steps[0]?.toolResults.map(({ output }) => output),
        ['Oslo is known', 'Bergen is known'],
      );
      assert.match(text, /The tool answered: Bergen is known$/);
    });
  }

  test(`structured output is parsed, for ${name}`, async () => {
    await using gate = await started();
    const { output } = await generateText({
      model: chatOf(gate, name),
      prompt: 'say: {"city":"Oslo"}',
      output: Output.object({ schema: citySchema }),
      maxRetries: 0,
    });
    assert.deepEqual(output, { city: 'Oslo' });
    const sent = gate.upstream.turns()[0]?.json as { text: { format: { type: string; strict: boolean } } };
    assert.deepEqual([sent.text.format.type, sent.text.format.strict], ['json_schema', true]);
  });
}

test('a refusal is its error, with our status and message', async () => {
  await using gate = await started();
  await assert.rejects(generateText({ model: chatOf(gate, 'model-a'), prompt: 'hi', stopSequences: ['x'], maxRetries: 0 }), (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.deepEqual([error.statusCode, error.message], [400, '`stop` is not supported.']);
    return true;
  });
});
