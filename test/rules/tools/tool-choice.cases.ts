// The tools that a `tool_choice` of the public surface may name.
import type { Json } from '../../../proxy/turn/json/json.ts';
import { asks, type Case, invalidAt } from './case.ts';

const TOOLS = [
  { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } },
  { type: 'custom', name: 'apply_patch' },
  {
    type: 'namespace',
    name: 'crm',
    tools: [
      { type: 'custom', name: 'note' },
      { type: 'function', name: 'find' },
    ],
  },
  { type: 'function', function: { name: 'older' } },
  { type: 'web_search' },
];
const allowed = (...tools: Json[]): Json => ({ type: 'allowed_tools', mode: 'auto', tools });

const RESOLVING: readonly Json[] = [
  'auto',
  'none',
  'required',
  null,
  { type: 'custom', name: 'apply_patch' },
  { type: 'custom', name: 'note' },
  { type: 'function', name: 'look_up' },
  { type: 'function', name: 'find' },
  { type: 'function', name: 'older' },
  { type: 'function', function: { name: 'older' } },
  { type: 'web_search' },
  allowed(
    { type: 'function', name: 'look_up' },
    { type: 'custom', name: 'note' },
    { type: 'namespace', name: 'crm' },
    { type: 'web_search' },
  ),
];

const DANGLING: readonly Json[] = [
  'any',
  '',
  7,
  true,
  [],
  {},
  { type: null },
  { type: 'custom' },
  { type: 'custom', name: null },
  { type: 'custom', name: 'look_up' },
  { type: 'custom', name: 'Apply_patch' },
  { type: 'custom', name: 'apply_patch ' },
  { type: 'custom', name: 'crm.note' },
  { type: 'custom', name: '__proto__' },
  { type: 'custom', custom: { name: 'apply_patch' } },
  { type: 'function', name: 'apply_patch' },
  { type: 'function', name: 'nobody' },
  { type: 'function' },
  { type: 'image_generation' },
  { type: 'mcp', server_label: 'far' },
  { type: 'constructor' },
  { type: 'custom apply_patch' },
  { type: 'allowed_tools', mode: 'auto' },
  allowed(),
  allowed(null),
  allowed({ type: 'custom', name: 'apply_patch' }, { type: 'custom', name: 'nobody' }),
  allowed(allowed({ type: 'custom', name: 'apply_patch' })),
];

const clauseOf = (choice: Json): string => (JSON.stringify(choice).startsWith('{"type":"custom"') ? 'F5.3' : 'Q16');

export const TOOL_CHOICE: readonly Case[] = [
  ...RESOLVING.map(
    (choice): Case => ({
      clause: clauseOf(choice),
      kind: 'public-responses',
      name: `${JSON.stringify(choice)} resolves and is kept`,
      body: asks({ tools: TOOLS, tool_choice: choice }),
    }),
  ),
  ...DANGLING.map(
    (choice): Case => ({
      clause: clauseOf(choice),
      kind: 'public-responses',
      name: `${JSON.stringify(choice)} resolves to nothing`,
      body: asks({ tools: TOOLS, tool_choice: choice }),
      refused: invalidAt('tool_choice'),
    }),
  ),
  {
    clause: 'F5.3',
    kind: 'public-responses',
    name: 'a custom tool of additional_tools is declared too',
    body: asks({
      input: [{ type: 'additional_tools', role: 'developer', tools: TOOLS }],
      tool_choice: { type: 'custom', name: 'note' },
    }),
  },
  { clause: 'F2.12', kind: 'public-responses', name: 'a scalar choice without tools', body: asks({ tool_choice: 'required' }) },
];
