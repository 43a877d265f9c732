// `client` prints the settings of client programs with the address of the file and without any secret.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { CLIENTS } from '../../../proxy/pages/client-settings.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { poolgate } from '../run.ts';

const FILE = `${SMALL}    models: [model-b, model-c]
listen: { host: 0.0.0.0, port: 4100 }
wire: { agent: codex, meter: wham }
`;

/** Some clients of Messages add `/v1` themselves. */
const ADDRESSES = {
  native: 'http://127.0.0.1:4100/backend-api/codex',
  Responses: 'http://127.0.0.1:4100/v1',
  Messages: 'http://127.0.0.1:4100',
} as const;

test('client without a name lists the clients', async () => {
  const { code, out } = await poolgate(['client']);
  assert.equal(code, 0);
  assert.deepEqual(out.match(/^\S+/gm), ['NAME', ...CLIENTS.map(({ name }) => name)]);
});

for (const { name, language, api } of CLIENTS) {
  test(`client ${name} has the address of the file, a model of the key, and the variable instead of a secret`, async (context) => {
    const path = fileWith(context, FILE);
    const { code, out, err } = await poolgate(['client', name, '--key', 'ci', '--config', path]);
    assert.equal(code, 0, err);
    assert.ok(out.includes(ADDRESSES[api]));
    assert.ok(out.includes('POOLGATE_KEY') && !out.includes('undefined'));
    assert.match(err, /POOLGATE_KEY is the secret of key 'ci' of Pool 'team', which is active\./);
    if (name !== 'openai' && name !== 'anthropic') assert.ok(out.includes('model-b'));
    if (language === 'json') assert.equal(JSON.parse(out).provider.poolgate.options.baseURL, 'http://127.0.0.1:4100/v1');
    if (language === 'yaml') assert.equal(parse(out).models[0].apiBase, 'http://127.0.0.1:4100/v1');
    const { text, key_variable } = JSON.parse((await poolgate(['client', name, '--key', 'ci', '--json', '--config', path])).out);
    assert.deepEqual([`${text}\n`, key_variable], [out, 'POOLGATE_KEY']);
  });
}

test('a client that is part of the tests is stated with the version that they have', () => {
  const { devDependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  const stated = CLIENTS.flatMap(({ tried }) => tried.split(' with ').map((program) => program.split(' ') as [string, string]));
  const tested = stated.filter(([name]) => name in devDependencies);
  assert.ok(tested.length > 5);
  for (const [name, version] of tested) assert.equal(version, devDependencies[name], name);
});

test('client takes --model, and without a key a placeholder is printed for the model', async (context) => {
  const path = fileWith(context, SMALL);
  assert.match((await poolgate(['client', 'codex', '--model', 'model-x', '--config', path])).out, /^model = "model-x"$/m);
  const { out, err } = await poolgate(['client', 'codex', '--config', path]);
  assert.match(out, /^model = "MODEL"$/m);
  assert.match(out, /^base_url = "http:\/\/127\.0\.0\.1:4000\/backend-api\/agent"$/m);
  assert.match(err, /POOLGATE_KEY is the secret of a Pool API key\./);
});

test('client refuses an unknown name, an unknown key, and a file without a port', async (context) => {
  const path = fileWith(context, SMALL);
  const unknown = await poolgate(['client', 'opencod', '--config', path]);
  assert.deepEqual([unknown.code, unknown.err], [2, "there is no client 'opencod'; did you mean 'opencode'?\n"]);
  const key = await poolgate(['client', 'codex', '--key', 'cii', '--config', path]);
  assert.deepEqual([key.code, key.err], [1, "there is no key 'cii'; did you mean 'ci'?\n"]);
  const free = await poolgate(['client', 'codex', '--config', fileWith(context, `${SMALL}listen: { port: 0 }\n`)]);
  assert.deepEqual([free.code, free.err], [1, 'the listener takes a free port (listen.port: 0), so its address is not known\n']);
});

test('[AM69] client claude-code prints an address without /v1, the key, and a model for each call', async (context) => {
  const path = fileWith(context, FILE);
  const { code, out, err } = await poolgate(['client', 'claude-code', '--key', 'ci', '--config', path]);
  assert.equal(code, 0, err);
  assert.equal(
    out,
    `export ANTHROPIC_BASE_URL=http://127.0.0.1:4100
export ANTHROPIC_AUTH_TOKEN="$POOLGATE_KEY"
export ANTHROPIC_MODEL=model-b
export ANTHROPIC_DEFAULT_HAIKU_MODEL=model-b
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=258400
claude -p "Say hello."
`,
  );
  for (const said of ['Unset `ANTHROPIC_API_KEY`', 'aliases: { claude-*: model-a }', 'CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1'])
    assert.ok(err.includes(said), err);
});
