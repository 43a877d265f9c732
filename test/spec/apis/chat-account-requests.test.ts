// The request that a Chat account gets for a turn: messages, tools and settings (AA40 to AA45, AA14, AA16, AA27).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { CHAT, type ChatStage, chatStage, look, PUBLIC, parts, user } from '../../providers/chat/chat-stage.ts';
import { HELLO, streamed } from '../../providers/chat/completions.ts';

let stage: ChatStage;
before(async () => {
  stage = await chatStage({ model: { input_modalities: ['text', 'image', 'file', 'audio'], max_output: 1_000 } });
});
after(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

/** Runs with other settings of the account, and restores the former ones. */
async function withAccount(account: JsonObject, model: JsonObject, run: () => Promise<void>): Promise<void> {
  await stage.configure({ account, model });
  try {
    await run();
  } finally {
    await stage.configure({});
  }
}

const withQuirks = (quirks: JsonObject, run: () => Promise<void>): Promise<void> => withAccount({ quirks }, {}, run);

const assistant = (text: string): JsonObject => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
const system = (role: string, text: string): JsonObject => ({ type: 'message', role, content: [{ type: 'input_text', text }] });
const called = (call_id: string, args: Json = '{}', name = 'look'): JsonObject => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
});
const output = (call_id: string, value: Json): JsonObject => ({ type: 'function_call_output', call_id, output: value });

const toolCall = (id: string, args = '{}', name = 'look'): JsonObject => ({ id, type: 'function', function: { name, arguments: args } });
const result = (id: string, content: Json): JsonObject => ({ role: 'tool', tool_call_id: id, content });

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const image: JsonObject = { type: 'input_image', image_url: PNG, detail: 'low' };

