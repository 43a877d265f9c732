// Messages requests over the wire: the upstream form of each member and block, and the refused ones (AM4, AM5, AM25 to AM46, AM66).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { signatureOf } from '../../../proxy/surfaces/messages/signature.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { messagesBody as ask, MESSAGES } from './messages-body.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'] } });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const SCHEMA: JsonObject = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false };
const TOOL: JsonObject = { name: 'read', description: 'Reads.', input_schema: SCHEMA };
const SENT_TOOL: JsonObject = { type: 'function', name: 'read', description: 'Reads.', parameters: SCHEMA, strict: false };

const user = (content: Json): JsonObject => ({ role: 'user', content });
const assistant = (content: Json): JsonObject => ({ role: 'assistant', content });

const message = (role: string, ...content: readonly JsonObject[]): JsonObject => ({ type: 'message', role, content });
const said = (text: string): JsonObject => ({ type: 'input_text', text });
const HI = message('user', said('hi'));

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
async function sent(members: JsonObject, headers: Record<string, string> = {}): Promise<any> {
  const { status, text } = await gate.send(MESSAGES, { body: ask(members), headers });
  assert.equal(status, 200, text);
  return gate.upstream.turns().at(-1)?.json;
}

interface Translated {
  readonly what: string;
  readonly members: JsonObject;
  /** Members of the body upstream; undefined means absent. */
  readonly upstream: Record<string, Json | undefined>;
}

const table = (title: string, cases: readonly Translated[]): void => {
  describe(title, () => {
    for (const { what, members, upstream } of cases) {
      test(what, async () => {
        const body = await sent(members);
        for (const [member, value] of Object.entries(upstream)) assert.deepEqual(body[member], value, member);
      });
    }
  });
};

const PNG: JsonObject = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
const SENT_PNG: JsonObject = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };

test('[AM28] the arguments of a call keep the digits of its input', async () => {
  const input = '{"id":1234567890123456789,"at":[1e400]}';
  const call = { type: 'tool_use', id: 'call_1', name: 'read', input: 'INPUT' };
  const result = { type: 'tool_result', tool_use_id: 'call_1', content: '' };
  const body = JSON.stringify(ask({ messages: [user('hi'), assistant([call]), user([result])] })).replace('"INPUT"', input);
  assert.equal((await gate.send(MESSAGES, { body })).status, 200);
  const [turn] = gate.upstream.turns();
  assert.ok(turn?.body.includes(`"arguments":${JSON.stringify(input)}`), String(turn?.body));
});

table('[AM28] blocks of the user keep their order', [
  { what: 'a text', members: {}, upstream: { input: [HI] } },
  {
    what: 'texts and images of one message are one item',
    members: { messages: [user([{ type: 'text', text: 'a' }, PNG, { type: 'text', text: '' }, { type: 'text', text: 'b' }])] },
    upstream: { input: [message('user', said('a'), SENT_PNG, said('b'))] },
  },
  {
    what: 'adjacent messages of one role stay apart, and an empty one is left out',
    members: { messages: [user('a'), user(''), user('b')] },
    upstream: { input: [message('user', said('a')), message('user', said('b'))] },
  },
  {
    what: 'a document of text with its title and context',
    members: {
      messages: [user([{ type: 'document', title: 'T', context: 'C', source: { type: 'text', media_type: 'text/plain', data: 'D' } }])],
    },
    upstream: { input: [message('user', said('Document: T\nC'), said('D'))] },
  },
  {
    what: 'a PDF',
    members: { messages: [user([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } }])] },
    upstream: {
      input: [message('user', { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,aGk=' })],
    },
  },
  {
    what: 'a PDF with a title',
    members: {
      messages: [user([{ type: 'document', title: 'Plan', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } }])],
    },
    upstream: { input: [message('user', { type: 'input_file', filename: 'Plan', file_data: 'data:application/pdf;base64,aGk=' })] },
  },
  {
    what: 'a search result',
    members: {
      messages: [user([{ type: 'search_result', title: 'T', source: 'https://a.example/', content: [{ type: 'text', text: 'x' }] }])],
    },
    upstream: { input: [message('user', said('T\nhttps://a.example/\n\nx'))] },
  },
  {
    what: 'a compaction block is a text of the user',
    members: { messages: [user('a'), assistant([{ type: 'compaction', content: 'Summary.' }]), user('b')] },
    upstream: { input: [message('user', said('a')), message('user', said('Summary.')), message('user', said('b'))] },
  },
]);

