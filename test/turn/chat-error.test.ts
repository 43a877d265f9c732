// The params of a provider's error, which are those of a Responses request, as a Chat client knows them (Q3, Q24).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChatWords } from '../../proxy/turn/chat-error.ts';

const NAMES: Readonly<Record<string, string | null>> = {
  input: 'messages',
  'input[2].content[0].text': 'messages',
  'input.2.content': 'messages',
  instructions: 'messages',
  max_output_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  'reasoning.effort': 'reasoning_effort',
  text: 'response_format',
  'text.format': 'response_format',
  'text.format.type': 'response_format.type',
  'text.format.name': 'response_format.json_schema.name',
  'text.format.schema': 'response_format.json_schema.schema',
  'text.verbosity': 'verbosity',
  'tool_choice.name': 'tool_choice',
  tools: 'tools',
  'tools[0].parameters': 'tools[0].function.parameters',
  'tools.1.strict': 'tools.1.function.strict',
  'tools[12].format.definition': 'tools[12].custom.format',
  // Both kinds of tools have a name.
  'tools[0].name': 'tools[0]',
  'include[0]': null,
  // The same on both.
  model: 'model',
  temperature: 'temperature',
  'metadata.a': 'metadata.a',
  // Of other names.
  inputs: 'inputs',
  text_format: 'text_format',
};

for (const [responses, chat] of Object.entries(NAMES)) {
  test(`[Q24] ${responses} is ${chat}`, () => {
    const error = { code: 'invalid_value', type: 'invalid_request_error', param: responses, message: `Invalid '${responses}': a value.` };
    assert.deepEqual(inChatWords(error), { ...error, param: chat, message: `Invalid '${chat ?? responses}': a value.` });
  });
}

test('[Q24] an error without a param, or without a message, stays as it is', () => {
  const error = { code: 'invalid_value', type: null, param: null, message: "Invalid 'input'." };
  assert.equal(inChatWords(error), error);
  assert.deepEqual(inChatWords({ ...error, param: 'input', message: null }), { ...error, param: 'messages', message: null });
});