describe('the members of the request', () => {
  test('[AA40] are those of Chat that the turn needs, and no others', async () => {
    const sent = await stage.sent({
      input: [user('hi')],
      instructions: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 500,
      reasoning: { effort: 'low', summary: 'auto' },
      tools: [],
      metadata: {},
      store: false,
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      client_metadata: { a: 'b' },
      parallel_tool_calls: true,
    });
    assert.deepEqual(sent, {
      model: 'own-c',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_completion_tokens: 500,
      reasoning_effort: 'low',
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('[AA40] equal turns give equal bytes', async () => {
    const members = { input: [user('hi'), called('a'), output('a', 'x')], tools: [look], reasoning: { effort: 'low' } };
    const bytes: string[] = [];
    for (let i = 0; i < 2; i++) {
      await stage.sent(members);
      bytes.push(String(stage.platform.requests[0]?.body));
    }
    assert.equal(bytes[0], bytes[1]);
  });

  test('[AA40] a Chat client goes through both translations', async () => {
    const sent = await stage.sent(
      {
        messages: [
          { role: 'system', content: 'S' },
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: null, tool_calls: [toolCall('c1')] },
          { role: 'tool', tool_call_id: 'c1', content: 'found' },
        ],
        tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
        max_tokens: 20,
      },
      CHAT,
    );
    assert.deepEqual(sent.messages, [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [toolCall('c1')] },
      result('c1', 'found'),
    ]);
    assert.equal(sent.max_completion_tokens, 20);
  });

  test('[AA40] the output cap is at most what the model has', async () => {
    assert.equal((await stage.sent({ input: [user('hi')], max_output_tokens: 5_000 })).max_completion_tokens, 1_000);
  });

  test('[AA40] optional members go out where `keep` has them', async () => {
    const optional = {
      metadata: { a: 'b' },
      service_tier: 'flex',
      user: 'u',
      safety_identifier: 's',
      text: { verbosity: 'low' },
    };
    const body = { input: [user('hi')], ...optional };
    const without = await stage.sent(body);
    for (const name of ['metadata', 'service_tier', 'user', 'safety_identifier', 'verbosity']) assert.equal(without[name], undefined, name);
    await withQuirks({ keep: ['metadata', 'service_tier', 'user', 'safety_identifier', 'verbosity'] }, async () => {
      const { metadata, service_tier, user: named, safety_identifier, verbosity } = await stage.sent(body);
      assert.deepEqual([metadata, service_tier, named, safety_identifier, verbosity], [{ a: 'b' }, 'flex', 'u', 's', 'low']);
    });
  });

  test('[AA38] the cache key goes out as a digest', async () => {
    await withQuirks({ keep: ['prompt_cache_key'] }, async () => {
      const { prompt_cache_key: key } = await stage.sent({ input: [user('hi')], prompt_cache_key: 'of the client' });
      assert.match(key, /^[\w-]{43}$/);
    });
  });

  test('[AA15] drop_fields names members of the request after its translation', async () => {
    await withAccount({ drop_fields: ['max_completion_tokens', 'temperature'] }, {}, async () => {
      const sent = await stage.sent({ input: [user('hi')], max_output_tokens: 10, temperature: 1 });
      assert.deepEqual([sent.max_completion_tokens, sent.temperature], [undefined, undefined]);
    });
  });
});

describe('messages', () => {
  const cases: readonly (readonly [string, readonly Json[], readonly JsonObject[]])[] = [
    [
      '[AA40] leading developer messages are one developer message',
      [system('developer', 'A'), system('developer', 'B'), user('hi')],
      [
        { role: 'developer', content: 'A\n\nB' },
        { role: 'user', content: 'hi' },
      ],
    ],
    [
      '[AA46] texts of every type are texts',
      [
        user([{ type: 'summary_text', text: 'a' }]),
        { type: 'message', role: 'assistant', content: [{ type: 'reasoning_text', text: 'b' }] },
        user('c'),
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    ],
    [
      '[AA40] several texts are parts, one is a string; the assistant has a string',
      [user(parts('a', 'b')), assistant('c'), user(parts('d'))],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'assistant', content: 'c' },
        { role: 'user', content: 'd' },
      ],
    ],
    [
      '[AA40] a refusal of the assistant is its text',
      [user('a'), { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, user('b')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'No.' },
        { role: 'user', content: 'b' },
      ],
    ],
    ['[AA41] a message without content is left out', [user(''), user('a'), user([])], [{ role: 'user', content: 'a' }]],
    [
      '[AA41] a request without a user message ends with one',
      [system('developer', 'S')],
      [
        { role: 'developer', content: 'S' },
        { role: 'user', content: 'Continue.' },
      ],
    ],
    [
      '[AA42] the calls of a run are one assistant message, with the text before them',
      [user('a'), assistant('I look.'), called('x'), called('y'), output('x', '1'), output('y', '2')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'I look.', tool_calls: [toolCall('x'), toolCall('y')] },
        result('x', '1'),
        result('y', '2'),
      ],
    ],
    [
      '[AA42] text after the calls of a run comes behind their results',
      [user('a'), called('x'), assistant('Later.'), output('x', '1')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x')] },
        result('x', '1'),
        { role: 'assistant', content: 'Later.' },
      ],
    ],
    [
      '[AA42] arguments that are no JSON object are put into one',
      [user('a'), called('x', ''), called('y', 'plain'), called('z', '[1]'), output('x', '1'), output('y', '2'), output('z', '3')],
      [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [toolCall('x', '{}'), toolCall('y', '{"input":"plain"}'), toolCall('z', '{"input":"[1]"}')],
        },
        result('x', '1'),
        result('y', '2'),
        result('z', '3'),
      ],
    ],
    [
      '[AA43] results follow in the order of their calls; what came between comes behind',
      [user('a'), called('x'), called('y'), user('b'), output('y', '2'), output('x', '1')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x'), toolCall('y')] },
        result('x', '1'),
        result('y', '2'),
        { role: 'user', content: 'b' },
      ],
    ],
    [
      '[AA43] a call without an output gets one, an output without a call becomes a user message',
      [user('a'), called('x'), user('b'), output('lost', 'found')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x')] },
        result('x', '(no output)'),
        { role: 'user', content: 'b' },
        { role: 'user', content: 'Tool output:\nfound' },
      ],
    ],
    [
      '[AA43] a list of texts is joined',
      [user('a'), called('x'), output('x', parts('one', 'two'))],
      [{ role: 'user', content: 'a' }, { role: 'assistant', content: null, tool_calls: [toolCall('x')] }, result('x', 'one\n\ntwo')],
    ],
    [
      '[AA14] an image of a tool output moves to a user message behind the results',
      [user('a'), called('x'), output('x', [{ type: 'input_text', text: 'seen' }, image])],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x')] },
        result('x', 'seen'),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Of the tool outputs above:' },
            { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
          ],
        },
      ],
    ],
    [
      '[AA20] hosted calls of the history are left out; a generated image becomes a user image',
      [
        user('a'),
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
        { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aW1n' },
        user('b'),
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aW1n' } }] },
        { role: 'user', content: 'b' },
      ],
    ],
    [
      '[AA22] reasoning without a capsule is left out, whatever its id',
      [user('a'), { type: 'reasoning', id: 'rs_1', summary: [] }, { type: 'reasoning', summary: [] }, assistant('b'), user('c')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    ],
  ];
  for (const [title, input, expected] of cases) {
    test(title, async () => assert.deepEqual(await stage.messages(input), expected));
  }

  test('[AA40] with instructions among them they are one system message', async () => {
    const messages = await stage.messages([system('developer', 'B'), user('hi')], { instructions: 'A' });
    assert.deepEqual(messages[0], { role: 'system', content: 'A\n\nB' });
  });

  test('[AA40] images, files and audio are parts', async () => {
    await withQuirks({ files: 'data', audio: 'data' }, async () => {
      const [message] = await stage.messages([
        user([
          { type: 'input_text', text: 'see' },
          image,
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
          { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        ]),
      ]);
      assert.deepEqual(message?.content, [
        { type: 'text', text: 'see' },
        { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
      ]);
    });
  });

  test('[AA42] an id that is missing, used twice or over 40 characters is replaced in call and output alike', async () => {
    const long = 'c'.repeat(41);
    const input = [
      user('a'),
      called('x'),
      output('x', '1'),
      called('x'),
      output('x', '2'),
      called(long),
      output(long, '3'),
      { type: 'function_call', name: 'look', arguments: '{}' },
      { type: 'function_call_output', output: '4' },
    ];
    const messages = await stage.messages(input);
    const calls = messages.flatMap(({ tool_calls }) => (tool_calls ?? []) as readonly JsonObject[]).map(({ id }) => String(id));
    const results = messages.filter(({ role }) => role === 'tool').map(({ tool_call_id: id, content }) => [id, content]);
    assert.deepEqual(
      results,
      calls.map((id, i) => [id, String(i + 1)]),
    );
    assert.equal(new Set(calls).size, 4);
    assert.ok(calls.every((id) => id.length <= 40 && id !== ''));
    assert.deepEqual(await stage.messages(input), messages);
  });

  test('[AA43] an earlier image that the account does not take is a word', async () => {
    await withAccount({}, { input_modalities: ['text'] }, async () => {
      const messages = await stage.messages([user('a'), called('x'), output('x', [image]), user('b')]);
      assert.deepEqual(messages[2], result('x', '(image)'));
    });
  });
});

describe('quirks', () => {
  const late = [system('developer', 'A'), user('a'), system('developer', 'B'), user('b')];
  const cases: readonly (readonly [string, JsonObject, readonly Json[], readonly JsonObject[]])[] = [
    [
      '[AA14] developer_role: false',
      { developer_role: false },
      late,
      [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'a' },
        { role: 'system', content: 'B' },
        { role: 'user', content: 'b' },
      ],
    ],
    [
      '[AA41] late_system: user',
      { late_system: 'user' },
      late,
      [
        { role: 'developer', content: 'A' },
        { role: 'user', content: 'a' },
        { role: 'user', content: 'Developer message: B' },
        { role: 'user', content: 'b' },
      ],
    ],
    [
      '[AA41] late_system: merge',
      { late_system: 'merge' },
      late,
      [
        { role: 'developer', content: 'A\n\nB' },
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    ],
    ['[AA14] content: string', { content: 'string' }, [user(parts('a', 'b'))], [{ role: 'user', content: 'a\n\nb' }]],
    [
      '[AA14] tool_result_images: tool',
      { tool_result_images: 'tool' },
      [user('a'), called('x'), output('x', [image])],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x')] },
        result('x', [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }]),
      ],
    ],
    [
      '[AA14] tool_result_name and assistant_after_tool',
      { tool_result_name: true, assistant_after_tool: true },
      [user('a'), called('x'), output('x', '1'), user('b')],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: [toolCall('x')] },
        { role: 'tool', tool_call_id: 'x', name: 'look', content: '1' },
        { role: 'assistant', content: 'OK.' },
        { role: 'user', content: 'b' },
      ],
    ],
  ];
  for (const [title, quirks, input, expected] of cases) {
    test(title, () => withQuirks(quirks, async () => assert.deepEqual(await stage.messages(input), expected)));
  }

  test('[AA14] tool_ids: alnum9', async () => {
    await withQuirks({ tool_ids: 'alnum9' }, async () => {
      const messages = await stage.messages([user('a'), called('call_1'), output('call_1', '1')]);
      const [id] = ((messages[1]?.tool_calls ?? []) as readonly JsonObject[]).map((one) => String(one.id));
      assert.match(id ?? '', /^[a-z0-9]{9}$/);
      assert.equal(messages[2]?.tool_call_id, id);
    });
  });

  const members: readonly (readonly [string, JsonObject, JsonObject, JsonObject])[] = [
    ['max_tokens: max_tokens', { max_tokens: 'max_tokens' }, { max_output_tokens: 9 }, { max_tokens: 9, max_completion_tokens: undefined }],
    ['max_tokens: none', { max_tokens: 'none' }, { max_output_tokens: 9 }, { max_tokens: undefined, max_completion_tokens: undefined }],
    ['stream_options: false', { stream_options: false }, {}, { stream: true, stream_options: undefined }],
    [
      'parallel_tool_calls: false',
      { parallel_tool_calls: false },
      { tools: [look], parallel_tool_calls: true },
      { parallel_tool_calls: undefined },
    ],
    ['parallel_tool_calls: true', {}, { tools: [look], parallel_tool_calls: false }, { parallel_tool_calls: false }],
    ['stream: never', { stream: 'never' }, {}, { stream: false, stream_options: undefined }],
    ['stream: without_tools', { stream: 'without_tools' }, { tools: [look] }, { stream: false }],
    [
      'effort: reasoning',
      { effort: 'reasoning' },
      { reasoning: { effort: 'low' } },
      { reasoning: { effort: 'low' }, reasoning_effort: undefined },
    ],
    [
      'effort: thinking',
      { effort: 'thinking', effort_values: { none: 'off', medium: 'high' } },
      { reasoning: { effort: 'medium' } },
      { thinking: { type: 'enabled' }, reasoning_effort: 'high' },
    ],
    [
      'effort: thinking, off',
      { effort: 'thinking', effort_values: { none: 'off' } },
      { reasoning: { effort: 'none' } },
      { thinking: { type: 'disabled' }, reasoning_effort: undefined },
    ],
    ['effort: none', { effort: 'none' }, { reasoning: { effort: 'low' } }, { reasoning_effort: undefined }],
    [
      'tool_choice_named: false',
      { tool_choice_named: false },
      { tools: [look, { ...look, name: 'other' }], tool_choice: { type: 'function', name: 'other' } },
      { tool_choice: 'required', tools: [{ type: 'function', function: { name: 'other', parameters: look.parameters, strict: false } }] },
    ],
    [
      'strict: false and tool_description: required',
      { strict: false, tool_description: 'required' },
      { tools: [look] },
      { tools: [{ type: 'function', function: { name: 'look', description: 'look', parameters: look.parameters } }] },
    ],
  ];
  for (const [title, quirks, body, expected] of members) {
    test(`[AA14] ${title}`, () =>
      withQuirks(quirks, async () => {
        const sent = await stage.sent({ input: [user('hi')], ...body });
        assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, sent[name]])), expected);
      }));
  }

  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
  const format = { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } };

  test('[AA40] a format goes out as response_format', async () => {
    const { response_format } = await stage.sent({ input: [user('hi')], ...format });
    assert.deepEqual(response_format, { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } });
    assert.deepEqual((await stage.sent({ input: [user('json')], text: { format: { type: 'json_object' } } })).response_format, {
      type: 'json_object',
    });
    assert.equal((await stage.sent({ input: [user('hi')], text: { format: { type: 'text' } } })).response_format, undefined);
  });

  test('[AA14] json_schema: plain, and [AA41] json_object with the schema at the end of the system text', async () => {
    await withQuirks({ json_schema: 'plain' }, async () => {
      const { response_format } = await stage.sent({ input: [user('hi')], ...format });
      assert.deepEqual(response_format.json_schema, { name: 'answer', schema });
    });
    await withQuirks({ json_schema: 'json_object' }, async () => {
      const { response_format, messages } = await stage.sent({ input: [user('hi')], instructions: 'Be brief.', ...format });
      assert.deepEqual(response_format, { type: 'json_object' });
      assert.match(messages[0].content, /^Be brief\.\n\n\{"type":"object".*one JSON object/s);
    });
  });
});