const CALL = { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' } };
const called: JsonObject = { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
const result = (members: JsonObject = {}): JsonObject => ({ type: 'tool_result', tool_use_id: 'call_1', content: 'done', ...members });
const output = (value: Json): JsonObject => ({ type: 'function_call_output', call_id: 'call_1', output: value });
const loop = (...blocks: readonly Json[]): JsonObject => ({ tools: [TOOL], messages: [user('hi'), assistant([CALL]), user(blocks)] });

table('[AM30] tool results', [
  { what: 'a text', members: loop(result()), upstream: { input: [HI, called, output('done')] } },
  { what: 'no content', members: loop({ type: 'tool_result', tool_use_id: 'call_1' }), upstream: { input: [HI, called, output('')] } },
  {
    what: 'texts alone are one text',
    members: loop(
      result({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
    ),
    upstream: { input: [HI, called, output('a\nb')] },
  },
  { what: 'an error', members: loop(result({ is_error: true })), upstream: { input: [HI, called, output('[tool error]\ndone')] } },
  {
    what: 'an image beside a text is a list',
    members: loop(result({ is_error: true, content: [{ type: 'text', text: 'a' }, PNG] })),
    upstream: { input: [HI, called, output([said('[tool error]\na'), SENT_PNG])] },
  },
  {
    what: 'a text behind the result is a message',
    members: loop(result(), { type: 'text', text: 'go' }),
    upstream: { input: [HI, called, output('done'), message('user', said('go'))] },
  },
  {
    what: 'a reference makes its tool available',
    members: {
      ...loop(result({ content: [{ type: 'tool_reference', tool_name: 'later' }] })),
      tools: [TOOL, { ...TOOL, name: 'later', defer_loading: true }],
    },
    upstream: { input: [HI, called, output('Tool later is available.')], tools: [SENT_TOOL, { ...SENT_TOOL, name: 'later' }] },
  },
]);

table('[AM38] reasoning comes back only if this gateway signed it', [
  {
    what: 'a thinking block and a redacted one',
    members: {
      messages: [
        user('hi'),
        assistant([
          { type: 'thinking', thinking: 'changed', signature: signatureOf('gAAA') },
          { type: 'redacted_thinking', data: signatureOf('gBBB') },
          { type: 'text', text: 'x' },
        ]),
        user('go'),
      ],
    },
    upstream: {
      input: [
        HI,
        { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
        { type: 'reasoning', summary: [], encrypted_content: 'gBBB' },
        message('assistant', { type: 'output_text', text: 'x' }),
        message('user', said('go')),
      ],
    },
  },
  {
    what: 'foreign, cut, changed and empty signatures vanish',
    members: {
      messages: [
        user('hi'),
        assistant([
          ...['EqQBCkYIAxgC', signatureOf('gAAA').slice(0, -1), signatureOf('gAAA').replace('gAAA', 'gAAB'), ''].map((signature) => ({
            type: 'thinking',
            thinking: 'x',
            signature,
          })),
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          { type: 'text', text: 'x' },
        ]),
        user('go'),
      ],
    },
    upstream: { input: [HI, message('assistant', { type: 'output_text', text: 'x' }), message('user', said('go'))] },
  },
]);

table('[AM29] system messages keep their place', [
  {
    what: 'as a developer message, without the billing text',
    members: {
      messages: [
        user('hi'),
        {
          role: 'system',
          content: [
            { type: 'text', text: ' x-anthropic-billing-header: a' },
            { type: 'text', text: 'env' },
          ],
        },
      ],
    },
    upstream: { input: [HI, message('developer', said('env'))] },
  },
  {
    what: 'one that is cleared at the next user message',
    members: { messages: [user('hi'), { role: 'system', content: 'once', clear_at: 'next_user_message' }, user('go')] },
    upstream: { input: [HI, message('user', said('go'))] },
  },
  {
    what: 'with the effort of the turn',
    members: {
      output_config: { effort: 'low' },
      messages: [user('hi'), { role: 'system', content: [], output_config: { effort: 'high' } }],
    },
    upstream: { input: [HI] },
  },
]);

table('[AM25] the members upstream', [
  {
    what: 'system texts become instructions, joined by a blank line',
    members: {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=1;' },
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'b' },
      ],
    },
    upstream: { instructions: 'a\n\nb', store: false, stream: true },
  },
  {
    what: 'everything without a meaning there is left out',
    members: {
      metadata: { user_id: 'u' },
      context_management: { edits: [] },
      service_tier: 'auto',
      top_k: 3,
      speed: 'fast',
      unknown_member: 1,
      temperature: 1,
      mcp_servers: [],
    },
    upstream: {
      metadata: undefined,
      context_management: undefined,
      service_tier: undefined,
      top_k: undefined,
      speed: undefined,
      unknown_member: undefined,
      temperature: undefined,
      mcp_servers: undefined,
      max_tokens: undefined,
      messages: undefined,
    },
  },
]);

table('[AM40] [AM41] [AM43] [AM45] [AM46] tools and their choice', [
  { what: 'a function', members: { tools: [TOOL] }, upstream: { tools: [SENT_TOOL], parallel_tool_calls: true } },
  { what: 'a strict one', members: { tools: [{ ...TOOL, strict: true }] }, upstream: { tools: [{ ...SENT_TOOL, strict: true }] } },
  { what: 'any', members: { tools: [TOOL], tool_choice: { type: 'any' } }, upstream: { tool_choice: 'required' } },
  { what: 'none', members: { tools: [TOOL], tool_choice: { type: 'none' } }, upstream: { tool_choice: 'none' } },
  { what: 'the only tool', members: { tools: [TOOL], tool_choice: { type: 'tool', name: 'read' } }, upstream: { tool_choice: 'required' } },
  {
    what: 'one of two, alone',
    members: {
      tools: [TOOL, { ...TOOL, name: 'list' }],
      tool_choice: { type: 'tool', name: 'list', disable_parallel_tool_use: true },
    },
    upstream: { tool_choice: { type: 'function', name: 'list' }, parallel_tool_calls: false },
  },
  {
    what: 'web search with its filters',
    members: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8, allowed_domains: ['a.example'] }] },
    upstream: { tools: [{ type: 'web_search', filters: { allowed_domains: ['a.example'] } }] },
  },
  {
    what: 'a long name is shortened in the same way everywhere',
    members: {
      tools: [{ ...TOOL, name: 'n'.repeat(70) }],
      messages: [user('hi'), assistant([{ ...CALL, name: 'n'.repeat(70) }]), user([result()])],
    },
    upstream: {
      tools: [{ ...SENT_TOOL, name: `${'n'.repeat(55)}_85069ddf` }],
      input: [HI, { ...called, name: `${'n'.repeat(55)}_85069ddf` }, output('done')],
    },
  },
  {
    what: 'tools that a conversation adds and removes',
    members: {
      tools: [TOOL],
      messages: [
        user('hi'),
        {
          role: 'system',
          content: [
            { type: 'tool_addition', tool: { type: 'tool_definition', definition: { ...TOOL, name: 'list' } } },
            { type: 'tool_removal', tool: { type: 'tool_reference', name: 'read' } },
          ],
        },
      ],
    },
    upstream: { tools: [{ ...SENT_TOOL, name: 'list' }] },
  },
  {
    what: 'a tool that a conversation removes and adds again by its name',
    members: {
      tools: [TOOL],
      messages: [
        user('hi'),
        { role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'read' } }] },
        assistant('ok'),
        user('hi'),
        { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'read' } }] },
      ],
    },
    upstream: { tools: [SENT_TOOL] },
  },
]);

