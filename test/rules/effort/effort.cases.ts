// Effort policies with models: the effort in the request of a key, and the effort that is sent or refused.
import type { Case } from '../dialect/case.ts';

const levels = (...efforts: string[]) => efforts.map((effort) => ({ effort, description: `${effort} effort` }));

/** The levels are low, medium and high; medium is the default. */
const reasoning = { supported_reasoning_levels: levels('low', 'medium', 'high'), default_reasoning_level: 'medium' };
const model = { entry: reasoning };

const refused = { code: 'reasoning_effort_not_allowed', status: 400, param: 'reasoning.effort' };
const refusedOnChat = { ...refused, param: 'reasoning_effort' };

const upTo = (ceiling: string) => ({ key: { reasoning_effort: { allow_up_to: ceiling } }, model });
const always = (effort: string) => ({ key: { reasoning_effort: { always: effort } }, model });

export const UNRESTRICTED: readonly Case[] = [
  { name: '[RE1] an omitted effort stays absent', options: { model }, body: { input: [] } },
  { name: '[RE1] a reasoning object without an effort stays without', options: { model }, body: { reasoning: { summary: 'auto' } } },
  { name: '[RE1] an effort that the model lacks passes', options: { model }, body: { reasoning: { effort: 'xhigh' } } },
  { name: '[RE1] a custom effort passes', options: { model }, body: { reasoning: { effort: 'turbo' } } },
  { name: '[RE1] an effort of another type is left to the provider', options: { model }, body: { reasoning: { effort: 5 } } },
  { name: '[RE1] an omitted effort stays absent on compact', options: { model, kind: 'compact' }, body: { input: [] } },
  { name: '[RE1] an omitted effort stays absent on Chat', options: { model, kind: 'chat' }, body: { messages: [] } },
];

