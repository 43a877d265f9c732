// Accounts of other APIs as their operator configures them: addresses, credentials, and the models that they declare and list (AA1 to AA11).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Json } from '../../../proxy/turn/json/json.ts';
import { answers, lists, type Platform, refuses, startPlatform } from '../../providers/responses/platform.ts';
import { bearerOf, type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';

const NATIVE_MODELS = '/backend-api/agent/models';
const PUBLIC = '/v1/responses';

let platform: Platform;
let gate: TestGateway;
before(async () => {
  platform = await startPlatform();
  gate = await startGateway({ upstream: { accounts: ['north', 'platform'] }, config: (draft) => configure(draft, {}) });
});
after(async () => {
  await gate.close();
  await platform.close();
});
beforeEach(() => {
  platform.clear();
  platform.reading.clear();
  platform.reading.set('/v1/models', lists(['own-a']));
  gate.reset();
});

/** Configures the second account of the Pool; `alone` removes the first one from the Pool. */
function configure(
  draft: Draft,
  account: Draft,
  { alone = true, pool = {} }: { readonly alone?: boolean; readonly pool?: Draft } = {},
): void {
  draft.accounts[1] = {
    id: 'platform',
    label: 'PLATFORM',
    api: 'responses',
    base_url: platform.url,
    credential: { bearer: { env: 'BEARER_PLATFORM' } },
    ...account,
  };
  const assignments = [...(alone ? [] : [{ account: 'north' }]), { account: 'platform' }];
  draft.pools = [{ id: 'team', label: 'Team', strategy: 'fill_first', assignments, ...pool }];
}

async function reconfigured(account: Draft, more: Parameters<typeof configure>[2] = {}): Promise<void> {
  const reads = (): number | undefined => gate.catalogs().find((one) => one.account === 'platform')?.reads;
  const before = reads();
  await gate.reconfigure((draft) => configure(draft, account, more));
  if (account.read_models === false) return;
  await until('the account was read', () => reads() !== before);
}

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
const entries = async (): Promise<any[]> => (await gate.send(NATIVE_MODELS)).json.models;

const publicIds = async (): Promise<readonly unknown[]> =>
  (await gate.send('/v1/models')).json.data.map(({ id }: { readonly id: string }) => id);

const turn = (model: string) => gate.send(PUBLIC, { body: { model, input: 'hi' } });

test('[AA2][AA3] the base URL is a prefix with one ignored slash, and the query goes with turns and reads', async () => {
  await reconfigured({ base_url: `${platform.url}/`, query: { 'api-version': 'a b', flag: '' }, models: { 'model-a': 'own-a' } });
  assert.equal((await turn('model-a')).status, 200);
  const query = '?api-version=a+b&flag=';
  assert.deepEqual(
    [...platform.reads, ...platform.requests].map(({ path }) => path),
    [`/v1/models${query}`, `/v1/responses${query}`],
  );
  assert.ok(
    gate.logged.every((line) => !line.includes('api-version')),
    'a query is never logged',
  );
});

test('[AA2] a redirect is not followed', async () => {
  await reconfigured({ models: { 'model-a': 'own-a' } });
  platform.next.push((response) => void response.writeHead(307, { location: `${platform.url}/elsewhere` }).end());
  assert.equal((await turn('model-a')).status, 502);
  assert.deepEqual(
    platform.requests.map(({ path }) => path),
    ['/v1/responses'],
  );
});

test('[AA4] a bearer, a header of any name, or no credential at all goes out', async () => {
  const sent = async (credential: unknown): Promise<readonly unknown[]> => {
    await reconfigured({ credential, models: { 'model-a': 'own-a' } });
    assert.equal((await turn('model-a')).status, 200);
    const all = [...platform.reads, ...platform.requests].map(({ headers }) => [headers.authorization, headers['api-key']]);
    platform.clear();
    return all;
  };
  const twice = (headers: readonly unknown[]): readonly unknown[] => [headers, headers];
  assert.deepEqual(await sent({ bearer: { env: 'BEARER_PLATFORM' } }), twice([`Bearer ${bearerOf('platform')}`, undefined]));
  assert.deepEqual(await sent({ header: { name: 'Api-Key', env: 'BEARER_PLATFORM' } }), twice([undefined, bearerOf('platform')]));
  assert.deepEqual(await sent('none'), twice([undefined, undefined]));
});

for (const kind of ['bearer', 'header'] as const) {
  test(`[AA4] after a 401 a changed file of a ${kind} is read again and tried once; an unchanged one makes the account reauth_required`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'secret');
    writeFileSync(file, 'first-secret\n');
    const credential = kind === 'bearer' ? { bearer: { file } } : { header: { name: 'api-key', file } };
    const carried = (): readonly unknown[] =>
      platform.requests.map(({ headers }) => (kind === 'bearer' ? headers.authorization?.replace('Bearer ', '') : headers['api-key']));
    await reconfigured({ credential, models: { 'model-a': 'own-a' } });
    assert.equal((await turn('model-a')).status, 200);
    writeFileSync(file, 'second-secret\n');
    platform.next.push(refuses(401, { code: 'invalid_api_key' }));
    assert.equal((await turn('model-a')).status, 200);
    assert.equal((await turn('model-a')).status, 200);
    assert.deepEqual(carried(), ['first-secret', 'first-secret', 'second-secret', 'second-secret']);
    const health = (): unknown => gate.accounts().find(({ account }) => account === 'platform')?.status;
    assert.equal(health(), 'active');
    platform.clear();
    platform.next.push(refuses(401, { code: 'invalid_api_key', message: 'not second-secret' }));
    const refused = await turn('model-a');
    assert.notEqual(refused.status, 200);
    assert.ok(!refused.text.includes('second-secret'), 'no answer has a secret');
    assert.deepEqual([carried(), health()], [['second-secret'], 'reauth_required']);
  });
}

