// LangChain's ChatOpenAI in both of its modes, Chat Completions and Responses: answers, streams, tools, structured output, usage.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false } as const;
const lookUp = { type: 'function', function: { name: 'look_up', description: 'Looks a city up.', parameters } } as const;

type Asked = ReturnType<ChatOpenAI['bindTools']>;

/** The message that a client assembles from the pieces of a stream. */
async function whole(pieces: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let message: AIMessageChunk | undefined;
  for await (const piece of pieces) message = message?.concat(piece) ?? piece;
  return message ?? assert.fail('an empty stream');
}

for (const useResponsesApi of [false, true]) {
  describe(useResponsesApi ? 'with Responses' : 'with Chat Completions', () => {
    const modelOf = (gate: TestGateway, options: ConstructorParameters<typeof ChatOpenAI>[0] = {}): ChatOpenAI =>
      new ChatOpenAI({
        model: 'model-a',
        apiKey: KEY,
        useResponsesApi,
        maxRetries: 0,
        configuration: { baseURL: `${gate.url}/v1` },
        // The gateway stores nothing (Q15).
        ...(useResponsesApi ? { zdrEnabled: true } : {}),
        ...options,
      });
    const textOf = ({ text }: { readonly text: string }): string => text;
    const outputTokens = (message: object): number =>
      (message as { usage_metadata?: { output_tokens?: number } }).usage_metadata?.output_tokens ?? 0;

    test('an answer has its text, its reason and its usage', async () => {
      await using gate = await startGateway();
      const answer = await modelOf(gate).invoke([new SystemMessage('Be brief.'), new HumanMessage('say: hello there')]);
      assert.equal(textOf(answer), 'hello there');
      assert.ok(outputTokens(answer) > 0);
      const sent = gate.upstream.turns()[0]?.json as { instructions: string };
      assert.equal(sent.instructions, 'Be brief.');
    });

    test('a stream has its text in pieces and its usage at the end', async () => {
      await using gate = await startGateway();
      let text = '';
      let pieces = 0;
      let output = 0;
      for await (const chunk of await modelOf(gate).stream('write 20 words')) {
        text += textOf(chunk);
        if (textOf(chunk) !== '') pieces += 1;
        output += outputTokens(chunk);
      }
      assert.equal(text.split(' ').length, 20);
      assert.ok(pieces > 10 && output > 0);
    });

    for (const [how, ask] of [
      ['collected', (model: Asked, messages: BaseMessage[]) => model.invoke(messages)],
      ['streamed', async (model: Asked, messages: BaseMessage[]) => whole(await model.stream(messages))],
    ] as const) {
      test(`a tool loop passes, ${how}`, async () => {
        await using gate = await startGateway();
        const model = modelOf(gate).bindTools([lookUp]);
        const question = new HumanMessage('call the tool look_up with {"city":"Oslo"}\ncall the tool look_up with {"city":"Bergen"}');
        const first = await ask(model, [question]);
        assert.deepEqual(
          first.tool_calls?.map(({ name, args }) => [name, args]),
          [
            ['look_up', { city: 'Oslo' }],
            ['look_up', { city: 'Bergen' }],
          ],
        );
        const results = (first.tool_calls ?? []).map(
          ({ id = '', args }) => new ToolMessage({ tool_call_id: id, content: `${args.city} is known` }),
        );
        const second = await ask(model, [question, first, ...results]);
        assert.match(textOf(second), /The tool answered: Bergen is known$/);
      });
    }

    test('structured output is parsed', async () => {
      await using gate = await startGateway();
      const schema = {
        title: 'answer',
        type: 'object',
        properties: { ok: { type: 'boolean' } },
        required: ['ok'],
        additionalProperties: false,
      };
      for (const method of ['jsonSchema', 'functionCalling'] as const) {
        const model = modelOf(gate).withStructuredOutput(schema, { method, strict: true, name: 'answer' });
        assert.deepEqual(await model.invoke('anything'), { ok: true }, method);
      }
    });

    test('a refusal is its error, with our message', async () => {
      await using gate = await startGateway();
      await assert.rejects(modelOf(gate, { model: 'model-z' }).invoke('hi'), /400 The requested model is unknown: GET \/v1\/models lists/);
    });
  });
}