export const ALLOW_UP_TO: readonly Case[] = [
  { name: '[RE2] an effort below the ceiling passes', options: upTo('high'), body: { reasoning: { effort: 'low' } } },
  { name: '[RE2] an effort at the ceiling passes', options: upTo('medium'), body: { reasoning: { effort: 'medium', summary: 'auto' } } },
  {
    name: '[F4.2] an effort above the ceiling is refused, not clamped',
    options: upTo('medium'),
    body: { reasoning: { effort: 'high' } },
    refusal: refused,
  },
  {
    name: '[RE2] an effort below the ceiling that the model lacks is refused',
    options: upTo('high'),
    body: { reasoning: { effort: 'minimal' } },
    refusal: refused,
  },
  { name: '[F4.7] minimal is not low for the policy', options: upTo('minimal'), body: { reasoning: { effort: 'low' } }, refusal: refused },
  {
    name: '[F4.7] the policy distinguishes ultra from max',
    options: { ...upTo('max'), model: { entry: { supported_reasoning_levels: levels('max', 'ultra') } } },
    body: { reasoning: { effort: 'ultra' } },
    refusal: refused,
  },
  { name: '[F4.2] a custom effort is refused', options: upTo('ultra'), body: { reasoning: { effort: 'turbo' } }, refusal: refused },
  {
    name: '[F4.2] a custom effort that the model lists is refused',
    options: { ...upTo('ultra'), model: { entry: { supported_reasoning_levels: levels('low', 'turbo') } } },
    body: { reasoning: { effort: 'turbo' } },
    refusal: refused,
  },
  {
    name: '[F4.2] a known effort in other letter case is a custom one',
    options: upTo('high'),
    body: { reasoning: { effort: 'Low' } },
    refusal: refused,
  },
  { name: '[F4.2] an empty effort is an unknown one', options: upTo('high'), body: { reasoning: { effort: '' } }, refusal: refused },
  {
    name: '[F4.2] an effort that is no string is an unknown one',
    options: upTo('high'),
    body: { reasoning: { effort: 3 } },
    refusal: refused,
  },
  { name: '[F4.2] a list of efforts is an unknown one', options: upTo('high'), body: { reasoning: { effort: ['low'] } }, refusal: refused },
  {
    name: '[F4.2] an omitted effort becomes the permitted default of the model',
    options: upTo('high'),
    body: { input: [] },
    changes: { reasoning: { effort: 'medium' } },
  },
  {
    name: '[F4.2] an effort set for an omitted one is added to the rest of reasoning',
    options: upTo('high'),
    body: { reasoning: { summary: 'auto', context: 'auto' } },
    changes: { reasoning: { summary: 'auto', context: 'auto', effort: 'medium' } },
  },
  {
    name: '[F4.2] a null effort is omitted',
    options: upTo('high'),
    body: { reasoning: { effort: null } },
    changes: { reasoning: { effort: 'medium' } },
  },
  {
    name: '[F4.2] a null reasoning is omitted',
    options: upTo('high'),
    body: { reasoning: null },
    changes: { reasoning: { effort: 'medium' } },
  },
  {
    name: '[F4.2] where the default is above the ceiling an omitted effort becomes the highest permitted',
    options: upTo('low'),
    body: { input: [] },
    changes: { reasoning: { effort: 'low' } },
  },
  {
    name: '[F4.2] where the model has no default an omitted effort becomes the highest permitted',
    options: { ...upTo('high'), model: { entry: { supported_reasoning_levels: levels('high', 'low') } } },
    body: { input: [] },
    changes: { reasoning: { effort: 'high' } },
  },
  {
    name: '[F4.2] a default that the model does not list is not used',
    options: { ...upTo('max'), model: { entry: { supported_reasoning_levels: levels('low', 'high'), default_reasoning_level: 'medium' } } },
    body: { input: [] },
    changes: { reasoning: { effort: 'high' } },
  },
  {
    name: '[F4.2] an omission is refused where the model has no permitted effort',
    options: { ...upTo('low'), model: { entry: { supported_reasoning_levels: levels('high', 'xhigh'), default_reasoning_level: 'high' } } },
    body: { input: [] },
    refusal: refused,
  },
  {
    name: '[F4.2] a model that lists only custom efforts permits none',
    options: { ...upTo('ultra'), model: { entry: { supported_reasoning_levels: levels('turbo') } } },
    body: { input: [] },
    refusal: refused,
  },
  {
    name: '[Q16] an empty list of levels does not narrow',
    options: { ...upTo('high'), model: { entry: { supported_reasoning_levels: [] } } },
    body: { reasoning: { effort: 'minimal' } },
  },
  {
    name: '[Q16] a missing list of levels does not narrow',
    options: { ...upTo('high'), model: { entry: {} } },
    body: { input: [] },
    changes: { reasoning: { effort: 'high' } },
  },
  {
    name: '[Q16] a list without a usable level does not narrow',
    options: { ...upTo('high'), model: { entry: { supported_reasoning_levels: [null, 5, {}, { effort: 7 }] } } },
    body: { reasoning: { effort: 'minimal' } },
  },
  {
    name: '[Q16] an omitted effort is set on compact dispatch too',
    options: { ...upTo('high'), kind: 'compact' },
    body: { input: [] },
    changes: { reasoning: { effort: 'medium' } },
  },
  {
    name: '[F4.3] on compact the refusal names reasoning.effort',
    options: { ...upTo('low'), kind: 'compact' },
    body: { reasoning: { effort: 'high' } },
    refusal: refused,
  },
  {
    name: '[F4.3] on /v1/responses the refusal names reasoning.effort',
    options: { ...upTo('low'), kind: 'public-responses' },
    body: { reasoning: { effort: 'high' } },
    refusal: refused,
  },
  {
    name: '[F4.3] on Chat the refusal names reasoning_effort',
    options: { ...upTo('low'), kind: 'chat' },
    body: { messages: [], reasoning_effort: 'high' },
    refusal: refusedOnChat,
  },
  {
    name: '[F4.2] on Chat an omitted effort is set too',
    options: { ...upTo('high'), kind: 'chat' },
    body: { messages: [] },
    changes: { reasoning: { effort: 'medium' } },
  },
  {
    name: '[F4.1] a websocket frame is under the same policy',
    options: { ...upTo('low'), client: 'websocket' },
    body: { type: 'response.create', reasoning: { effort: 'high' } },
    refusal: refused,
  },
  {
    name: '[Q4] a pair without a routable source still has its policy',
    options: { ...upTo('low'), model: { entry: reasoning, routable: false, mode: undefined } },
    body: { reasoning: { effort: 'high' } },
    refusal: refused,
  },
];