test('[AA6] the waits of an account are its own', async () => {
  await reconfigured({ first_byte_ms: 1_000, models: { 'model-a': 'own-a' } });
  platform.next.push(() => undefined);
  const late = await turn('model-a');
  assert.equal(late.status, 504, late.text);
});

test('[AA7][AA8] declared own ids are served though they are not listed; what is listed besides is not', async () => {
  platform.reading.set('/v1/models', lists(['own-a', 'own-b']));
  await reconfigured({ models: { 'model-a': 'deployment' }, catalog: [{ id: 'own-c', context_window: 5_000 }] });
  assert.deepEqual(await publicIds(), ['own-c', 'model-a']);
  assert.equal((await turn('model-a')).status, 200);
  assert.equal(platform.requests[0]?.json.model, 'deployment');
  assert.equal((await turn('own-b')).json.error.code, 'invalid_model');
});

test('[AA8] read_models: all serves what is listed and what is declared, false asks nothing', async () => {
  platform.reading.set('/v1/models', lists(['own-a', 'own-b']));
  await reconfigured({ read_models: 'all', models: { 'model-a': 'own-a' }, catalog: [{ id: 'own-c' }] });
  assert.deepEqual([...(await publicIds())].sort(), ['model-a', 'own-b', 'own-c']);
  platform.clear();
  await reconfigured({ read_models: false, catalog: [{ id: 'own-c' }] });
  assert.deepEqual(await publicIds(), ['own-c']);
  assert.equal((await turn('own-c')).status, 200);
  assert.deepEqual(platform.reads, []);
});

test('[AA8] a list over 4 MiB is not read, and what is declared is served all the same', async () => {
  platform.reading.set('/v1/models', answers(200, { data: [{ id: 'own-large', text: 'x'.repeat(4_194_304) }] }));
  await reconfigured({ read_models: 'all', catalog: [{ id: 'own-c' }] });
  const failure = await until('the end of the read', () => gate.catalogs().find(({ account }) => account === 'platform')?.failure);
  assert.equal(failure, 'network');
  assert.ok((await publicIds()).includes('own-c'));
  assert.ok(!(await publicIds()).includes('own-large'));
});

