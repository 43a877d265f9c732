// The official OpenAI SDK on Chat Completions: plain calls, streams, and its helpers for streams, tools and structured output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { ContentFilterFinishReasonError, LengthFinishReasonError } from 'openai/core/error';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';

const clientOf = (gate: TestGateway, baseURL = `${gate.url}/v1`): OpenAI => new OpenAI({ apiKey: KEY, baseURL, maxRetries: 0 });

const said = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];
const ask = { model: 'model-a', messages: said('say: hello there') };

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

test('a completion is collected, on both paths', async () => {
  await using gate = await startGateway();
  for (const base of ['/v1', '/backend-api/agent/v1']) {
    const completion = await clientOf(gate, gate.url + base).chat.completions.create(ask);
    assert.deepEqual(
      completion.choices.map(({ message, finish_reason }) => [message.role, message.content, finish_reason]),
      [['assistant', 'hello there', 'stop']],
    );
    assert.deepEqual([completion.object, completion.model], ['chat.completion', 'model-a']);
    assert.ok((completion.usage?.completion_tokens ?? 0) > 0);
    assert.match(completion._request_id ?? '', /^req_/);
  }
});

test('a completion is streamed, with its usage where that is asked for', async () => {
  await using gate = await startGateway();
  const stream = await clientOf(gate).chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } });
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    assert.equal(chunk.object, 'chat.completion.chunk');
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage;
  }
  assert.equal(text, 'hello there');
  assert.ok((usage?.total_tokens ?? 0) > 0);
});

test('the stream helper follows texts, refusals, and calls of both kinds to the end', async () => {
  await using gate = await startGateway();
  const tools: ChatCompletionTool[] = [
    { type: 'function', function: { name: 'look_up', parameters } },
    { type: 'custom', custom: { name: 'apply_patch' } },
  ];
  const messages = said('say: both\ncall the tool look_up with {"city":"Oslo, Norway"}\ncall the tool apply_patch with *** {"a": b');
  const stream = clientOf(gate).chat.completions.stream({ model: 'model-a', messages, tools });
  const deltas: string[] = [];
  stream.on('tool_calls.function.arguments.delta', ({ arguments_delta }) => void deltas.push(arguments_delta));
  const { choices } = await stream.finalChatCompletion();
  const [choice] = choices;
  assert.deepEqual([choice?.message.content, choice?.finish_reason], ['both', 'tool_calls']);
  assert.deepEqual(
    choice?.message.tool_calls?.map((call) => (call.type === 'function' ? call.function.arguments : call.custom.input)),
    ['{"city":"Oslo, Norway"}', '*** {"a": b'],
  );
  assert.ok(deltas.length > 1);

  const refused = clientOf(gate).chat.completions.stream({ model: 'model-a', messages: said('decline') });
  const { content, refusal } = await refused.finalMessage();
  assert.match(refusal ?? '', /declines/);
  assert.equal(content, null);
});

test('the tool runner calls functions and continues with their results, collected and streamed', async () => {
  await using gate = await startGateway();
  const called: string[] = [];
  const look_up = {
    type: 'function' as const,
    function: {
      name: 'look_up',
      description: 'Looks a city up.',
      parameters,
      parse: JSON.parse as (text: string) => { city: string },
      function: ({ city }: { city: string }) => {
        called.push(city);
        return `${city} is known`;
      },
    },
  };
  const body = {
    model: 'model-a',
    messages: said('call the tool look_up with {"city":"Oslo"}\ncall the tool look_up with {"city":"Bergen"}'),
  };
  const { completions } = clientOf(gate).chat;
  for (const start of [
    () => completions.runTools({ ...body, tools: [look_up] }),
    () => completions.runTools({ ...body, tools: [look_up], stream: true }),
  ]) {
    const runner = start();
    assert.match((await runner.finalContent()) ?? '', /The tool answered: Bergen is known$/);
    assert.deepEqual(called.splice(0), ['Oslo', 'Bergen']);
  }
  const types = gate.upstream.turns().map(({ json }) => (json as { input: { type: string }[] }).input.map(({ type }) => type));
  const loop = ['message', 'function_call', 'function_call', 'function_call_output', 'function_call_output'];
  assert.deepEqual(types, [['message'], loop, ['message'], loop]);
});

test('structured output is parsed by the helpers, and a cut one is their error', async () => {
  await using gate = await startGateway();
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false };
  const format = {
    type: 'json_schema' as const,
    json_schema: { name: 'answer', strict: true, schema },
    $brand: 'auto-parseable-response-format' as const,
    $parseRaw: JSON.parse as (text: string) => { ok: boolean },
  };
  const { completions } = clientOf(gate).chat;
  const body = { model: 'model-a', messages: said('anything'), response_format: format as never };
  assert.deepEqual((await completions.parse(body)).choices[0]?.message.parsed, { ok: true });
  assert.deepEqual((await completions.stream(body).finalChatCompletion()).choices[0]?.message.parsed, { ok: true });
  await assert.rejects(completions.parse({ ...body, messages: said('say: {\nstop short') }), LengthFinishReasonError);
  await assert.rejects(completions.parse({ ...body, messages: said('say: {\nstop filtered') }), ContentFilterFinishReasonError);
});

test('images, audio and files go to the account', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  await clientOf(gate).chat.completions.create({
    model: 'model-a',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'say: seen' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
        ],
      },
    ],
  });
  const sent = gate.upstream.turns()[0]?.json as { instructions: string; input: { content: { type: string }[] }[] };
  assert.equal(sent.instructions, 'Be brief.');
  assert.deepEqual(
    sent.input[0]?.content.map(({ type }) => type),
    ['input_text', 'input_image', 'input_audio', 'input_file'],
  );
});

test('refusals and broken streams are its error classes', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const { completions } = clientOf(gate).chat;
  await assert.rejects(completions.create({ ...ask, n: 2 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.code, error.param], ['unsupported_parameter', 'n']);
    return true;
  });
  for (const [script, code] of [
    ['refuse inside invalid_prompt', 'invalid_prompt'],
    ['refuse inside server_error after 9 events', 'server_error'],
    ['reset after 9 events', 'server_error'],
    ['no terminal', 'server_error'],
  ] as const) {
    gate.heal();
    gate.upstream.next('north', script, script);
    const failed = (error: unknown): boolean => {
      assert.ok(error instanceof OpenAI.APIError, String(error));
      assert.equal(error.code, code, script);
      return true;
    };
    const messages = said('write 20 words');
    await assert.rejects(async () => {
      for await (const _ of await completions.create({ ...ask, messages, stream: true }));
    }, failed);
    await assert.rejects(completions.stream({ ...ask, messages }).finalChatCompletion(), failed);
  }
});

test('an abort ends the turn at the account', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', 'stall after 8 events');
  const stream = await clientOf(gate).chat.completions.create({ ...ask, stream: true });
  await gate.upstream.stalled('north');
  stream.controller.abort();
  const [turn] = await gate.upstream.arrived(1);
  assert.equal(await turn?.closed, 'left');
});
