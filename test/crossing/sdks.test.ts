// The SDKs that programs use, each in a tool loop that begins at an agent account: a script in the output of the tool uses up its quota,
// and the loop ends at an account of another API, as docs/accounts.md shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from 'ai';
import OpenAI from 'openai';
import type { TestGateway } from '../support/gateway.ts';
import { keyOf, type Server, startStage } from './stage.ts';

const QUESTION = 'call the tool look_up with {"city":"Oslo"}';
const SPENT = 'rehearse: native: refuse 429 usage_limit_reached resets 600';
const KEY = keyOf('pair');
const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const NAME = 'look_up';

/** Runs the loop, and returns its last text. */
type Loop = (url: string) => Promise<string>;

const openai = (url: string): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });

const aiTools = {
  look_up: tool({ description: 'Looks up.', inputSchema: jsonSchema<{ city: string }>(schema), execute: async () => SPENT }),
};
const aiLoop = (modelOf: (url: string) => LanguageModel): Readonly<Record<string, Loop>> => {
  const options = (url: string) => ({ model: modelOf(url), prompt: QUESTION, tools: aiTools, maxRetries: 0, stopWhen: isStepCount(3) });
  // The gateway stores nothing (Q15).
  const providerOptions = { openai: { store: false } };
  return {
    collected: async (url) => (await generateText({ ...options(url), providerOptions })).text,
    streamed: async (url) => await streamText({ ...options(url), providerOptions }).text,
  };
};

async function langchainLoop(model: Pick<ReturnType<ChatOpenAI['bindTools']>, 'invoke'>): Promise<string> {
  const asked: BaseMessage[] = [new HumanMessage(QUESTION)];
  const first = await model.invoke(asked);
  const result = new ToolMessage({ content: SPENT, tool_call_id: first.tool_calls?.[0]?.id ?? '' });
  return (await model.invoke([...asked, first, result])).text;
}

const langchainTool = { type: 'function' as const, function: { name: NAME, description: 'Looks up.', parameters: schema } };
const langchainOf =
  (useResponsesApi: boolean): Loop =>
  (url) =>
    langchainLoop(
      new ChatOpenAI({
        model: 'model-a',
        apiKey: KEY,
        useResponsesApi,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
        ...(useResponsesApi ? { zdrEnabled: true } : {}),
      }).bindTools([langchainTool]),
    );

const LOOPS: Readonly<Record<string, Loop>> = {
  async 'the OpenAI SDK with Responses'(url) {
    const tools = [{ type: 'function' as const, name: NAME, strict: false, parameters: schema }];
    const asked: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: QUESTION }];
    const common = { model: 'model-a', tools, store: false, include: ['reasoning.encrypted_content' as const] };
    const first = await openai(url).responses.create({ ...common, input: asked });
    const call = first.output.find(({ type }) => type === 'function_call');
    const result = { type: 'function_call_output' as const, call_id: call?.type === 'function_call' ? call.call_id : '', output: SPENT };
    const input = [...asked, ...(first.output as OpenAI.Responses.ResponseInputItem[]), result];
    return (
      await openai(url)
        .responses.stream({ ...common, input })
        .finalResponse()
    ).output_text;
  },
  async 'the OpenAI SDK with Chat'(url) {
    const tools = [{ type: 'function' as const, function: { name: NAME, parameters: schema } }];
    const asked: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }];
    const first = await openai(url).chat.completions.create({ model: 'model-a', tools, messages: asked });
    const message = first.choices[0]?.message ?? assert.fail();
    const messages = [...asked, message, { role: 'tool' as const, tool_call_id: message.tool_calls?.[0]?.id ?? '', content: SPENT }];
    const last = await openai(url).chat.completions.stream({ model: 'model-a', tools, messages }).finalChatCompletion();
    return last.choices[0]?.message.content ?? '';
  },
  async 'the Anthropic SDK'(url) {
    const client = new Anthropic({ baseURL: url, apiKey: KEY, authToken: null, maxRetries: 0 });
    const common = { model: 'model-a', max_tokens: 1_000, tools: [{ name: NAME, description: 'Looks up.', input_schema: schema }] };
    const asked: Anthropic.MessageParam = { role: 'user', content: QUESTION };
    const first = await client.messages.create({ ...common, messages: [asked] });
    const use = first.content.find(({ type }) => type === 'tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: use?.type === 'tool_use' ? use.id : '', content: SPENT };
    const messages: Anthropic.MessageParam[] = [asked, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }];
    const last = await client.messages.stream({ ...common, messages }).finalMessage();
    return last.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  },
  ...Object.fromEntries(
    Object.entries({
      'the OpenAI provider of the AI SDK with Responses': (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY })('model-a'),
      'the OpenAI provider of the AI SDK with Chat': (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat('model-a'),
      'the Anthropic provider of the AI SDK': (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })('model-a'),
    }).flatMap(([name, modelOf]) => Object.entries(aiLoop(modelOf)).map(([how, loop]) => [`${name}, ${how}`, loop])),
  ),
  'ChatOpenAI of LangChain with Responses': langchainOf(true),
  'ChatOpenAI of LangChain with Chat': langchainOf(false),
  'ChatAnthropic of LangChain': (url) =>
    langchainLoop(
      new ChatAnthropic({ model: 'model-a', anthropicApiKey: KEY, anthropicApiUrl: url, maxRetries: 0, maxTokens: 1_000 }).bindTools([
        { name: NAME, description: 'Looks up.', input_schema: schema },
      ]) as unknown as Parameters<typeof langchainLoop>[0],
    ),
};

const OTHERS: readonly Server[] = [
  { id: 'platform', api: 'responses' },
  { id: 'box', api: 'chat' },
];

const startPair = (other: Server): Promise<TestGateway> =>
  startStage({ servers: [{ id: 'native', api: 'agent' }, other], pools: { pair: ['native', other.id] } });

for (const other of OTHERS) {
  for (const [name, loop] of Object.entries(LOOPS)) {
    test(`[AA91] a tool loop of ${name} ends at a ${other.api} account`, async () => {
      await using gate = await startPair(other);
      const text = await loop(gate.url);
      assert.equal(text, `This is the rehearsal provider answering as ${other.id}. The tool answered: ${SPENT}`);
      assert.deepEqual([gate.upstream.turns('native').length, gate.upstream.turns(other.id).length], [2, 1]);
    });
  }
}