test('[AA7] what a row declares wins member by member over what is listed', async () => {
  const listed = { id: 'own-a', context_length: 9_000, max_output_tokens: 700, architecture: { input_modalities: ['text', 'image'] } };
  platform.reading.set('/v1/models', answers(200, { data: [listed] }));
  await reconfigured({ catalog: [{ id: 'own-a', context_window: 5_000, tools: false }] });
  const [entry] = await entries();
  assert.deepEqual([entry.context_window, entry.input_modalities, entry.apply_patch_tool_type], [5_000, ['text', 'image'], null]);
  assert.equal((await gate.send(PUBLIC, { body: { model: 'own-a', input: 'hi', max_output_tokens: 9_000 } })).status, 200);
  assert.equal(platform.requests[0]?.json.max_output_tokens, 700);
});

interface Known {
  readonly window?: number;
  readonly output?: number;
  readonly modalities?: readonly string[];
  readonly tools?: boolean;
  readonly kind?: string;
}

interface Listed {
  readonly what: string;
  readonly preset?: string;
  /** A model with the id `own-a`, or a whole answer. */
  readonly model?: { readonly [name: string]: Json };
  readonly answer?: Json;
  /** Answers at the origin. */
  readonly origin?: Readonly<Record<string, Json>>;
  /** Undefined if the model is left out. */
  readonly known: Known | undefined;
}

const vllm = { preset: 'vllm', api: 'responses' };

const LISTS: readonly Listed[] = [
  { what: 'nothing', model: {}, known: {} },
  { what: 'a bare list', answer: [{ id: 'own-a', context_length: 10 }], known: { window: 10 } },
  { what: 'models', answer: { models: [{ id: 'own-a', context_window: 11 }] }, known: { window: 11 } },
  { what: 'data beside models', answer: { models: [{ name: 'x' }], data: [{ id: 'own-a', max_model_len: 12 }] }, known: { window: 12 } },
  { what: 'max_context_length', model: { max_context_length: 13 }, known: { window: 13 } },
  { what: 'meta.n_ctx, never n_ctx_train', model: { meta: { n_ctx: 14, n_ctx_train: 99 } }, known: { window: 14 } },
  { what: 'n_ctx_train alone', model: { meta: { n_ctx_train: 99 } }, known: {} },
  { what: 'the first of two', model: { context_window: 16, context_length: 15 }, known: { window: 15 } },
  {
    what: 'numbers that are none',
    model: { context_length: 0, context_window: -1, max_model_len: 1.5, max_output_tokens: '9' },
    known: {},
  },
  { what: 'a good number behind a bad one', model: { context_length: null, context_window: 17 }, known: { window: 17 } },
  { what: 'max_completion_tokens', model: { max_completion_tokens: 5, max_output_tokens: 6 }, known: { output: 5 } },
  { what: 'max_output_tokens', model: { max_output_tokens: 6 }, known: { output: 6 } },
  { what: 'active: false', model: { active: false }, known: undefined },
  {
    what: 'OpenRouter',
    model: {
      context_length: 200,
      top_provider: { context_length: 100, max_completion_tokens: 7 },
      architecture: { input_modalities: ['text', 'file', 'video'], output_modalities: ['text'] },
      supported_parameters: ['tools', 'temperature'],
    },
    known: { window: 100, output: 7, modalities: ['text', 'file'], tools: true },
  },
  {
    what: 'OpenRouter without tools',
    model: { context_length: 50, top_provider: { context_length: 100 }, supported_parameters: ['temperature'] },
    known: { window: 50, tools: false },
  },
  { what: 'OpenRouter without text output', model: { architecture: { output_modalities: ['image'] } }, known: undefined },
  {
    what: 'Mistral',
    model: { max_context_length: 300, capabilities: { completion_chat: true, vision: true, function_calling: false } },
    known: { window: 300, modalities: ['text', 'image'], tools: false },
  },
  { what: 'Mistral without chat', model: { capabilities: { completion_chat: false } }, known: undefined },
  {
    what: 'LM Studio',
    preset: 'lmstudio',
    model: {},
    origin: {
      '/api/v0/models': {
        data: [{ id: 'own-a', type: 'vlm', loaded_context_length: 20, max_context_length: 40, capabilities: ['tool_use'] }],
      },
    },
    known: { window: 20, modalities: ['text', 'image'], tools: true },
  },
  {
    what: 'LM Studio, an embedding model that is not loaded',
    preset: 'lmstudio',
    model: {},
    origin: { '/api/v0/models': { data: [{ id: 'own-a', type: 'embeddings', max_context_length: 40 }] } },
    known: { window: 40, kind: 'embedding' },
  },
  { what: 'LM Studio without its own list', preset: 'lmstudio', model: {}, known: {} },
  {
    what: 'llama.cpp',
    preset: 'llamacpp',
    model: { meta: { n_ctx_train: 99 } },
    origin: { '/props': { default_generation_settings: { n_ctx: 21 } } },
    known: { window: 21 },
  },
  { what: 'llama.cpp without props', preset: 'llamacpp', model: {}, known: {} },
  { what: 'Ollama', preset: 'ollama', model: { context_length: 99, max_output_tokens: 5 }, known: { output: 5 } },
  { what: 'vLLM', preset: 'vllm', model: { max_model_len: 22 }, known: { window: 22 } },
];

