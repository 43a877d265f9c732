// Everything that a translation changes in a request, or removes from it, is named, and nothing else is named (AA16).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatBody } from '../../../proxy/providers/chat/request/chat-body.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { AccountModel } from '../../../proxy/turn/provider/account-model.ts';
import { ADAPTED } from '../../../proxy/turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../../proxy/turn/provider/api-account.ts';
import { NO_QUIRKS, type Quirks } from '../../../proxy/turn/provider/quirks.ts';

const MODEL: AccountModel = {
  id: 'own-c',
  contextWindow: undefined,
  maxOutput: 100,
  reasoningLevels: ['low'],
  defaultLevel: undefined,
  modalities: ['text'],
  tools: true,
  kind: 'turns',
  prices: undefined,
};

const adaptedOf = (body: JsonObject, quirks: Partial<Quirks> = {}): readonly string[] => {
  const account = { api: 'chat', quirks: { ...NO_QUIRKS, ...quirks }, drop_fields: [] } as unknown as ApiAccountConfig;
  const turn = { openCapsule: () => undefined };
  const { adapted = [] } = chatBody(
    { model: 'own-c', ...body },
    { turn, account, model: MODEL, isWithoutTools: false, cacheKeyOf: (stated) => stated },
  );
  return adapted;
};

const user = { type: 'message', role: 'user', content: 'hi' };

test('[AA16] a turn that fits is not adapted', () => {
  const body = { input: [user], temperature: 1, max_output_tokens: 50, reasoning: { effort: 'low', summary: 'auto' }, include: ['x'] };
  assert.deepEqual(adaptedOf(body), []);
});

test('[AA16] each change is named once, in order, by member or item type', () => {
  const body = {
    input: [
      { type: 'reasoning', summary: [] },
      { type: 'web_search_call', id: 'ws' },
      { type: 'custom_tool_call', call_id: 'x'.repeat(41), name: 'patch', input: '' },
      user,
    ],
    tools: [{ type: 'custom', name: 'patch' }, { type: 'web_search' }],
    max_output_tokens: 500,
    metadata: { a: 'b' },
    text: { verbosity: 'low', format: { type: 'json_schema', name: 'a', schema: {}, strict: true } },
    reasoning: { effort: 'high' },
    parallel_tool_calls: true,
  };
  const names = adaptedOf(body, { json_schema: 'plain', parallel_tool_calls: false });
  assert.deepEqual(names, [
    'input.call_id',
    'input.custom_tool_call',
    'input.function_call_output',
    'input.reasoning',
    'input.web_search_call',
    'max_output_tokens',
    'metadata',
    'parallel_tool_calls',
    'reasoning.effort',
    'text.format',
    'text.verbosity',
    'tools.custom',
    'tools.web_search',
  ]);
  assert.ok(names.every((name) => Object.hasOwn(ADAPTED, name)));
});
