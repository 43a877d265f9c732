// The params of a provider's error name members of a Responses request; clients of Chat and images get their own names (Q3, Q22, Q24).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatParam } from '../../../proxy/surfaces/chat/chat-params.ts';
import { imageParam } from '../../../proxy/surfaces/images/image-params.ts';
import { inClientWords } from '../../../proxy/turn/errors/error-words.ts';

const CHAT: Readonly<Record<string, string | null>> = {
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

for (const [responses, chat] of Object.entries(CHAT)) {
  test(`[Q24] ${responses} is ${chat}`, () => {
    const error = { code: 'invalid_value', type: 'invalid_request_error', param: responses, message: `Invalid '${responses}': a value.` };
    assert.deepEqual(inClientWords(error, chatParam), { ...error, param: chat, message: `Invalid '${chat ?? responses}': a value.` });
  });
}

const IMAGES: Readonly<Record<string, string | null>> = {
  'tools[0].size': 'size',
  'tools.0.output_compression': 'output_compression',
  'tools[0].model': 'model',
  'tools[0].input_image_mask.image_url': 'mask',
  'tools[0].type': null,
  tools: null,
  tool_choice: null,
  input: 'prompt',
  'input[0].content[0].text': 'prompt',
  'input[1].content[2].image_url': 'image',
  'input.0.content.1': 'image',
  instructions: null,
  model: 'model',
};

for (const [responses, images] of Object.entries(IMAGES)) {
  test(`[Q22] of an image ${responses} is ${images}`, () => assert.equal(imageParam(responses), images));
}

test('[Q24] an error without a param, or without a message, stays as it is', () => {
  const error = { code: 'invalid_value', type: null, param: null, message: "Invalid 'input'." };
  assert.equal(inClientWords(error, chatParam), error);
  assert.deepEqual(inClientWords({ ...error, param: 'input', message: null }, chatParam), { ...error, param: 'messages', message: null });
});
