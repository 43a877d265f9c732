// The tools that may be declared: no remote MCP on any surface; on the public surface a closed list of types with exact forms.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asks, type Case, invalidAt } from './case.ts';

const FUNCTION = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } };
const CUSTOM = { type: 'custom', name: 'apply_patch' };
const MCP = { type: 'mcp', server_label: 'far', server_url: 'https://far.example' };
const namespace = (...tools: Json[]): JsonObject => ({ type: 'namespace', name: 'crm', description: 'Customers', tools });
const additional = (tools: Json): JsonObject => ({ type: 'additional_tools', role: 'developer', tools });
const custom = (members: JsonObject): JsonObject => asks({ tools: [{ ...CUSTOM, ...members }] });

export const REMOTE_MCP: readonly Case[] = (['responses', 'public-responses'] as const).flatMap((kind): Case[] => [
  { clause: 'F1.3', kind, name: 'a top-level mcp tool', body: asks({ tools: [FUNCTION, MCP] }), refused: invalidAt('tools.1.type') },
  {
    clause: 'F1.3',
    kind,
    name: 'an mcp tool in additional_tools',
    body: asks({ input: [{ role: 'user', content: 'hi' }, additional([FUNCTION]), { ...additional([CUSTOM, MCP]), id: 'at_1' }] }),
    refused: invalidAt('input.2.tools.1.type'),
  },
  {
    clause: 'F1.3',
    kind,
    name: 'an mcp tool in a namespace',
    body: asks({ tools: [namespace(FUNCTION, MCP)] }),
    refused: invalidAt('tools.0.tools.1.type'),
  },
  { clause: 'F1.3', kind, name: 'mcp as a name is none', body: asks({ tools: [{ ...FUNCTION, name: 'mcp' }] }) },
  { clause: 'F1.3', kind, name: 'an mcp item of the history is no definition', body: asks({ input: [{ type: 'mcp', tools: [MCP] }] }) },
]);

/** The types that only a native client may declare (Q16). */
export const NATIVE_TOOLS: readonly Case[] = [
  {
    clause: 'Q16',
    kind: 'responses',
    name: 'new, hosted and malformed tools pass',
    body: asks({
      tools: [
        { type: 'tool_search', execution: 'client', parameters: { title: 'kept', type: 'object' } },
        { type: 'web_search', external_web_access: false },
        { type: 'tomorrow' },
        { type: 'custom' },
        { type: 'custom', name: 'twice', allowed_callers: 'direct', novel: 1 },
        { type: 'custom', name: 'twice', format: 7 },
        { type: 'namespace', name: ' ', tools: [{ type: 'namespace', name: 'inner', tools: [] }] },
        null,
        3,
        'text',
        [],
      ],
      tool_choice: { type: 'function', name: 'nobody' },
    }),
  },
  { clause: 'F1.3', kind: 'compact', name: 'an mcp tool', body: asks({ tools: [MCP] }), refused: invalidAt('tools.0.type') },
];

const REFUSED_TYPES: readonly Json[] = [
  'mcp',
  'tool_search',
  'file_search',
  'code_interpreter',
  'computer_use',
  'computer_use_preview',
  'shell',
  'local_shell',
  'apply_patch',
  'web_search_previews',
  'web_search_2025',
  'x_web_search',
  'Function',
  '__proto__',
  'constructor',
  '',
  null,
  7,
  ['function'],
];

