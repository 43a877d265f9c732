// Replies of providers: which outputs are filled, and which usage is noted.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { SafeFields } from '../../../proxy/turn/turn.ts';

export interface FilledCase {
  readonly name: string;
  /** The `response.output_item.done` events of the stream. */
  readonly items: readonly JsonObject[];
  /** The output of the completed response; undefined if it has none. */
  readonly output?: Json;
  /** The result; absent if it is unchanged. */
  readonly filled?: Json;
}

const message = (id: string): JsonObject => ({ type: 'message', id });
const a = message('a');
const b = message('b');
const c = message('c');

export const FILLED: readonly FilledCase[] = [
  { name: '[Q15] an empty output is filled', items: [{ output_index: 0, item: a }], output: [], filled: [a] },
  { name: '[Q15] a missing output is filled', items: [{ output_index: 0, item: a }], filled: [a] },
  { name: '[Q15] a null output is filled', items: [{ output_index: 0, item: a }], output: null, filled: [a] },
  {
    name: '[Q15] items are in the order of their output index',
    items: [
      { output_index: 2, item: c },
      { output_index: 0, item: a },
      { output_index: 1, item: b },
    ],
    output: [],
    filled: [a, b, c],
  },
  { name: '[Q15] items without an index stand as they came', items: [{ item: b }, { item: a }], output: [], filled: [b, a] },
  { name: '[Q15] an output that is there stays', items: [{ output_index: 0, item: a }], output: [b] },
  { name: '[Q15] without finished items an empty output stays', items: [], output: [] },
  { name: '[Q15] what is no item is not taken for one', items: [{ output_index: 0, item: null }, { output_index: 1 }], output: [] },
];

export interface UsageCase {
  readonly name: string;
  readonly body: JsonObject;
  readonly response: Json;
  readonly noted: Partial<SafeFields>;
}

const stated = {
  input_tokens: 90,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 100,
};

export const USAGE: readonly UsageCase[] = [
  {
    name: '[Q18] usage is read as the provider states it',
    body: {},
    response: { usage: stated },
    noted: { input_tokens: 90, cached_input_tokens: 40, output_tokens: 10 },
  },
  {
    name: '[Q18] cached tokens that are not stated stay unknown',
    body: {},
    response: { usage: { input_tokens: 1, output_tokens: 0 } },
    noted: { input_tokens: 1, output_tokens: 0 },
  },
  { name: '[Q18] a response without usage leaves it unknown, not zero', body: {}, response: { id: 'r' }, noted: {} },
  { name: '[Q18] a null usage is unknown', body: {}, response: { usage: null, error: null }, noted: {} },
  {
    name: '[Q18] invalid counts are unknown',
    body: {},
    response: { usage: { input_tokens: '9', input_tokens_details: [], output_tokens: -1 } },
    noted: {},
  },
  { name: '[Q18] a fraction is no count', body: {}, response: { usage: { input_tokens: 1.5, output_tokens: 1e300 } }, noted: {} },
  {
    name: '[Q18] a prewarm without usage is zero',
    body: { generate: false },
    response: { id: 'r' },
    noted: { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 },
  },
  {
    name: '[Q18] a prewarm with usage has the stated usage',
    body: { generate: false },
    response: { usage: stated },
    noted: { input_tokens: 90, cached_input_tokens: 40, output_tokens: 10 },
  },
  { name: '[Q18] a response that is none says nothing', body: {}, response: 'x', noted: {} },
];