export const ALWAYS: readonly Case[] = [
  {
    name: '[RE3] an omitted effort becomes the configured one',
    options: always('low'),
    body: { input: [] },
    changes: { reasoning: { effort: 'low' } },
  },
  {
    name: '[RE3] another effort becomes the configured one',
    options: always('low'),
    body: { reasoning: { effort: 'high', summary: 'auto' } },
    changes: { reasoning: { effort: 'low', summary: 'auto' } },
  },
  {
    name: '[RE3] an effort that the model lacks is applied',
    options: always('xhigh'),
    body: { reasoning: { effort: 'low' } },
    changes: { reasoning: { effort: 'xhigh' } },
  },
  { name: '[RE3] a custom effort is applied', options: always('turbo'), body: { input: [] }, changes: { reasoning: { effort: 'turbo' } } },
  {
    name: '[RE3] an effort of another type becomes the configured one',
    options: always('low'),
    body: { reasoning: { effort: {} } },
    changes: { reasoning: { effort: 'low' } },
  },
  { name: '[RE3] the configured effort itself passes', options: always('low'), body: { reasoning: { effort: 'low' } } },
  {
    name: '[Q16] the configured effort is set on compact dispatch too',
    options: { ...always('low'), kind: 'compact' },
    body: { input: [] },
    changes: { reasoning: { effort: 'low' } },
  },
  {
    name: '[RE3] on Chat the configured effort is set too',
    options: { ...always('low'), kind: 'chat' },
    body: { messages: [], reasoning_effort: 'high' },
    changes: { reasoning: { effort: 'low' } },
  },
];

/** These rows run after the policy, for a key without one. */
export const ALIASES: readonly Case[] = [
  {
    name: '[F4.7] minimal goes out as low',
    body: { reasoning: { effort: 'minimal', summary: 'auto' } },
    changes: { reasoning: { effort: 'low', summary: 'auto' } },
  },
  { name: '[F4.7] ultra goes out as max', body: { reasoning: { effort: 'ultra' } }, changes: { reasoning: { effort: 'max' } } },
  { name: '[F4.7] other efforts go out as they are', body: { reasoning: { effort: 'xhigh' } } },
  { name: '[F4.7] no effort goes out as none', body: { input: [] } },
  {
    name: '[F4.7] minimal goes out as low on compact',
    options: { kind: 'compact' },
    body: { reasoning: { effort: 'minimal' } },
    changes: { reasoning: { effort: 'low' } },
  },
  {
    name: '[F4.7] minimal goes out as low on Chat',
    options: { kind: 'chat' },
    body: { messages: [], reasoning_effort: 'minimal' },
    changes: { reasoning: { effort: 'low' } },
  },
];

/** These rows run the policy and the alias together. */
export const POLICY_THEN_ALIAS: readonly Case[] = [
  {
    name: '[F4.7] a permitted minimal goes out as low',
    options: { key: { reasoning_effort: { allow_up_to: 'minimal' } }, model: { entry: {} } },
    body: { reasoning: { effort: 'minimal' } },
    changes: { reasoning: { effort: 'low' } },
  },
  { name: '[F4.7] a configured ultra goes out as max', options: always('ultra'), body: {}, changes: { reasoning: { effort: 'max' } } },
];
