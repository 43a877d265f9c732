// What API accounts lack for a turn, and the order in which the reasons apply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiLacks, apiLoses } from '../../../proxy/providers/api-accounts/eligibility/lacks.ts';
import type { AccountModel } from '../../../proxy/turn/provider/account-model.ts';
import type { ApiAccountConfig } from '../../../proxy/turn/provider/api-account.ts';
import type { Lack } from '../../../proxy/turn/provider/lack.ts';
import { NO_QUIRKS } from '../../../proxy/turn/provider/quirks.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { account } from '../../models/support.ts';

const API = {
  query: {},
  insecure_http: false,
  catalog: [],
  read_models: 'all',
  serves: ['turns', 'compact'],
  hosted_tools: [],
  quirks: NO_QUIRKS,
  compact: 'summary',
} as const;

const chat = (fields: Partial<ApiAccountConfig> = {}): ApiAccountConfig => ({ ...account('box'), ...API, api: 'chat', ...fields });
const responses = (fields: Partial<ApiAccountConfig> = {}): ApiAccountConfig => ({
  ...account('platform'),
  ...API,
  api: 'responses',
  ...fields,
});

const MODEL: AccountModel = {
  id: 'own',
  contextWindow: undefined,
  maxOutput: undefined,
  reasoningLevels: ['low', 'high'],
  defaultLevel: undefined,
  modalities: ['text', 'image', 'file', 'audio'],
  tools: true,
  kind: 'turns',
  prices: undefined,
};

const quirks = (own: Partial<ApiAccountConfig['quirks']>): Pick<ApiAccountConfig, 'quirks'> => ({ quirks: { ...NO_QUIRKS, ...own } });

interface Case {
  readonly what: string;
  readonly account?: ApiAccountConfig;
  readonly model?: Partial<AccountModel>;
  readonly kind?: RouteKind;
  readonly body?: Body;
  readonly effortIsFixed?: boolean;
  readonly lack: Lack | undefined;
}

const user = (...content: readonly Body[]): Body => ({ type: 'message', role: 'user', content: content as never });
const input = (...items: readonly unknown[]): Body => ({ input: items as never });
const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
const remote = { type: 'input_image', image_url: 'https://images.example/a.png' };
const fn = { type: 'function', name: 'f', parameters: {} };