table('[AM27] structured output', [
  {
    what: 'a schema of the strict form',
    members: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    upstream: { text: { format: { type: 'json_schema', name: 'response', schema: SCHEMA, strict: true } } },
  },
]);

describe('[AM33] [AM34] [AM35] effort and thinking', () => {
  const cases: readonly (readonly [what: string, members: JsonObject, effort: string | undefined, summary: string | undefined])[] = [
    ['an effort', { output_config: { effort: 'low' } }, 'low', undefined],
    ['a budget', { thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium', 'auto'],
    ['an effort before a budget', { thinking: { type: 'enabled', budget_tokens: 1 }, output_config: { effort: 'high' } }, 'high', 'auto'],
    ['disabled', { thinking: { type: 'disabled' } }, 'low', undefined],
    ['omitted display', { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'low' } }, 'low', undefined],
  ];
  for (const [what, members, effort, summary] of cases) {
    test(what, async () => {
      const body = await sent(members);
      assert.deepEqual([body.reasoning?.effort, body.reasoning?.summary], [effort, summary]);
      assert.ok(body.include.includes('reasoning.encrypted_content'));
    });
  }
});

describe('[AM11] [AM42] refusals name the place, and begin their message with it', () => {
  const cases: readonly (readonly [members: JsonObject, place: string])[] = [
    [{ messages: [] }, 'messages'],
    [{ messages: [user('')] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.role'],
    [{ messages: [user([{ type: 'video' }])] }, 'messages.0.content.0.type'],
    [
      { messages: [user([{ ...PNG, source: { type: 'base64', media_type: 'image/bmp', data: '' } }])] },
      'messages.0.content.0.source.media_type',
    ],
    [{ messages: [user('hi'), assistant([CALL]), user('no')] }, 'messages.1'],
    [{ messages: [user([result()])] }, 'messages.0'],
    [{ max_tokens: '10' }, 'max_tokens'],
    [{ stream: 'yes' }, 'stream'],
    [{ tools: [{ name: 'a b', input_schema: {} }] }, 'tools.0.name'],
    [{ tools: [TOOL, TOOL] }, 'tools.1.name'],
    [{ tools: [{ name: 'a', input_schema: null }] }, 'tools.0.input_schema'],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools.0.type'],
    [{ tools: [TOOL], tool_choice: { type: 'tool', name: 'other' } }, 'tool_choice.name'],
    [{ thinking: { type: 'enabled', budget_tokens: 0 } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'deep' } }, 'thinking.type'],
    [{ stop_sequences: ['  '] }, 'stop_sequences.0'],
    [
      { output_config: { format: { type: 'json_schema', schema: {} } }, output_format: { type: 'json_schema', schema: {} } },
      'output_format',
    ],
    [{ safeguards: [] }, 'safeguards'],
    [{ container: 'c' }, 'container'],
    [{ mcp_servers: [{}] }, 'mcp_servers'],
  ];
  for (const [members, place] of cases) {
    test(`${place}: ${JSON.stringify(members).slice(0, 60)}`, async () => {
      const { status, json } = await gate.send(MESSAGES, { body: ask(members) });
      assert.equal(status, 400);
      assert.deepEqual([json.type, json.error.type], ['error', 'invalid_request_error']);
      assert.ok(json.error.message.startsWith(`${place}: `), json.error.message);
      assert.equal(gate.upstream.turns().length, 0);
    });
  }

  test('[AM31] a list that ends with the assistant', async () => {
    const { status, json } = await gate.send(MESSAGES, { body: ask({ messages: [user('hi'), assistant('x')] }) });
    assert.deepEqual(
      [status, json.error.message],
      [400, 'This model does not support assistant message prefill. The conversation must end with a user message.'],
    );
  });

  test('a thread has a code of its own', async () => {
    const { json } = await gate.send(MESSAGES, { body: ask({ thread: {} }) });
    assert.equal(json.error.details.error_code, 'thread_unsupported_request');
  });
});

test('[AM66] a text and a list of one text block are equal, and so is any cache_control', async () => {
  const list = [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }];
  assert.deepEqual(await sent({ messages: [user(list)] }), await sent({ messages: [user('hi')] }));
});

test('[AM5] no header of the client goes upstream but its trace', async () => {
  await sent({}, { 'anthropic-version': '2023-06-01', 'x-stainless-lang': 'js', 'x-app': 'cli', traceparent: '00-1-2-01' });
  const { headers = {} } = gate.upstream.turns().at(-1) ?? {};
  assert.equal(headers.traceparent, '00-1-2-01');
  const own = Object.keys(headers).filter((name) => /^(anthropic-|x-stainless-|x-app|x-claude-|x-api-key)/.test(name));
  assert.deepEqual(own, []);
});

test('[AM26] [AM52] a prewarm is answered here', async () => {
  const { status, json } = await gate.send(MESSAGES, { body: ask({ max_tokens: 0 }) });
  assert.deepEqual([status, json.content, json.stop_reason, json.usage.output_tokens], [200, [], 'max_tokens', 0]);
  const { text } = await gate.send(MESSAGES, { body: ask({ max_tokens: 0, stream: true }) });
  assert.deepEqual(
    eventsOf(text).map(({ event }) => event),
    ['message_start', 'ping', 'message_delta', 'message_stop'],
  );
  assert.equal(gate.upstream.turns().length, 0);
});
