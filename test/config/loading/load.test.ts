// Loading a valid file: defaults, absolute paths, resolved secrets, and a frozen result.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { redact, sharedDigestOf } from '../../../proxy/config/config-diff.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { ConfigError } from '../../../proxy/config/schema/finding.ts';
import { fileWith, folderFor, HASH, SMALL } from '../files.ts';

const load = async (context: TestContext, text: string, env: NodeJS.ProcessEnv = {}) => {
  const { loaded } = await loadConfig(fileWith(context, text), { env });
  return loaded;
};

test('[PL2] a Pool without settings compresses nothing, and has the other defaults of the schema', async (context) => {
  const { config } = await load(context, SMALL);
  assert.deepEqual(
    { ...config.pools[0], serving_modes: { ...config.pools[0]?.serving_modes }, models: { ...config.pools[0]?.models } },
    {
      id: 'team',
      label: 'team',
      strategy: 'headroom',
      max_attempts: 3,
      allow_image_generation: true,
      request_compression_enabled: false,
      prompt_cache_locality: true,
      hide_account_quota: false,
      serving_modes: {},
      models: {},
      assignments: [{ account: 'north', active: true, eligible: true, weight: 1, tier: 0 }],
      overflow: { on: ['quota', 'failing'], wait_ms: 0, reasoning: 'drop', tiers: {} },
    },
  );
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 4000, cors: { origins: [] }, trusted_proxies: [] });
  assert.equal(config.timeouts.websocket_idle_timeout_ms, 1_800_000);
  assert.deepEqual(config.admission.mcp, { running: 64, waiting: 64, wait_ms: 5000 });
  assert.equal(config.keys[0]?.status, 'active');
});

test('[PL3] auto, lite and full are accepted, and auto is not an override', async (context) => {
  const modes = 'pools: [{ id: team, serving_modes: { model-a: auto, model-b: lite, model-c: full } }]';
  const { config } = await load(context, `accounts: []\n${modes}\n`);
  assert.deepEqual(Object.entries(config.pools[0]?.serving_modes ?? {}), [
    ['model-b', 'lite'],
    ['model-c', 'full'],
  ]);
});

test('[PL6] no environment variable sets a serving mode', async (context) => {
  const { config } = await load(context, SMALL, { SERVING_MODE: 'lite', POOLGATE_SERVING_MODE: 'full', MODE: 'lite' });
  assert.deepEqual(Object.entries(config.pools[0]?.serving_modes ?? {}), []);
});

test('paths are relative to the folder of the file', async (context) => {
  const path = fileWith(context, `${SMALL}store: sqlite:state/gate.db\n`);
  const { loaded } = await loadConfig(path, { env: {} });
  assert.equal(loaded.config.store, `sqlite:${join(dirname(path), 'state/gate.db')}`);
  assert.deepEqual(loaded.config.store_key, { file: join(dirname(path), 'data/store.key') });
  assert.equal(loaded.path, path);
  assert.equal((await load(context, `${SMALL}store: "sqlite::memory:"\n`)).config.store, 'sqlite::memory:');
});

test('bearers are read from variables and from files, without the final line break', async (context) => {
  const path = fileWith(
    context,
    `accounts:
  - { id: a, base_url: "https://a.example/v1/", credential: { bearer: { env: TOKEN_A } }, headers: { X-Account-Id: abc } }
  - { id: b, base_url: "https://b.example", credential: { bearer: { file: b.txt } } }
  - { id: c, base_url: "https://c.example", credential: { oauth: { file: c.json, token_url: "https://auth.example/token", client_id: x } } }
  - { id: d, base_url: "rehearsal:" }
pools: []
`,
  );
  writeFileSync(join(dirname(path), 'b.txt'), 'token-b\n');
  writeFileSync(join(dirname(path), 'c.json'), '{"tokens":{"refresh_token":"r"}}');
  const { loaded } = await loadConfig(path, { env: { TOKEN_A: 'token-a' } });
  assert.deepEqual(
    [...loaded.bearers],
    [
      ['a', 'token-a'],
      ['b', 'token-b'],
    ],
  );
  assert.equal(loaded.config.accounts[0]?.base_url, 'https://a.example/v1');
  assert.equal(loaded.config.accounts[0]?.headers['x-account-id'], 'abc');
  assert.deepEqual(loaded.config.accounts[2]?.credential, {
    oauth: {
      file: join(dirname(path), 'c.json'),
      token_url: 'https://auth.example/token',
      client_id: 'x',
      scopes: [],
      identity_claim: 'sub',
      redirect_url: 'http://127.0.0.1:0/callback',
    },
  });
});

test('the URL of a database is read from a variable or a file, and is not part of the configuration', async (context) => {
  const url = 'postgres://poolgate:hunter2@db.example:5432/poolgate?sslmode=verify-full';
  const byEnv = await load(context, `${SMALL}store: { postgres: { env: DATABASE_URL } }\n`, { DATABASE_URL: url });
  assert.deepEqual([byEnv.storeUrl, byEnv.config.store], [url, { postgres: { env: 'DATABASE_URL' }, connections: 12 }]);
  const path = fileWith(context, `${SMALL}store: { postgres: { file: url.txt } }\n`);
  writeFileSync(join(dirname(path), 'url.txt'), `${url}\n`);
  const { loaded } = await loadConfig(path, { env: {} });
  assert.deepEqual([loaded.storeUrl, loaded.config.store], [url, { postgres: { file: join(dirname(path), 'url.txt') }, connections: 12 }]);
  assert.doesNotMatch(JSON.stringify(redact(loaded.config)), /url\.txt|hunter2/);
});