describe('effort', () => {
  const cases: readonly (readonly [string, Json, JsonObject, string | undefined])[] = [
    ['a declared level goes out', ['low', 'high'], { effort: 'high' }, 'high'],
    ['else the nearest one below', ['low', 'high'], { effort: 'medium' }, 'low'],
    ['else the lowest', ['medium', 'high'], { effort: 'low' }, 'medium'],
    ['none to a model that does not reason', [], { effort: 'low' }, undefined],
    ['nothing is invented', ['low'], {}, undefined],
  ];
  for (const [title, reasoning_levels, reasoning, expected] of cases) {
    test(`[AA45] ${title}`, () =>
      withAccount({}, { reasoning_levels }, async () => {
        assert.equal((await stage.sent({ input: [user('hi')], reasoning })).reasoning_effort, expected);
      }));
  }

  test('[AA45] without declared levels it goes out as the alias has left it; an update among the items counts', async () => {
    assert.equal((await stage.sent({ input: [user('hi')], reasoning: { effort: 'minimal' } })).reasoning_effort, 'low');
    const update = { type: 'configuration_update', reasoning: { effort: 'high' } };
    const sent = await stage.sent({ input: [user('hi'), update], reasoning: { effort: 'low' } });
    assert.deepEqual([sent.reasoning_effort, sent.messages.length], ['high', 1]);
  });
});