const CASES: readonly Case[] = [
  { what: 'a turn', body: input(user({ type: 'input_text', text: 'hi' })), lack: undefined },
  { what: 'a turn without a type of its items', body: { input: [{ role: 'user', content: 'hi' }] }, lack: undefined },
  { what: 'a turn at an account that serves none', account: chat({ serves: ['embeddings'] }), lack: { reason: 'kind' } },
  { what: 'a compaction at an account with compact: none', account: chat({ compact: 'none' }), kind: 'compact', lack: { reason: 'kind' } },
  {
    what: 'a turn with a trigger there',
    account: chat({ compact: 'none' }),
    body: input({ type: 'compaction_trigger' }),
    lack: { reason: 'kind' },
  },
  { what: 'an image request', kind: 'public-image', lack: { reason: 'kind' } },
  {
    what: 'an image request at an account that serves images',
    account: responses({ serves: ['images'] }),
    kind: 'public-image',
    lack: undefined,
  },
  {
    what: 'an image request at an account with the tool',
    account: responses({ hosted_tools: ['image_generation'] }),
    kind: 'public-image',
    body: { tools: [{ type: 'image_generation' }], tool_choice: 'required' },
    lack: undefined,
  },
  {
    what: 'a native image request there',
    account: responses({ hosted_tools: ['image_generation'] }),
    kind: 'image',
    lack: { reason: 'kind' },
  },
  { what: 'a transcription', account: chat({ serves: ['transcriptions'] }), kind: 'public-transcription', lack: undefined },
  { what: 'a file of a native client', account: responses({ serves: ['files'] }), kind: 'file-create', lack: { reason: 'kind' } },
  { what: 'a file of /v1', account: responses({ serves: ['files'] }), kind: 'public-file-create', lack: undefined },
  { what: 'an anchor', body: { previous_response_id: 'resp_1' }, lack: { reason: 'anchor' } },
  { what: 'an anchor at a responses account', account: responses(), body: { previous_response_id: 'resp_1' }, lack: undefined },
  {
    what: 'a file id',
    body: input(user({ type: 'input_file', file_id: 'file_1' })),
    lack: { reason: 'files', param: 'input.0.content.0' },
  },
  { what: 'an unknown item', body: input({ type: 'agent_message' }), lack: { reason: 'item', param: 'input.0' } },
  { what: 'an unknown part', body: input(user({ type: 'input_smell' })), lack: { reason: 'item', param: 'input.0.content.0' } },
  {
    what: 'an unknown part of an output, which Chat cannot express',
    body: input({ type: 'function_call_output', call_id: 'a', output: [{ type: 'input_smell' }] }),
    lack: { reason: 'item', param: 'input.0.output.0' },
  },
  {
    what: 'one at a responses account, which may know it',
    account: responses(),
    body: input({ type: 'function_call_output', call_id: 'a', output: [{ type: 'input_smell' }] }),
    lack: undefined,
  },
  {
    what: 'an unknown role, which Chat cannot express',
    body: input({ type: 'message', role: 'critic', content: 'no' }),
    lack: { reason: 'item', param: 'input.0.role' },
  },
  { what: 'a compaction without content', body: input({ type: 'compaction' }), lack: { reason: 'item', param: 'input.0' } },
  {
    what: 'a trigger before other items',
    body: input({ type: 'compaction_trigger' }, user({ type: 'input_text', text: 'hi' })),
    lack: { reason: 'item', param: 'input.0' },
  },
  {
    what: 'a text of reasoning in a message',
    body: input(user({ type: 'reasoning_text', text: 'hi' })),
    lack: undefined,
  },
  { what: 'tools at a model without', model: { tools: false }, body: { tools: [fn] }, lack: { reason: 'tools', param: 'tools' } },
  {
    what: 'added tools at a model without',
    model: { tools: false },
    body: input({ type: 'additional_tools', tools: [fn] }),
    lack: { reason: 'tools', param: 'tools' },
  },
  { what: 'a hosted tool beside others', body: { tools: [fn, { type: 'web_search' }] }, lack: undefined },
  {
    what: 'a hosted tool that is required',
    body: { tools: [{ type: 'web_search_preview_2025_03_11' }], tool_choice: 'required' },
    lack: { reason: 'hosted_tool', param: 'tools.0.type' },
  },
  {
    what: 'a hosted tool that is named',
    body: { tools: [fn, { type: 'web_search' }], tool_choice: { type: 'web_search' } },
    lack: { reason: 'hosted_tool', param: 'tools.1.type' },
  },
  {
    what: 'a hosted tool that alone is allowed for a required call',
    body: {
      tools: [fn, { type: 'web_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
    },
    lack: { reason: 'hosted_tool', param: 'tools.1.type' },
  },
  {
    what: 'a hosted tool that is allowed beside others',
    body: {
      tools: [fn, { type: 'web_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }] },
    },
    lack: undefined,
  },
  {
    what: 'a hosted tool where the account has it',
    account: responses({ hosted_tools: ['web_search'] }),
    body: { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    lack: undefined,
  },
  {
    what: 'a hosted tool where a chat account has it',
    account: chat({ hosted_tools: ['web_search'] }),
    body: { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    lack: { reason: 'hosted_tool', param: 'tools.0.type' },
  },
  {
    what: 'a search for tools that the client runs',
    body: { tools: [{ type: 'tool_search', execution: 'client' }], tool_choice: 'required' },
    lack: undefined,
  },
  { what: 'another type of tool', body: { tools: [fn, { type: 'computer' }] }, lack: { reason: 'tool_type', param: 'tools.1.type' } },
  {
    what: 'another type among added tools',
    body: input({ type: 'additional_tools', tools: [{ type: 'computer' }] }),
    lack: { reason: 'tool_type', param: 'input.0.tools.0.type' },
  },
  {
    what: 'a required tool where it is not taken',
    account: chat(quirks({ tool_choice_required: false })),
    body: { tools: [fn], tool_choice: 'required' },
    lack: { reason: 'tool_choice', param: 'tool_choice' },
  },
  {
    what: 'a named tool where none may be required',
    account: chat(quirks({ tool_choice_required: false })),
    body: { tools: [fn], tool_choice: { type: 'function', name: 'f' } },
    lack: { reason: 'tool_choice', param: 'tool_choice' },
  },
  {
    what: 'allowed tools with mode auto',
    account: chat(quirks({ tool_choice_required: false })),
    body: { tools: [fn], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } },
    lack: undefined,
  },
  {
    what: 'a schema where it is refused',
    account: chat(quirks({ json_schema: 'refuse' })),
    body: { text: { format: { type: 'json_schema' } } },
    lack: { reason: 'schema', param: 'text.format' },
  },
  { what: 'an image', body: input(user(image)), lack: undefined },
  {
    what: 'an image for a model of texts',
    model: { modalities: ['text'] },
    body: input(user({ type: 'input_text', text: 'x' }, image)),
    lack: { reason: 'modality', param: 'input.0.content.1' },
  },
  {
    what: 'an address of an image where data is wanted',
    account: chat(quirks({ images: 'data' })),
    body: input(user(remote)),
    lack: { reason: 'modality', param: 'input.0.content.0' },
  },
  {
    what: 'a file',
    body: input(user({ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' })),
    lack: { reason: 'modality', param: 'input.0.content.0' },
  },
  {
    what: 'a file where files are taken',
    account: chat(quirks({ files: 'data' })),
    body: input(user({ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' })),
    lack: undefined,
  },
  {
    what: 'the address of a file there',
    account: chat(quirks({ files: 'data' })),
    body: input(user({ type: 'input_file', file_url: 'https://x.example/a.pdf' })),
    lack: { reason: 'modality', param: 'input.0.content.0' },
  },
  {
    what: 'audio',
    account: chat(quirks({ audio: 'data' })),
    body: input(user({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } })),
    lack: undefined,
  },
  {
    what: 'the image of an output before the last user message',
    model: { modalities: ['text'] },
    body: input({ type: 'function_call_output', call_id: 'a', output: [image] }, user({ type: 'input_text', text: 'x' })),
    lack: undefined,
  },
  {
    what: 'the image of an output behind it',
    model: { modalities: ['text'] },
    body: input(user({ type: 'input_text', text: 'x' }), { type: 'function_call_output', call_id: 'a', output: [image] }),
    lack: { reason: 'modality', param: 'input.1.output.0' },
  },
  {
    what: 'an effort that its key sets',
    body: { reasoning: { effort: 'medium' } },
    effortIsFixed: true,
    lack: { reason: 'effort', param: 'reasoning.effort' },
  },
  { what: 'an effort that its key sets and the model has', body: { reasoning: { effort: 'high' } }, effortIsFixed: true, lack: undefined },
  { what: 'an effort of the client, which is lowered', body: { reasoning: { effort: 'medium' } }, lack: undefined },
  {
    what: 'the effort of an update',
    body: { reasoning: { effort: 'high' }, ...input({ type: 'configuration_update', reasoning: { effort: 'xhigh' } }) },
    effortIsFixed: true,
    lack: { reason: 'effort', param: 'reasoning.effort' },
  },
];

for (const { what, account: asked = chat(), model, kind = 'responses', body, lack, effortIsFixed = false } of CASES) {
  test(`[AA18] ${what}: ${lack?.reason ?? 'the account can take it'}`, () => {
    assert.deepEqual(apiLacks({ kind, body, effortIsFixed }, asked, { ...MODEL, ...model }), lack);
  });
}

test('[AA18] the first reason counts', () => {
  const body = { ...input({ type: 'agent_message' }, user(image)), tools: [{ type: 'computer' }], previous_response_id: 'resp_1' };
  const lacks = (of: Body): string | undefined =>
    apiLacks({ kind: 'responses', body: of }, chat(), { ...MODEL, modalities: ['text'] })?.reason;
  assert.equal(lacks(body), 'anchor');
  const { previous_response_id: _, ...whole } = body;
  assert.equal(lacks(whole), 'item');
  assert.equal(lacks({ ...whole, ...input(user(image)) }), 'tool_type');
});

test('[AA19] an account loses a hosted tool that it does not run', () => {
  const turn = { kind: 'responses', body: { tools: [{ type: 'web_search' }] } } as const;
  assert.deepEqual(
    [chat(), responses(), responses({ hosted_tools: ['web_search'] }), account('north')].map((one) => apiLoses(turn, one)),
    [true, true, false, false],
  );
});