export const TOOL_TYPES: readonly Case[] = [
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'all five accepted types',
    body: asks({
      tools: [
        FUNCTION,
        CUSTOM,
        namespace({ ...FUNCTION, name: 'f' }, { ...CUSTOM, name: 'c' }),
        { type: 'web_search' },
        { type: 'image_generation' },
      ],
    }),
  },
  ...REFUSED_TYPES.flatMap((type): Case[] => [
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `type ${JSON.stringify(type)} at the top level`,
      body: asks({ tools: [FUNCTION, { type, name: 'x' }] }),
      refused: invalidAt('tools.1.type'),
    },
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `type ${JSON.stringify(type)} in a namespace`,
      body: asks({ tools: [FUNCTION, namespace(CUSTOM, { type, name: 'x' })] }),
      refused: invalidAt('tools.1.tools.1.type'),
    },
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `type ${JSON.stringify(type)} in additional_tools`,
      body: asks({
        input: [additional([]), { role: 'user', content: 'hi' }, { ...additional([CUSTOM, { type, name: 'x' }]), id: 'at_1' }],
      }),
      refused: invalidAt('input.2.tools.1.type'),
    },
  ]),
  ...(['namespace', 'web_search', 'image_generation'] as const).map(
    (type): Case => ({
      clause: 'F5.2',
      kind: 'public-responses',
      name: `a ${type} inside a namespace`,
      body: asks({ tools: [namespace({ type, name: 'inner', tools: [] })] }),
      refused: invalidAt('tools.0.tools.0.type'),
    }),
  ),
  ...([null, 7, 'function', [FUNCTION], {}] as const).map(
    (tool): Case => ({
      clause: 'Q16',
      kind: 'public-responses',
      name: `no tool at all: ${JSON.stringify(tool)}`,
      body: asks({ tools: [tool as Json] }),
      refused: invalidAt('tools.0.type'),
    }),
  ),
  ...([undefined, '', ' \t', null, 7] as const).map(
    (name): Case => ({
      clause: 'F5.2',
      kind: 'public-responses',
      name: `a namespace named ${JSON.stringify(name)}`,
      body: asks({ tools: [{ type: 'namespace', name, tools: [CUSTOM] }] }),
      refused: invalidAt('tools.0.name'),
    }),
  ),
  ...([undefined, null, {}, 'x'] as const).map(
    (tools): Case => ({
      clause: 'F5.2',
      kind: 'public-responses',
      name: `a namespace whose tools are ${JSON.stringify(tools)}`,
      body: asks({ tools: [{ type: 'namespace', name: 'crm', tools }] }),
      refused: invalidAt('tools.0.tools'),
    }),
  ),
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'a wrapped function in a namespace',
    body: asks({ tools: [namespace({ type: 'function', function: { name: 'f' } })] }),
    refused: invalidAt('tools.0.tools.0.function'),
  },
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'a nameless function in a namespace',
    body: asks({ tools: [namespace({ type: 'function', parameters: {} })] }),
    refused: invalidAt('tools.0.tools.0.name'),
  },
  ...([undefined, '', ' \t', null, 7] as const).flatMap((name): Case[] => [
    {
      clause: 'F5.2',
      kind: 'public-responses',
      name: `a function named ${JSON.stringify(name)}`,
      body: asks({ tools: [CUSTOM, { ...FUNCTION, name }] }),
      refused: invalidAt('tools.1.name'),
    },
    {
      clause: 'F5.2',
      kind: 'public-responses',
      name: `a wrapped function named ${JSON.stringify(name)}`,
      body: asks({ tools: [CUSTOM, { type: 'function', function: { name } }] }),
      refused: invalidAt('tools.1.function.name'),
    },
  ]),
  {
    clause: 'Q16',
    kind: 'public-responses',
    name: 'additional_tools that cannot be looked through',
    body: asks({ input: [additional({ 0: MCP })] }),
    refused: invalidAt('input.0.tools'),
  },
];

const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };

export const CUSTOM_TOOLS: readonly Case[] = [
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'every field',
    body: asks({
      tools: [
        { ...CUSTOM, description: '', defer_loading: false, allowed_callers: ['direct', 'programmatic'], format: GRAMMAR },
        namespace(
          { ...CUSTOM, name: 'a', format: { type: 'text' }, allowed_callers: null },
          { ...CUSTOM, name: 'b', format: { ...GRAMMAR, syntax: 'regex' } },
          FUNCTION,
        ),
      ],
    }),
  },
  ...(
    [
      ['no name', { name: undefined }, '.name'],
      ['a blank name', { name: ' ' }, '.name'],
      ['a name that is no string', { name: ['apply_patch'] }, '.name'],
      ['a description that is no string', { description: 7 }, '.description'],
      ['a null description', { description: null }, '.description'],
      ['defer_loading as a word', { defer_loading: 'true' }, '.defer_loading'],
      ['a null defer_loading', { defer_loading: null }, '.defer_loading'],
      ['scalar allowed_callers', { allowed_callers: 'direct' }, '.allowed_callers'],
      ['an unknown caller', { allowed_callers: ['direct', 'anyone'] }, '.allowed_callers'],
      ['a format that is a word', { format: 'text' }, '.format'],
      ['a null format', { format: null }, '.format'],
      ['an empty format', { format: {} }, '.format.type'],
      ['an unknown format', { format: { type: 'json' } }, '.format.type'],
      ['text with a syntax', { format: { type: 'text', syntax: 'lark' } }, '.format.syntax'],
      ['a grammar without syntax', { format: { ...GRAMMAR, syntax: undefined } }, '.format.syntax'],
      ['a grammar of another syntax', { format: { ...GRAMMAR, syntax: 'ebnf' } }, '.format.syntax'],
      ['a grammar without definition', { format: { ...GRAMMAR, definition: undefined } }, '.format.definition'],
      ['a grammar with a blank definition', { format: { ...GRAMMAR, definition: ' ' } }, '.format.definition'],
      ["Chat's nested grammar", { format: { type: 'grammar', grammar: GRAMMAR } }, '.format.syntax'],
      ['an unknown member of a grammar', { format: { ...GRAMMAR, flags: 'i' } }, '.format.flags'],
      ['an unknown member', { strict: true }, '.strict'],
      ['parameters', { parameters: {} }, '.parameters'],
      ["Chat's wrapper", { name: undefined, custom: { name: 'apply_patch' } }, '.name'],
      ['a key that is no name is not repeated', { 'Bearer sk-secret': 1 }, ''],
    ] as const
  ).flatMap(([name, members, fault]): Case[] => [
    { clause: 'F5.2', kind: 'public-responses', name, body: custom(members), refused: invalidAt(`tools.0${fault}`) },
    {
      clause: 'F5.2',
      kind: 'public-responses',
      name: `${name}, in a namespace`,
      body: asks({ tools: [FUNCTION, namespace({ ...CUSTOM, name: 'a' }, { ...CUSTOM, ...members })] }),
      refused: invalidAt(`tools.1.tools.1${fault}`),
    },
  ]),
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'a malformed one in additional_tools',
    body: asks({ input: [additional([{ ...CUSTOM, novel: 1 }])] }),
    refused: invalidAt('input.0.tools.0.novel'),
  },
];