for (const { what, preset, model, answer, origin = {}, known } of LISTS) {
  test(`[AA9] a list of ${what}`, async () => {
    platform.reading.set('/v1/models', answers(200, answer ?? { object: 'list', data: [{ ...model, id: 'own-a' }, { id: 'own-b' }] }));
    for (const [path, body] of Object.entries(origin)) platform.reading.set(path, answers(200, body));
    await reconfigured({ ...(preset === undefined ? {} : { ...vllm, preset }), read_models: 'all' });
    const found = gate.accountModel('platform', 'own-a');
    const expected = known && {
      id: 'own-a',
      contextWindow: known.window,
      maxOutput: known.output,
      reasoningLevels: undefined,
      defaultLevel: undefined,
      modalities: known.modalities ?? ['text'],
      tools: known.tools ?? true,
      kind: known.kind ?? 'turns',
      prices: undefined,
    };
    assert.deepEqual(found, expected);
    const listed = (await gate.send('/v1/models')).json.data.find(({ id }: { readonly id: string }) => id === 'own-a');
    assert.equal(listed?.context_length, known?.window && Math.floor(known.window * 0.95));
    const reads = platform.reads.map(({ path }) => path).filter((path) => path !== '/v1/models');
    assert.ok(reads.length <= 1, 'a further read happens once');
  });
}

test('[AA7] images are taken with the presets openai, azure and xai where nothing says otherwise', async () => {
  for (const [preset, modalities] of [
    ['openai', ['text', 'image']],
    ['azure', ['text', 'image']],
    ['xai', ['text', 'image']],
    ['groq', ['text']],
  ] as const) {
    await reconfigured({ preset, catalog: [{ id: 'own-a' }] });
    assert.deepEqual((await entries())[0]?.input_modalities, modalities, preset);
  }
});

