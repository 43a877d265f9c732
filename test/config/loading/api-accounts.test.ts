// How accounts of other APIs are compiled from the tables of presets and quirks and from their own settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from '../../../proxy/config/loading/load.ts';
import { type SchemaNode, schema } from '../../../proxy/config/schema/schema.ts';
import { type ApiAccountConfig, isApiAccount } from '../../../proxy/turn/provider/api-account.ts';
import { PRESETS, type PresetName } from '../../../proxy/turn/provider/presets.ts';
import { KEEPABLE, NO_QUIRKS, QUIRKS } from '../../../proxy/turn/provider/quirks.ts';
import { HOSTED_TOOLS, MODALITIES, SERVED } from '../../../proxy/turn/provider/served.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';

async function compiled(account: string): Promise<AccountConfig> {
  const text = `accounts:\n  - { id: a, ${account} }\npools: []\n`;
  const { config, findings } = await inspect(text, { path: 'config.yaml', env: { SECRET: 's' } });
  assert.ok(config, JSON.stringify(findings));
  return config.accounts[0] as AccountConfig;
}

async function apiAccount(account: string): Promise<ApiAccountConfig> {
  const config = await compiled(account);
  assert.ok(isApiAccount(config));
  return config;
}

const KEY = 'credential: { bearer: { env: SECRET } }';

/**
 * The table of AA17 in its own words: api, others, base URL, credential, serves (without turns and compact), hosted tools, websocket,
 * compact.
 */
const TABLE = `
openai responses chat https://api.openai.com/v1 bearer images,transcriptions,files,embeddings web_search,image_generation true route
azure responses chat - header embeddings - true route
xai responses chat https://api.x.ai/v1 bearer - web_search true summary
openrouter chat responses https://openrouter.ai/api/v1 bearer embeddings - false summary
vllm chat responses - none embeddings - false summary
ollama chat responses http://127.0.0.1:11434/v1 none embeddings - false summary
lmstudio chat responses http://127.0.0.1:1234/v1 none embeddings - false summary
llamacpp chat responses http://127.0.0.1:8080/v1 none embeddings - false summary
groq chat responses https://api.groq.com/openai/v1 bearer transcriptions - false summary
mistral chat - https://api.mistral.ai/v1 bearer embeddings - false summary
deepseek chat responses https://api.deepseek.com bearer - - false summary
`;

/** The quirks of AA17 that differ from those of an account without a preset. */
const OPENAI = { tools: 'all', keep: KEEPABLE.filter((name) => name !== 'user' && name !== 'truncation') };
const PRESET_QUIRKS: Readonly<Record<PresetName, object>> = {
  openai: OPENAI,
  azure: { ...OPENAI, tool_description: 'required' },
  xai: { keep: ['temperature', 'top_p', 'include', 'prompt_cache_key'] },
  openrouter: {
    effort: 'reasoning',
    reasoning_field: 'reasoning',
    reasoning_details: true,
    reasoning_replay: 'tool_loop',
    cost_in_usage: true,
    item_ids: 'required',
  },
  vllm: { developer_role: false, late_system: 'merge', reasoning_field: 'reasoning', item_ids: 'required' },
  ollama: {
    max_tokens: 'max_tokens',
    developer_role: false,
    images: 'data',
    parallel_tool_calls: false,
    tool_choice_required: false,
    reasoning_field: 'reasoning',
  },
  lmstudio: {
    max_tokens: 'max_tokens',
    developer_role: false,
    late_system: 'merge',
    images: 'data',
    tool_choice_named: false,
    text_format: 'required',
  },
  llamacpp: {
    max_tokens: 'max_tokens',
    developer_role: false,
    late_system: 'merge',
    tool_choice_named: false,
    reasoning_replay: 'tool_loop',
  },
  groq: { developer_role: false, reasoning_field: 'reasoning', keep: ['temperature', 'top_p', 'service_tier'] },
  mistral: {
    max_tokens: 'max_tokens',
    developer_role: false,
    late_system: 'merge',
    tool_ids: 'alnum9',
    tool_result_name: true,
    assistant_after_tool: true,
    stream_options: false,
    effort: 'none',
  },
  deepseek: {
    max_tokens: 'max_tokens',
    developer_role: false,
    images: 'none',
    json_schema: 'json_object',
    effort: 'thinking',
    effort_values: { none: 'off', minimal: 'low', medium: 'high', xhigh: 'high', ultra: 'max' },
    reasoning_replay: 'always',
    tool_choice_required: false,
  },
};

const words = (text = '-'): readonly string[] => (text === '-' ? [] : text.split(','));

