// A key with an output-token policy of 1,000: the requested cap, and the cap that is sent or refused.
import type { Case } from '../dialect/case.ts';

const key = { output_tokens: { max: 1000 } };
const options = { key };
const tooMany = (param: string) => ({ code: 'output_tokens_not_allowed', status: 400, param });
const malformed = { code: 'invalid_request', status: 400, param: 'max_output_tokens' };

export const OUTPUT_TOKENS: readonly Case[] = [
  { name: '[CR1] as many as the key allows pass', options, body: { max_output_tokens: 1000 } },
  { name: '[CR1] fewer pass as they came', options, body: { max_output_tokens: 20 } },
  { name: '[CR1] more are refused', options, body: { max_output_tokens: 1001 }, refusal: tooMany('max_output_tokens') },
  { name: '[CR1] an omitted value goes out as the maximum of the key', options, body: { input: [] }, changes: { max_output_tokens: 1000 } },
  { name: '[CR1] a null value is omitted', options, body: { max_output_tokens: null }, changes: { max_output_tokens: 1000 } },
  { name: '[CR1] a fraction is refused', options, body: { max_output_tokens: 10.5 }, refusal: malformed },
  { name: '[CR1] zero is refused', options, body: { max_output_tokens: 0 }, refusal: malformed },
  { name: '[CR1] a negative number is refused', options, body: { max_output_tokens: -1 }, refusal: malformed },
  { name: '[CR1] a number in a string is refused', options, body: { max_output_tokens: '10' }, refusal: malformed },
  { name: '[CR1] a number beyond the safe integers is refused', options, body: { max_output_tokens: 1e300 }, refusal: malformed },
  { name: '[CR1] a list is refused', options, body: { max_output_tokens: [10] }, refusal: malformed },
  { name: '[CR1] a key without a policy passes everything', body: { max_output_tokens: 'many' } },
  { name: '[CR1] a key without a policy gets nothing added', body: { input: [] } },
  {
    name: '[CR1] /v1/responses is under the same policy',
    options: { key, kind: 'public-responses' },
    body: { max_output_tokens: 1001 },
    refusal: tooMany('max_output_tokens'),
  },
  {
    name: '[CR1] compact is under the same policy',
    options: { key, kind: 'compact' },
    body: { max_output_tokens: 1001 },
    refusal: tooMany('max_output_tokens'),
  },
  { name: '[F1.4] nothing is added to compact dispatch', options: { key, kind: 'compact' }, body: { input: [] } },
  {
    name: '[F1.4] nothing is added to a native trigger turn',
    options: { key, kind: 'responses' },
    body: { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }, { type: 'compaction_trigger' }] },
  },
  {
    name: '[CR1] Chat is refused at max_tokens',
    options: { key, kind: 'chat' },
    body: { messages: [], max_tokens: 1001 },
    refusal: tooMany('max_tokens'),
  },
  {
    name: '[CR1] Chat is refused at max_completion_tokens',
    options: { key, kind: 'chat' },
    body: { messages: [], max_completion_tokens: 1001 },
    refusal: tooMany('max_completion_tokens'),
  },
  {
    name: '[CR1] on Chat the limit applies to both names',
    options: { key, kind: 'chat' },
    body: { messages: [], max_completion_tokens: 5, max_tokens: 1001 },
    refusal: tooMany('max_tokens'),
  },
  { name: '[CR1] on Chat one of the two names is enough', options: { key, kind: 'chat' }, body: { messages: [], max_tokens: 70 } },
  {
    name: '[CR1] on Chat an omitted value goes out as the maximum of the key',
    options: { key, kind: 'chat' },
    body: { messages: [] },
    changes: { max_output_tokens: 1000 },
  },
];