test('[AA11] a model with API sources alone is in both lists; its native entry is made behind those that are read', async () => {
  const model = {
    id: 'own-a',
    context_window: 50_000,
    reasoning_levels: ['low', 'high'],
    default_level: 'low',
    native: { description: 'ours' },
  };
  await reconfigured({ preset: 'openai', models: { 'model-x': 'own-a' }, catalog: [model] }, { alone: false });
  const all = await entries();
  const { base_instructions, truncation_policy, experimental_supported_tools, ...made } = all.find(({ slug }) => slug === 'model-x');
  assert.deepEqual(made, {
    slug: 'model-x',
    display_name: 'model-x',
    description: 'ours',
    context_window: 50_000,
    max_context_window: 50_000,
    effective_context_window_percent: 95,
    auto_compact_token_limit: 45_000,
    supported_reasoning_levels: [
      { effort: 'low', description: 'low' },
      { effort: 'high', description: 'high' },
    ],
    default_reasoning_level: 'low',
    input_modalities: ['text', 'image'],
    visibility: 'list',
    supported_in_api: true,
    shell_type: 'shell_command',
    priority: 4,
    support_verbosity: false,
    use_responses_lite: false,
    apply_patch_tool_type: 'freeform',
  });
  const [agent] = all;
  assert.deepEqual(
    [base_instructions, truncation_policy, experimental_supported_tools],
    [agent.base_instructions, agent.truncation_policy, agent.experimental_supported_tools],
    'those of the first agent entry of the Pool',
  );
  assert.ok((await publicIds()).includes('model-x'));
});

test('[AA11] like names the entry that lends its instructions, and native sets members as they are', async () => {
  const native = { base_instructions: 'Ours.', priority: 0, apply_patch_tool_type: null };
  const catalog = [
    { id: 'own-a', context_window: 1_000, like: 'model-b', native: { display_name: 'A' } },
    { id: 'own-b', context_window: 1_000, native },
  ];
  await reconfigured({ catalog }, { alone: false });
  const all = await entries();
  const of = (slug: string) => all.find((entry) => entry.slug === slug);
  assert.equal(of('own-a').base_instructions, of('model-b').base_instructions);
  assert.equal(of('own-a').display_name, 'A');
  const { base_instructions, priority, apply_patch_tool_type } = of('own-b');
  assert.deepEqual({ base_instructions, priority, apply_patch_tool_type }, native);
});

test('[AA11] without an agent account and without a window an entry has neutral instructions and 128000', async () => {
  await reconfigured({ catalog: [{ id: 'own-w' }, { id: 'own-e', kind: 'embedding' }] });
  const [entry, ...others] = await entries();
  assert.deepEqual(others, [], 'an embedding model is in no native list');
  assert.deepEqual([entry.slug, entry.context_window, entry.truncation_policy.limit], ['own-w', 128_000, 10_000]);
  assert.match(entry.base_instructions, /agent/);
  assert.deepEqual(await publicIds(), ['own-w', 'own-e']);
  const { json } = await gate.send('/v1/models/own-w');
  assert.equal(json.context_length, undefined, 'no window is invented for the compatible list');
  const lines = gate.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'model_window_unknown');
  assert.ok(lines.some(({ model }) => model === 'own-w'));
});

test('[AA11] an entry that lacks what native clients need is left out of their list, counted, and warned of once', async () => {
  const catalog = [
    { id: 'own-a', context_window: 1_000, native: { base_instructions: null } },
    { id: 'own-b', context_window: 1_000 },
    { id: 'own-e', kind: 'embedding' },
  ];
  await reconfigured({ read_models: false, catalog });
  assert.deepEqual(
    (await entries()).map(({ slug }) => slug),
    ['own-b'],
  );
  assert.deepEqual(await publicIds(), ['own-a', 'own-b', 'own-e']);
  await gate.send(`${NATIVE_MODELS}?client_version=99.0.0`);
  assert.equal((await turn('own-a')).status, 200, 'turns of it are served');
  const metrics = await gate.metrics();
  assert.match(metrics, /poolgate_models_unlisted\{pool="team"\} 1\n/);
  const lines = gate.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'model_not_in_native_list');
  assert.deepEqual(
    lines.map(({ level, pool, model, member }) => [level, pool, model, member]),
    [['warn', 'team', 'own-a', 'base_instructions']],
  );
  await reconfigured({ read_models: false, catalog: catalog.slice(1) });
  assert.match(await gate.metrics(), /poolgate_models_unlisted\{pool="team"\} 0\n/);
});