for (const line of TABLE.trim().split('\n')) {
  const [name = '', api = '', others, url = '', credential = '', serves, hosted, websocket, compact] = line.split(' ');

  test(`[AA17] preset ${name} fills in what its account leaves out`, async () => {
    const address = url === '-' ? 'base_url: "https://own.example/v1/", ' : '';
    const secret = { bearer: `, ${KEY}`, header: ', credential: { header: { name: Api-Key, env: SECRET } }', none: '' }[credential];
    const account = await apiAccount(`preset: ${name}, ${address}models: { a: b }${secret}`);
    assert.equal(account.api, api);
    assert.equal(account.base_url, url === '-' ? 'https://own.example/v1' : url);
    assert.deepEqual([...account.serves].sort(), ['turns', 'compact', ...words(serves)].sort());
    assert.deepEqual(account.hosted_tools, words(hosted));
    assert.equal(account.websocket, websocket === 'true');
    assert.equal(account.compact, compact);
    assert.equal(account.max_concurrent, credential === 'none' ? 4 : 32, '[AA6]');
    const quirks = { ...account.quirks, effort_values: { ...account.quirks.effort_values } };
    assert.deepEqual(quirks, { ...NO_QUIRKS, ...PRESET_QUIRKS[name as PresetName] });
    assert.deepEqual(PRESETS[name as PresetName].apis.slice(1), words(others));
  });
}

test('[AA1] a preset fills in quirks name by name, and never replaces what the account sets', async () => {
  const account = await apiAccount(
    'preset: mistral, base_url: "https://own.example", api: chat, max_concurrent: 7, serves: [turns], compact: none, ' +
      `quirks: { stream_options: true, content: string }, ${KEY}`,
  );
  assert.deepEqual(
    [account.base_url, account.max_concurrent, account.serves, account.compact],
    ['https://own.example', 7, ['turns'], 'none'],
  );
  const { stream_options, content, tool_ids, effort } = account.quirks;
  assert.deepEqual([stream_options, content, tool_ids, effort], [true, 'string', 'alnum9', 'none']);
});

test('[AA13] a chat account of a preset for Responses has no websocket, and compacts by a summary', async () => {
  const account = await apiAccount(`preset: openai, api: chat, models: { a: b }, ${KEY}`);
  assert.deepEqual([account.api, account.websocket, account.compact], ['chat', false, 'summary']);
});

test('[AA14] without a preset each quirk has its first value, and temperature and top_p are sent', async () => {
  const { quirks, serves, hosted_tools } = await apiAccount('api: chat, base_url: "https://own.example", credential: none');
  for (const [name, { values }] of Object.entries(QUIRKS)) assert.equal(quirks[name as keyof typeof QUIRKS], values[0], name);
  assert.deepEqual([quirks.keep, { ...quirks.effort_values }], [['temperature', 'top_p'], {}]);
  assert.deepEqual([serves, hosted_tools], [['turns', 'compact'], []], '[AA13]');
});

test('[AA8] the default of read_models is declared where a catalog or models is set, else all', async () => {
  const address = 'api: chat, base_url: "https://own.example", credential: none';
  const read = async (more: string): Promise<unknown> => (await apiAccount(`${address}${more}`)).read_models;
  assert.equal(await read(''), 'all');
  assert.equal(await read(', models: { a: b }'), 'declared');
  assert.equal(await read(', catalog: [{ id: b }]'), 'declared');
  assert.equal(await read(', catalog: [{ id: b }], read_models: all'), 'all');
  assert.equal(await read(', read_models: false'), false);
});

test('an account that uses nothing of this is an agent account as before', async () => {
  const account = await compiled(`base_url: "https://own.example/", ${KEY}`);
  assert.deepEqual(
    { ...account, headers: { ...account.headers }, models: { ...account.models } },
    {
      id: 'a',
      api: 'agent',
      label: 'a',
      base_url: 'https://own.example',
      credential: { bearer: { env: 'SECRET' } },
      headers: {},
      models: {},
      paused: false,
      visible: true,
      max_concurrent: 32,
      keep_fields: [],
      drop_fields: [],
      websocket: true,
      compact: 'auto',
      session_header: 'none',
      reserve_percent: 0,
    },
  );
});

test('the words of the schema are those of the tables', () => {
  const { account, quirks, catalog_row: row } = schema.definitions;
  const items = (node: SchemaNode | undefined): unknown => node?.items?.enum;
  assert.deepEqual(account?.properties?.preset?.enum, Object.keys(PRESETS));
  assert.deepEqual(items(account?.properties?.serves), [...SERVED]);
  assert.deepEqual(items(account?.properties?.hosted_tools), [...HOSTED_TOOLS]);
  assert.deepEqual(items(row?.properties?.input_modalities), [...MODALITIES]);
  assert.deepEqual(items(quirks?.properties?.keep), [...KEEPABLE]);
  assert.deepEqual(Object.keys(quirks?.properties ?? {}).sort(), [...Object.keys(QUIRKS), 'effort_values', 'keep'].sort());
  for (const [name, { values }] of Object.entries(QUIRKS)) {
    const node = quirks?.properties?.[name];
    if (typeof values[0] === 'boolean') assert.equal(node?.type, 'boolean', name);
    else assert.deepEqual(node?.enum, [...values], name);
  }
});