describe('tools', () => {
  const custom: JsonObject = {
    type: 'custom',
    name: 'patch',
    description: 'Applies.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  };
  const long = 'n'.repeat(60);
  const tools: readonly JsonObject[] = [
    look,
    custom,
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }] },
    { type: 'namespace', name: long, tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }] },
    { type: 'local_shell' },
    {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds.',
      parameters: { type: 'object', properties: { goal: { type: 'string' } } },
    },
    { type: 'web_search' },
  ];
  const functionsOf = (sent: { readonly tools: readonly JsonObject[] }): readonly JsonObject[] =>
    sent.tools.map((tool) => tool.function as JsonObject);

  test('[AA27] tools that are no functions are lowered, hosted ones left out', async () => {
    const functions = functionsOf(await stage.sent({ input: [user('hi')], tools }));
    const names = functions.map(({ name }) => String(name));
    assert.deepEqual(names.slice(0, 3), ['look', 'patch', 'files__read']);
    assert.match(names[3] ?? '', /^n{47}_[0-9a-f]{16}$/);
    assert.deepEqual(names.slice(4), ['local_shell', 'tool_search']);
    assert.deepEqual(((functions[1]?.parameters ?? {}) as JsonObject).required, ['input']);
    assert.match(String(functions[1]?.description), /^Applies\.\n\nThe input must match this lark grammar:\nstart: "x"$/);
  });

  test('[AA27] items of the history go out as calls of the same functions', async () => {
    const messages = await stage.messages(
      [
        user('a'),
        { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'p "q"' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'done' },
        { type: 'function_call', call_id: 'n', namespace: 'files', name: 'read', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'n', output: 'text' },
        { type: 'local_shell_call', call_id: 's', action: { type: 'exec', command: ['ls'], timeout_ms: 5 } },
        { type: 'local_shell_call_output', call_id: 's', output: 'files' },
        { type: 'tool_search_call', call_id: 't', execution: 'client', arguments: { goal: 'g' } },
        {
          type: 'tool_search_output',
          call_id: 't',
          execution: 'client',
          tools: [{ type: 'function', name: 'found', parameters: { type: 'object', properties: {} } }],
        },
      ],
      { tools },
    );
    const calls = messages
      .flatMap(({ tool_calls }) => (tool_calls ?? []) as readonly JsonObject[])
      .map((one) => one.function as JsonObject);
    assert.deepEqual(calls, [
      { name: 'patch', arguments: '{"input":"p \\"q\\""}' },
      { name: 'files__read', arguments: '{"a":1}' },
      { name: 'local_shell', arguments: '{"command":["ls"],"timeout_ms":5}' },
      { name: 'tool_search', arguments: '{"goal":"g"}' },
    ]);
    const names = functionsOf(stage.platform.requests[0]?.json).map(({ name }) => name);
    assert.equal(names.at(-1), 'found');
  });

  test('[AA40] the choice among tools', async () => {
    const choices: readonly (readonly [Json, Json | undefined, number])[] = [
      ['auto', 'auto', 2],
      ['none', 'none', 2],
      ['required', 'required', 2],
      [{ type: 'function', name: 'look' }, { type: 'function', function: { name: 'look' } }, 2],
      [{ type: 'custom', name: 'patch' }, { type: 'function', function: { name: 'patch' } }, 2],
      [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'patch' }] }, 'required', 1],
    ];
    for (const [tool_choice, expected, count] of choices) {
      const sent = await stage.sent({ input: [user('hi')], tools: [look, custom], tool_choice });
      assert.deepEqual([sent.tool_choice, sent.tools.length], [expected, count], JSON.stringify(tool_choice));
    }
    assert.equal((await stage.sent({ input: [user('hi')], tool_choice: 'auto' })).tool_choice, undefined);
  });

  test('[AA26] a turn in Lite goes out as its client wrote it', async () => {
    const turn = { input: [user('hi')], tools: [look], instructions: 'Be brief.' };
    const full = await stage.sent(turn);
    await stage.gate.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'lite' };
    });
    try {
      const lite = await stage.sent(turn);
      assert.deepEqual(lite, full);
      assert.deepEqual([lite.messages[0], lite.parallel_tool_calls], [{ role: 'system', content: 'Be brief.' }, undefined]);
      assert.equal((await stage.sent({ ...turn, parallel_tool_calls: true })).parallel_tool_calls, true);
    } finally {
      await stage.gate.reconfigure((draft) => {
        delete draft.pools[0].serving_modes;
      });
    }
  });

  test('[AA26] tools of additional_tools items join the others', async () => {
    const sent = await stage.sent({
      input: [
        { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [custom, { type: 'function', name: 'bare', parameters: {} }] },
        user('hi'),
      ],
      tools: [look],
    });
    assert.deepEqual(
      functionsOf(sent).map(({ name }) => name),
      ['look', 'patch', 'bare'],
    );
    // Servers require the type object at the root.
    assert.deepEqual(functionsOf(sent)[2]?.parameters, { type: 'object', properties: {} });
    assert.deepEqual(sent.messages, [{ role: 'user', content: 'hi' }]);
  });
});

test('[AA16] the row of the attempt lists what was adapted', async () => {
  const body = { model: 'model-a', input: 'hi', tools: [{ type: 'custom', name: 'patch' }], metadata: { a: 'b' } };
  stage.platform.next.push(streamed(HELLO));
  const reply = await stage.gate.send(PUBLIC, { body });
  const [attempt] = await stage.gate.attempts(reply.headers.get('x-request-id') ?? '');
  assert.match(JSON.stringify(attempt), /metadata.*tools\.custom/);
});
