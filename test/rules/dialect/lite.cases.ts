// The rewrite of a body in Lite, and the unchanged body in Full.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TurnOptions } from '../../support/turns/turn.ts';
import { AUTO_LITE, type Case, FULL, LITE } from './case.ts';

const lite: TurnOptions = { model: { mode: LITE } };
const publicLite: TurnOptions = { ...lite, kind: 'public-responses' };
const compactLite: TurnOptions = { ...lite, kind: 'compact' };
const full: TurnOptions = { model: { mode: FULL } };

const user: JsonObject = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
const developer = (text: string): JsonObject => ({ type: 'message', role: 'developer', content: [{ type: 'input_text', text }] });
const tool: JsonObject = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const other: JsonObject = { type: 'custom', name: 'g' };
const prefix = (...tools: JsonObject[]): JsonObject => ({ type: 'additional_tools', role: 'developer', tools });
const withId: JsonObject = { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [tool] };

const image = (more: JsonObject = {}): JsonObject => ({ type: 'input_image', image_url: 'https://example.test/a.png', ...more });
const said = (...content: Json[]): JsonObject => ({ type: 'message', role: 'user', content });

/** The members that every Lite body gets in addition to its input. */
const forced = { tools: undefined, instructions: undefined, parallel_tool_calls: false, reasoning: { context: 'all_turns' } };

export const LITE_REWRITE: readonly Case[] = [
  {
    name: '[F2.5] tools become the first input item',
    options: lite,
    body: { input: [user], tools: [tool, other] },
    changes: { ...forced, input: [prefix(tool, other), user] },
  },
  {
    name: '[F2.5] the tools item is there without any tools',
    options: lite,
    body: { input: [user] },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.5] an empty list of tools leaves the top level too',
    options: lite,
    body: { input: [user], tools: [] },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.5] null tools leave the top level too',
    options: lite,
    body: { input: [user], tools: null },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.5] a body without input gets the tools item alone',
    options: lite,
    body: { generate: false },
    changes: { ...forced, input: [prefix()] },
  },
  {
    name: '[F2.5] an empty input gets the tools item',
    options: lite,
    body: { input: [], generate: false },
    changes: { ...forced, input: [prefix()] },
  },
  {
    name: '[F2.6] instructions become a developer message right after the tools',
    options: lite,
    body: { input: [user], tools: [tool], instructions: 'Be brief.\n' },
    changes: { ...forced, input: [prefix(tool), developer('Be brief.\n'), user] },
  },
  {
    name: '[F2.6] blank instructions leave without a message',
    options: lite,
    body: { input: [user], instructions: ' \n' },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.6] null instructions leave without a message',
    options: lite,
    body: { input: [user], instructions: null },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.6] developer messages in input stay, and none is added',
    options: lite,
    body: { input: [developer('Be brief.'), user] },
    changes: { ...forced, input: [prefix(), developer('Be brief.'), user] },
  },
  {
    name: '[F2.7] parallel tool calls are forced off',
    options: lite,
    body: { input: [prefix()], parallel_tool_calls: true, reasoning: { context: 'all_turns' } },
    changes: { parallel_tool_calls: false },
  },
  {
    name: '[F2.8] the reasoning context is forced beside the rest of reasoning',
    options: lite,
    body: { input: [prefix()], parallel_tool_calls: false, reasoning: { effort: 'low', summary: 'auto', context: 'auto' } },
    changes: { reasoning: { effort: 'low', summary: 'auto', context: 'all_turns' } },
  },
  {
    name: '[F2.8] a null reasoning becomes the context alone',
    options: lite,
    body: { input: [prefix()], reasoning: null },
    changes: { parallel_tool_calls: false, reasoning: { context: 'all_turns' } },
  },
  {
    name: '[F2.10] a body in Lite shape stays unchanged',
    options: lite,
    body: { input: [prefix(tool), developer('x'), user], parallel_tool_calls: false, reasoning: { context: 'all_turns' } },
  },
  {
    name: '[F2.10] a leading tools item without an id is reused, and instructions are added after it',
    options: lite,
    body: { input: [prefix(tool), user], instructions: 'Be brief.' },
    changes: { ...forced, input: [prefix(tool), developer('Be brief.'), user] },
  },
  {
    name: '[Q33] an empty list of tools declares none, so the leading item is reused',
    options: lite,
    body: { input: [prefix(tool), user], tools: [] },
    changes: { ...forced, input: [prefix(tool), user] },
  },
  {
    name: '[Q33] a null id is no id',
    options: lite,
    body: { input: [{ ...prefix(tool), id: null }, user] },
    changes: { ...forced, input: [{ ...prefix(tool), id: null }, user] },
  },
  {
    name: '[F2.10] a leading tools item is not reused where tools are declared',
    options: lite,
    body: { input: [prefix(tool), user], tools: [other] },
    changes: { ...forced, input: [prefix(other), prefix(tool), user] },
  },
  {
    name: '[F2.10] a tools item with an id is ordinary input',
    options: lite,
    body: { input: [withId, user] },
    changes: { ...forced, input: [prefix(), withId, user] },
  },
  {
    name: '[F2.10] an empty id is an id',
    options: lite,
    body: { input: [{ ...withId, id: '' }] },
    changes: { ...forced, input: [prefix(), { ...withId, id: '' }] },
  },
  {
    name: '[F2.10] a tools item of another role is ordinary input',
    options: lite,
    body: { input: [{ ...prefix(tool), role: 'user' }] },
    changes: { ...forced, input: [prefix(), { ...prefix(tool), role: 'user' }] },
  },
  {
    name: '[F2.10] a tools item further back is ordinary input',
    options: lite,
    body: { input: [user, prefix(tool)] },
    changes: { ...forced, input: [prefix(), user, prefix(tool)] },
  },
  {
    name: '[F2.5] a reused item without a list gets an empty one',
    options: lite,
    body: { input: [{ type: 'additional_tools', role: 'developer' }, user] },
    changes: { ...forced, input: [prefix(), user] },
  },
  {
    name: '[F2.5] an item whose tools are no list is left to the provider',
    options: lite,
    body: { input: [{ type: 'additional_tools', role: 'developer', tools: 'all' }] },
    changes: { ...forced, input: [prefix(), { type: 'additional_tools', role: 'developer', tools: 'all' }] },
  },
  {
    name: '[F2.15] an anchored websocket frame is rewritten like any other',
    options: { model: { mode: AUTO_LITE }, client: 'websocket' },
    body: { type: 'response.create', previous_response_id: 'resp_1', input: [user], tools: [tool] },
    changes: { ...forced, input: [prefix(tool), user] },
  },
  {
    name: '[F2.15] compact bodies are rewritten',
    options: compactLite,
    body: { input: [user], tools: [tool], instructions: 'x' },
    changes: { ...forced, reasoning: undefined, input: [prefix(tool), developer('x'), user] },
  },
  {
    name: '[Q33] on compact the context is forced where there is a reasoning object',
    options: compactLite,
    body: { input: [prefix()], parallel_tool_calls: false, reasoning: { effort: 'low' } },
    changes: { reasoning: { effort: 'low', context: 'all_turns' } },
  },
  {
    name: '[F2.15] a string input of compact becomes a message',
    options: compactLite,
    body: { input: 'hi' },
    changes: { ...forced, reasoning: undefined, input: [prefix(), user] },
  },
  {
    name: '[F2.15] the public surface is rewritten',
    options: publicLite,
    body: { input: [user], tools: [tool] },
    changes: { ...forced, input: [prefix(tool), user] },
  },
  {
    name: '[F2.10] items that are no objects stay where they are',
    options: lite,
    body: { input: [null, 1, 'x', []] },
    changes: { ...forced, input: [prefix(), null, 1, 'x', []] },
  },
];