test('an unset variable is an error, or a warning on request', async (context) => {
  const path = fileWith(
    context,
    'accounts: [{ id: a, base_url: "https://a.example", credential: { bearer: { env: TOKEN } } }]\npools: []\n',
  );
  await assert.rejects(loadConfig(path, { env: {} }), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.message, `${path}:1:81: accounts[a].credential.bearer.env: the environment variable TOKEN is not set`);
    return true;
  });
  const { loaded, warnings } = await loadConfig(path, { env: {}, strictEnv: false });
  assert.equal(loaded.bearers.size, 0);
  assert.deepEqual(
    warnings.map(({ line, column, severity }) => ({ line, column, severity })),
    [{ line: 1, column: 81, severity: 'warning' }],
  );
});

test('an expiry time in any zone is converted to Unix time', async (context) => {
  const { config } = await load(context, `${SMALL}    expires_at: 2027-01-01T01:00:00+01:00\n`);
  assert.equal(config.keys[0]?.expires_at, Date.UTC(2027, 0, 1));
});

test('the model names constructor and __proto__ are not found in maps of models', async (context) => {
  const { config } = await load(context, SMALL);
  const pool = config.pools[0];
  for (const word of ['constructor', '__proto__', 'toString']) {
    assert.equal(pool?.serving_modes[word], undefined);
    assert.equal(pool?.models[word], undefined);
    assert.equal(config.accounts[0]?.models[word], undefined);
  }
});

test('a configuration is deeply frozen', async (context) => {
  const { config } = await load(context, SMALL);
  const thawed: string[] = [];
  const walk = (value: object, path: string) => {
    if (!Object.isFrozen(value)) thawed.push(path);
    for (const [key, inner] of Object.entries(value)) if (typeof inner === 'object' && inner !== null) walk(inner, `${path}.${key}`);
  };
  walk(config, 'config');
  assert.deepEqual(thawed, []);
});

test('a missing file, a folder and a binary file are findings', async (context) => {
  const folder = folderFor(context);
  writeFileSync(join(folder, 'latin1.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xe4, 0x0a]));
  const messageOf = async (path: string) => ((await loadConfig(path).catch((error: unknown) => error as Error)) as Error).message;
  assert.equal(
    await messageOf(join(folder, 'none.yaml')),
    `${join(folder, 'none.yaml')}:1:1: there is no such file: \`poolgate init\` writes one`,
  );
  assert.equal(await messageOf(folder), `${folder}:1:1: this is a folder, not a file`);
  assert.equal(await messageOf(join(folder, 'latin1.yaml')), `${join(folder, 'latin1.yaml')}:1:1: this file is not UTF-8 text`);
});

test('a byte order mark, Windows line ends and JSON are accepted', async (context) => {
  assert.equal((await load(context, `\uFEFF${SMALL.replaceAll('\n', '\r\n')}`)).config.keys[0]?.secret_sha256[0], HASH);
  assert.deepEqual((await load(context, '{"accounts": [], "pools": [], "admin": false}')).config.admin, false);
});

test('[Q34] a node is named after its host on PostgreSQL, and has one name everywhere on SQLite', async (context) => {
  const shared = `${SMALL}store: { postgres: { env: URL } }\n`;
  const env = { URL: 'postgres://db.example/poolgate', NODE_SECRET: 'secret-of-the-nodes' };
  assert.deepEqual((await load(context, shared, env)).config.node, { id: hostname(), ready_without_store: true });
  assert.equal((await load(context, SMALL)).config.node.id, 'local');
  const node = 'node: { id: a, listen: { port: 4002 }, secret: { env: NODE_SECRET } }\n';
  const { config, nodeSecret } = await load(context, shared + node, env);
  assert.deepEqual([config.node.id, config.node.listen, nodeSecret], ['a', { host: '127.0.0.1', port: 4002 }, 'secret-of-the-nodes']);
});

test('[Q34] nodes compare the shared part of their configurations: neither their names nor where they listen and log', async (context) => {
  const digestOf = async (text: string): Promise<string> => sharedDigestOf((await load(context, text)).config);
  const digest = await digestOf(SMALL);
  const metrics = 'metrics: { host: 0.0.0.0, port: 4003 }';
  for (const own of [
    'node: { id: b }',
    'listen: { port: 1234 }',
    'admin: false',
    metrics,
    'log: { level: debug }',
    'store: sqlite:other.db',
  ])
    assert.equal(await digestOf(`${SMALL}${own}\n`), digest, own);
  for (const common of ['retention: { requests_days: 7 }', 'guard: { event_loop_ms: 0 }', 'mcp: { allowed_hosts: [a.example] }'])
    assert.notEqual(await digestOf(`${SMALL}${common}\n`), digest, common);
  assert.notEqual(await digestOf(SMALL.replace('id: ci', 'id: other')), digest);
});
