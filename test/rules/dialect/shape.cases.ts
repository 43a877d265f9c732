// Forms that no dialect can have, and members of every dispatch to a backend.
import type { TurnOptions } from '../../support/turns/turn.ts';
import { AUTO_FULL, AUTO_LITE, type Case, FULL, LITE } from './case.ts';

const lite: TurnOptions = { model: { mode: LITE } };
const invalid = (param: string) => ({ code: 'invalid_request', status: 400, param });
const unsupported = { code: 'unsupported_parameter', status: 400, param: 'tool_choice' };
const named = { type: 'function', name: 'f' };

export const TOOL_CHOICE: readonly Case[] = [
  {
    name: '[F2.12] a map-shaped tool_choice on a Lite-served model is refused',
    options: lite,
    body: { tool_choice: named },
    refusal: unsupported,
  },
  {
    name: '[F2.12] a map-shaped tool_choice is refused where the catalog selected Lite',
    options: { model: { mode: AUTO_LITE } },
    body: { tool_choice: named },
    refusal: unsupported,
  },
  { name: '[F2.12] an empty map is map-shaped', options: lite, body: { tool_choice: {} }, refusal: unsupported },
  {
    name: '[F5.3] a typed custom choice is refused in Lite',
    options: lite,
    body: { tool_choice: { type: 'custom', name: 'g' } },
    refusal: unsupported,
  },
  {
    name: '[F2.12] it follows the model, not the endpoint: compact',
    options: { ...lite, kind: 'compact' },
    body: { tool_choice: named },
    refusal: unsupported,
  },
  {
    name: '[F2.12] it follows the model, not the endpoint: /v1/responses',
    options: { ...lite, kind: 'public-responses' },
    body: { tool_choice: named },
    refusal: unsupported,
  },
  {
    name: '[F2.12] a named function of Chat is refused too',
    options: { ...lite, kind: 'chat' },
    body: { messages: [], tool_choice: { type: 'function', function: { name: 'f' } } },
    refusal: unsupported,
  },
  {
    name: '[F2.12] a websocket frame is refused too',
    options: { ...lite, client: 'websocket' },
    body: { tool_choice: named },
    refusal: unsupported,
  },
  ...['auto', 'none', 'required', null].map((choice) => ({
    name: `[F2.12] ${choice} passes in Lite`,
    options: lite,
    body: { tool_choice: choice },
  })),
  { name: '[F2.12] no choice passes in Lite', options: lite, body: {} },
  { name: '[F2.12] a map-shaped choice passes in explicit Full', options: { model: { mode: FULL } }, body: { tool_choice: named } },
  {
    name: '[F2.12] a map-shaped choice passes in auto that resolved to Full',
    options: { model: { mode: AUTO_FULL } },
    body: { tool_choice: named },
  },
  {
    name: '[Q4] where the mode is unresolved the check is skipped',
    options: { model: { routable: false, mode: undefined } },
    body: { tool_choice: named },
  },
];

const publicFull: TurnOptions = { kind: 'public-responses' };
const compact: TurnOptions = { kind: 'compact' };

export const SHAPES: readonly Case[] = [
  ...['high', 1, true, []].map((reasoning) => ({
    name: `[F1.4] reasoning of ${JSON.stringify(reasoning)} is refused`,
    body: { reasoning },
    refusal: invalid('reasoning'),
  })),
  {
    name: '[F1.4] reasoning that is no object is refused on compact',
    options: compact,
    body: { reasoning: 'high' },
    refusal: invalid('reasoning'),
  },
  ...['all', 1, {}].map((include) => ({
    name: `[F1.4] include of ${JSON.stringify(include)} is refused`,
    body: { include },
    refusal: invalid('include'),
  })),
  { name: '[F1.4] compact dispatch leaves include to the provider', options: compact, body: { include: 'all' } },
  {
    name: '[F1.1] instructions that are no text are refused on the public surface',
    options: publicFull,
    body: { instructions: ['x'] },
    refusal: invalid('instructions'),
  },
  {
    name: '[F2.6] instructions that are no text are refused in Lite',
    options: lite,
    body: { instructions: {} },
    refusal: invalid('instructions'),
  },
  { name: '[F2.11] native Full leaves instructions to the provider', body: { instructions: ['x'], client_metadata: 'x' } },
  {
    name: '[F2.5] tools that are no list are refused in Lite, on compact too',
    options: { ...lite, kind: 'compact' },
    body: { tools: {} },
    refusal: invalid('tools'),
  },
  {
    name: '[F2.5] input that is no list and no text is refused in Lite',
    options: { ...lite, kind: 'compact' },
    body: { input: {} },
    refusal: invalid('input'),
  },
  {
    name: '[F2.2] metadata that is no object is refused in Lite',
    options: lite,
    body: { client_metadata: 'x' },
    refusal: invalid('client_metadata'),
  },
  {
    name: '[Q15] nulls count as absent',
    options: { ...lite, kind: 'public-responses' },
    body: { reasoning: null, include: null, instructions: null, tools: null, input: null, client_metadata: null },
  },
];

const ENCRYPTED = 'reasoning.encrypted_content';
const filled = { reasoning: {}, include: [ENCRYPTED] };

export const BACKEND_SHAPE: readonly Case[] = [
  { name: '[F1.4] a bare turn gets a reasoning object and the include entry', body: { input: [] }, changes: filled },
  { name: '[F1.4] nulls are filled', body: { reasoning: null, include: null }, changes: filled },
  { name: '[F1.4] an empty include is filled', body: { reasoning: {}, include: [] }, changes: filled },
  { name: '[F1.4] reasoning and include that are there stay', body: { reasoning: { effort: 'low' }, include: ['a', ENCRYPTED, 'b'] } },
  {
    name: '[F1.4] other entries keep their order',
    body: { reasoning: {}, include: ['b', 'a', 'b'] },
    changes: { include: ['b', 'a', 'b', ENCRYPTED] },
  },
  {
    name: '[F1.4] a repeated entry stays once, the first',
    body: { reasoning: {}, include: ['a', ENCRYPTED, 'b', ENCRYPTED, ENCRYPTED, null, 'b'] },
    changes: { include: ['a', ENCRYPTED, 'b', null, 'b'] },
  },
  {
    name: '[F1.4] a websocket frame gets them',
    options: { client: 'websocket' },
    body: { type: 'response.create', input: [] },
    changes: filled,
  },
  { name: '[F1.4] Lite gets them as Full does', options: lite, body: { input: [] }, changes: filled },
  { name: '[F1.4] compact dispatch gets neither', options: compact, body: { input: [] } },
  { name: '[Q15] native turns stream and store as they say', body: { ...filled, stream: false, store: true } },
  {
    name: '[Q15] public turns stream and are not stored',
    options: publicFull,
    body: { ...filled, stream: false, store: true },
    changes: { stream: true, store: false, instructions: '' },
  },
  {
    name: '[Q15] public turns without stream and store stream and are not stored',
    options: publicFull,
    body: filled,
    changes: { stream: true, store: false, instructions: '' },
  },
  {
    name: '[RB10] instructions of a public turn stay',
    options: publicFull,
    body: { ...filled, instructions: 'Be brief.' },
    changes: { stream: true, store: false },
  },
  {
    name: '[RB10] a Lite turn has its instructions inside the input',
    options: { kind: 'public-responses', model: { mode: LITE } },
    body: { ...filled, input: [] },
    changes: { stream: true, store: false },
  },
  {
    name: '[F1.4] Chat turns get all of it',
    options: { kind: 'chat' },
    body: { input: [] },
    changes: { ...filled, stream: true, store: false, instructions: '' },
  },
];