/** Bodies that otherwise have the form of Lite, so only images differ. */
const shaped = (...items: Json[]): JsonObject => ({
  input: [prefix(), ...items],
  parallel_tool_calls: false,
  reasoning: { context: 'all_turns' },
});
const items = (...given: Json[]): JsonObject => ({ input: [prefix(), ...given] });
const output = (type: string, value: Json): JsonObject => ({ type, call_id: 'call_1', output: value });
const detailed = image({ detail: 'high', file_id: 'file_1' });
const bare = image({ file_id: 'file_1' });

export const IMAGE_DETAIL: readonly Case[] = [
  {
    name: '[F2.9] detail leaves the images of a message',
    options: lite,
    body: shaped(said('x', detailed, image())),
    changes: items(said('x', bare, image())),
  },
  { name: '[F2.9] a null detail leaves too', options: lite, body: shaped(said(image({ detail: null }))), changes: items(said(image())) },
  {
    name: '[F2.9] detail leaves the images of a function output',
    options: lite,
    body: shaped(output('function_call_output', [detailed])),
    changes: items(output('function_call_output', [bare])),
  },
  {
    name: '[F2.9] detail leaves the images of a custom tool output',
    options: lite,
    body: shaped(output('custom_tool_call_output', [detailed])),
    changes: items(output('custom_tool_call_output', [bare])),
  },
  {
    name: '[Q33] detail leaves at any nesting of the content',
    options: lite,
    body: shaped(output('function_call_output', { parts: [{ content: [[detailed]], note: 'n' }] })),
    changes: items(output('function_call_output', { parts: [{ content: [[bare]], note: 'n' }] })),
  },
  {
    name: '[F2.9] detail of anything else stays',
    options: lite,
    body: shaped(said({ type: 'input_file', detail: 'high' }), { type: 'other', content: [detailed] }),
  },
  {
    name: '[F2.9] images outside message content and outputs stay',
    options: lite,
    body: shaped(detailed, { type: 'message', role: 'user', other: [detailed], content: 'x' }),
  },
  { name: '[Q33] a native message without a type stays', options: lite, body: shaped({ role: 'user', content: [detailed] }) },
  {
    name: '[Q33] a public message without a type is a message',
    options: publicLite,
    body: shaped({ role: 'user', content: [detailed] }),
    changes: items({ role: 'user', content: [bare] }),
  },
  {
    name: '[Q33] so is one whose type is null',
    options: publicLite,
    body: shaped({ type: null, role: 'user', content: [detailed] }),
    changes: items({ type: null, role: 'user', content: [bare] }),
  },
];

/** Full sends these bodies unchanged (F2.7 to F2.9, F2.11). */
export const FULL_PASS: readonly Case[] = [
  ...[
    { input: [user], tools: [tool], instructions: 'Be brief.', parallel_tool_calls: true },
    { input: [user] },
    { input: [said(detailed)], reasoning: { context: 'auto' }, parallel_tool_calls: false },
    { input: [prefix(tool), developer('x'), user], parallel_tool_calls: false, reasoning: { context: 'all_turns' } },
    { input: [withId, user], tools: null, instructions: null },
  ].map((body, i) => ({ name: `[F2.11] Full forwards as sent (${i + 1})`, options: full, body })),
  {
    name: '[MC7] an unresolved mode rewrites nothing',
    options: { model: { routable: false, mode: undefined } },
    body: { input: [user], tools: [tool], instructions: 'x' },
  },
];