const WRAPPED = { type: 'function', function: { name: 'look_up' } };

export const TOOL_NAMES: readonly Case[] = [
  ...(
    [
      ['two functions', [FUNCTION, FUNCTION], 'tools.1.name'],
      ['a function and a custom tool', [FUNCTION, { ...CUSTOM, name: 'look_up' }], 'tools.1.name'],
      ['the top level and a namespace', [CUSTOM, namespace(FUNCTION, CUSTOM)], 'tools.1.tools.1.name'],
      ['two namespaces', [namespace(CUSTOM), { ...namespace(CUSTOM), name: 'erp' }], 'tools.1.tools.0.name'],
      ['one namespace', [namespace(CUSTOM, CUSTOM)], 'tools.0.tools.1.name'],
      ['a flat and a wrapped function', [FUNCTION, WRAPPED], 'tools.1.function.name'],
    ] as const
  ).map(
    ([name, tools, param]): Case => ({
      clause: 'F5.2',
      kind: 'public-responses',
      name: `one name twice: ${name}`,
      body: asks({ tools }),
      refused: invalidAt(param),
    }),
  ),
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'names are case-sensitive, and the name of a namespace is not that of a tool',
    body: asks({ tools: [FUNCTION, { ...FUNCTION, name: 'Look_up' }, { ...namespace(CUSTOM), name: 'look_up' }] }),
  },
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'names of members that every object has are permitted',
    body: asks({ tools: ['__proto__', 'constructor', 'toString'].map((name) => ({ ...CUSTOM, name })) }),
  },
  {
    clause: 'F5.2',
    kind: 'public-responses',
    name: 'a history that declares its tools again',
    body: asks({ tools: [CUSTOM], input: [additional([CUSTOM]), additional([CUSTOM])] }),
  },
];

/** The names that the public API has in addition to the plain name, with the dates that may follow them. */
const WEB_SEARCH_NAMES = [
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'web_search_2025_08_26',
  'web_search_2026_01_31',
  'web_search_preview_2026_01_31',
] as const;

const PLAIN_SEARCH = { type: 'web_search' };

export const WEB_SEARCH: readonly Case[] = [
  ...WEB_SEARCH_NAMES.flatMap((type): Case[] => [
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `${type} goes out as web_search, with its other members`,
      body: asks({ tools: [FUNCTION, { type, search_context_size: 'low', user_location: { type: 'approximate', country: 'NO' } }] }),
      sends: { tools: [FUNCTION, { ...PLAIN_SEARCH, search_context_size: 'low', user_location: { type: 'approximate', country: 'NO' } }] },
    },
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `${type} is chosen by that name`,
      body: asks({ tools: [{ type }], tool_choice: { type } }),
      sends: { tools: [PLAIN_SEARCH], tool_choice: PLAIN_SEARCH },
    },
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `${type} is allowed by that name`,
      body: asks({ tools: [FUNCTION, PLAIN_SEARCH], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type }] } }),
      sends: { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [PLAIN_SEARCH] } },
    },
    {
      clause: 'Q16',
      kind: 'public-responses',
      name: `${type} in additional_tools`,
      body: asks({ input: [additional([{ type }]), { role: 'user', content: 'hi' }] }),
      sends: { input: [additional([PLAIN_SEARCH]), { role: 'user', content: 'hi' }] },
    },
    {
      clause: 'F5.2',
      kind: 'public-responses',
      name: `${type} inside a namespace`,
      body: asks({ tools: [namespace({ type })] }),
      refused: invalidAt('tools.0.tools.0.type'),
    },
  ]),
  {
    clause: 'Q16',
    kind: 'public-responses',
    name: 'a search that is chosen but not declared',
    body: asks({ tools: [FUNCTION], tool_choice: { type: 'web_search_preview' } }),
    refused: invalidAt('tool_choice'),
  },
  {
    clause: 'Q16',
    kind: 'responses',
    name: 'native routes keep the name',
    body: asks({ tools: [{ type: 'web_search_preview' }] }),
  },
];
