// Errors name members of a Responses request; clients of Chat and images get their own names (Q3, Q22, Q24).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatRequest } from '../../../proxy/surfaces/chat/chat-request.ts';
import { ImageNames } from '../../../proxy/surfaces/images/image-request.ts';
import { inClientWords, refusalInClientWords } from '../../../proxy/turn/errors/error-words.ts';
import { invalidRequest } from '../../../proxy/turn/errors/invalid-request.ts';
import { ItemPlaces } from '../../../proxy/turn/errors/item-places.ts';
import { Refusal, RelayedRefusal } from '../../../proxy/turn/errors/refusal.ts';
import { turnOf } from '../../support/turns/turn.ts';

const call = (type: 'function' | 'custom', member: string) => ({ id: `${type}_1`, type, [type]: { name: 'f', [member]: '{}' } });

/** The items: 0 is a text, 1 has two parts, 2 is an answer with a refusal, 3 and 4 are its calls, 5 and 6 their results. */
const { names: chat } = chatRequest(
  {
    body: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: 'https://example.test/a.png' } },
          ],
        },
        { role: 'assistant', content: '' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Well,' }],
          refusal: 'no.',
          tool_calls: [call('function', 'arguments'), call('custom', 'input')],
        },
        { role: 'tool', tool_call_id: 'function_1', content: [{ type: 'text', text: 'a' }] },
        { role: 'tool', tool_call_id: 'custom_1', content: 'b' },
      ],
    },
  },
  turnOf({ kind: 'chat' }),
);
const chatParam = (param: string): string | null => chat.nameOf(param);

const CHAT: Readonly<Record<string, string | null>> = {
  input: 'messages',
  'input[0].content[0].text': 'messages.0.content',
  'input.0.content': 'messages.0.content',
  'input.0.role': 'messages.0.role',
  'input.0.id': 'messages.0',
  'input[1]': 'messages.1',
  'input.1.content.0': 'messages.1.content.0',
  'input[1].content[0].text': 'messages.1.content.0.text',
  'input.1.content.1.image_url': 'messages.1.content.1.image_url.url',
  'input.1.content.1.detail': 'messages.1.content.1.image_url.detail',
  'input.1.content.1.file_id': 'messages.1.content.1.file.file_id',
  'input.1.content.1.input_audio.format': 'messages.1.content.1.input_audio.format',
  'input.2.content.0.text': 'messages.3.content.0.text',
  'input.2.content.1': 'messages.3.refusal',
  'input.3': 'messages.3.tool_calls.0',
  'input[3].arguments': 'messages.3.tool_calls.0.function.arguments',
  'input.3.call_id': 'messages.3.tool_calls.0.id',
  'input.3.status': 'messages.3.tool_calls.0',
  'input.4.input': 'messages.3.tool_calls.1.custom.input',
  'input.4.name': 'messages.3.tool_calls.1.custom.name',
  'input.5.output': 'messages.4.content',
  'input.5.output.0.text': 'messages.4.content.0.text',
  'input.6.call_id': 'messages.5.tool_call_id',
  'input.7': 'messages',
  instructions: 'messages',
  max_output_tokens: 'max_tokens',
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
  'tools.1.type': 'tools.1.type',
  // Both kinds of tools have a name.
  'tools[0].name': 'tools[0]',
  'include[0]': null,
  // This name is the same on both surfaces.
  model: 'model',
  temperature: 'temperature',
  'metadata.a': 'metadata.a',
  // These members have other names.
  inputs: 'inputs',
  text_format: 'text_format',
};

for (const [responses, own] of Object.entries(CHAT)) {
  test(`[Q24] ${responses} is ${own}`, () => {
    const error = { code: 'invalid_value', type: 'invalid_request_error', param: responses, message: `Invalid '${responses}': a value.` };
    assert.deepEqual(inClientWords(error, chatParam), { ...error, param: own, message: `Invalid '${own ?? responses}': a value.` });
  });
}

const images = new ImageNames(['image.0', 'image.1']);

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
  'input[0].content[2].image_url': 'image.1',
  'input.0.content.1': 'image.0',
  'input.0.content.7': 'image',
  instructions: null,
  model: 'model',
};

for (const [responses, own] of Object.entries(IMAGES)) {
  test(`[Q22] of an image ${responses} is ${own}`, () => assert.equal(images.nameOf(responses), own));
}

test('[RB8] a member that is named without quotes has its name there too, and nowhere else', () => {
  const error = { code: 'unsupported_parameter', type: null, param: 'text', message: 'Unsupported parameter: text of text' };
  assert.equal(inClientWords(error, chatParam).message, 'Unsupported parameter: response_format of text');
  assert.equal(inClientWords({ ...error, message: 'A text is too long.' }, chatParam).message, 'A text is too long.');
});

test('[Q24] an error without a param, or without a message, stays as it is', () => {
  const error = { code: 'invalid_value', type: null, param: null, message: "Invalid 'input'." };
  assert.equal(inClientWords(error, chatParam), error);
  assert.deepEqual(inClientWords({ ...error, param: 'input', message: null }, chatParam), { ...error, param: 'messages', message: null });
});

test('[Q24] a refusal keeps all but its words; that of a provider has the client’s words already', () => {
  const refusal = invalidRequest('input.1.content.0', 'must be an object');
  const shown = refusalInClientWords(refusal, chatParam);
  assert.deepEqual(shown.error, {
    ...refusal.error,
    param: 'messages.1.content.0',
    message: '`messages.1.content.0` must be an object.',
  });
  assert.deepEqual([shown.status, shown.loggedCode], [400, 'invalid_request']);
  assert.deepEqual(JSON.parse(shown.json), { error: shown.error });
  const wait = new Refusal('rate_limit_exceeded', { param: 'input', retryAfterMs: 5_000 });
  assert.equal(refusalInClientWords(wait, chatParam).headers, wait.headers);
  const relayed = new RelayedRefusal(400, { message: 'No.', type: 'invalid_request_error', code: null, param: 'input' }, 'upstream_error');
  assert.equal(refusalInClientWords(relayed, chatParam), relayed);
});

test('[Q24] places of items are those before rules moved them', () => {
  const places = new ItemPlaces();
  // In Full the texts of items 0 and 3 were lifted.
  places.splice(0, 1, 0);
  places.splice(2, 1, 0);
  assert.deepEqual(
    ['input.0', 'input[1].content[0]', 'input.2.content', 'input.9', 'input', 'tools.0', 'inputs.0'].map((param) => places.before(param)),
    ['input.1', 'input[2].content[0]', 'input.4.content', 'input.11', 'input', 'tools.0', 'inputs.0'],
  );
  // In Lite the tools and the instructions come first.
  places.splice(0, 0, 2);
  assert.deepEqual(
    ['input.0.tools.3.parameters', 'input[0].tools[1]', 'input.1.content', 'input.2', 'input.4'].map((param) => places.before(param)),
    ['tools.3.parameters', 'tools[1]', 'input', 'input.1', 'input.4'],
  );
});
