// The shipped config.yaml is complete, correct and valid, because it serves as documentation.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { isMap, isPair, isScalar, isSeq, type Node, parseDocument } from 'yaml';
import { runChecks } from '../../proxy/config/checks/checks.ts';
import { inspect } from '../../proxy/config/loading/load.ts';
import { schema, settings } from '../../proxy/config/schema/schema.ts';
import { validate } from '../../proxy/config/schema/validate.ts';
import { SMALL } from './files.ts';

const text = readFileSync(new URL('../../config.yaml', import.meta.url), 'utf8');
const content: unknown = parseDocument(text).toJS();
const lines = text.split('\n');

test('the shipped file has no findings', async () => {
  const { config, findings } = await inspect(text, { path: 'config.yaml', env: {} });
  assert.deepEqual(findings, []);
  assert.deepEqual(
    config?.accounts.map(({ id, base_url }) => [id, base_url]),
    [
      ['north', 'rehearsal:'],
      ['south', 'rehearsal:flaky'],
    ],
  );
});

test('schema.json is a valid JSON Schema', () => {
  const ajv = new Ajv();
  assert.equal(ajv.validateSchema(schema), true, ajv.errorsText());
});

test('every setting of the schema is in the shipped file, as a value or in a comment', () => {
  const missing = [...settings()]
    .map(({ path }) => path)
    .filter((path) => !new RegExp(`(?:^|[\\s{#-])${path.slice(path.search(/[^.*[\]]+$/))}:`, 'm').test(text));
  assert.deepEqual(missing, []);
});

test('every setting of the shipped file has a comment at its first occurrence', () => {
  const uncommented = new Set<string>();
  const seen = new Set<string>();
  const walk = (node: unknown, path: string) => {
    if (isSeq(node)) for (const item of node.items) walk(item, `${path}[]`);
    if (!isMap(node)) return;
    for (const pair of node.items) {
      if (!isPair(pair) || !isScalar(pair.key)) continue;
      const name = `${path}.${pair.key.value}`;
      const line = lines[text.slice(0, (pair.key as Node).range?.[0]).match(/\n/g)?.length ?? 0] ?? '';
      // A comment above the route table explains its rows.
      if (!seen.has(name) && !line.includes(' # ') && !name.startsWith('.routes[]')) uncommented.add(name);
      seen.add(name);
      walk(pair.value, name);
    }
  };
  walk(parseDocument(text).contents, '');
  assert.deepEqual([...uncommented], []);
});

test('the shipped values of listeners, limits, timeouts and admission are the defaults', async () => {
  const bare: Record<string, unknown> = { accounts: [], pools: [] };
  assert.deepEqual(await validate(bare), []);
  const shown = content as Record<string, unknown>;
  for (const section of Object.keys(bare).filter((key) => !['accounts', 'pools', 'keys', 'operators'].includes(key))) {
    const withDefaults = { accounts: [], pools: [], [section]: structuredClone(shown[section]) };
    assert.deepEqual(await validate(withDefaults), []);
    assert.deepEqual(shown[section], section === 'routes' ? rowsOf(schema.properties?.routes?.default) : bare[section], section);
  }
});

test('a file without a route table uses the table of the shipped file', async () => {
  const { config } = await inspect(SMALL, { path: 'config.yaml', env: {} });
  const { config: shipped } = await inspect(text, { path: 'config.yaml', env: {} });
  assert.ok(config && shipped);
  assert.deepEqual(config.routes, shipped.routes);
});

/** The sections A to E and G of the contract, with method, path and status. */
const CONTRACT = `
GET /backend-api/agent/models supported
POST /backend-api/agent/responses supported
WS /backend-api/agent/responses supported
POST /backend-api/agent/responses/compact supported
POST /backend-api/agent/images/generations supported
POST /backend-api/agent/images/edits supported
GET /backend-api/agent/v1/models supported
POST /backend-api/agent/v1/responses supported
WS /backend-api/agent/v1/responses supported
POST /backend-api/agent/v1/responses/compact supported
POST /backend-api/agent/v1/chat/completions translated
GET /backend-api/agent/thread/goal/get unsupported
POST /backend-api/agent/thread/goal/get unsupported
POST /backend-api/agent/thread/goal/set unsupported
POST /backend-api/agent/thread/goal/clear unsupported
POST /backend-api/agent/analytics-events/events unsupported
POST /backend-api/agent/memories/trace_summarize unsupported
POST /backend-api/agent/alpha/search unsupported
POST /backend-api/agent/alpha/history/v2/list_windows unsupported
POST /backend-api/agent/alpha/history/v2/list_items unsupported
POST /backend-api/agent/alpha/history/v2/read_item unsupported
POST /backend-api/agent/alpha/history/v2/search_contents unsupported
POST /backend-api/agent/alpha/notes/v2/thread_hint unsupported
POST /backend-api/agent/alpha/notes/v2/list_files_by_prefix unsupported
POST /backend-api/agent/alpha/notes/v2/read_file unsupported
POST /backend-api/agent/alpha/notes/v2/search_contents unsupported
POST /backend-api/agent/alpha/notes/v2/append_to_file unsupported
POST /backend-api/agent/alpha/notes/v2/write_file unsupported
POST /backend-api/agent/safety/arc unsupported
GET /backend-api/agent/agent-identities/jwks unsupported
POST /backend-api/agent/realtime/calls unsupported
POST /backend-api/files supported
POST /backend-api/files/{file_id}/uploaded supported
POST /backend-api/transcribe supported
GET /api/agent/usage supported
GET /meter/usage supported
GET /backend-api/meter/usage supported
GET /backend-api/meter/agent-identities/jwks supported
GET /v1/models supported
GET /v1/models/{model_id} supported
POST /v1/responses translated
WS /v1/responses partial
POST /v1/chat/completions translated
POST /v1/messages translated
POST /v1/messages/count_tokens supported
POST /v1/messages/batches unsupported
GET /v1/messages/batches unsupported
GET /v1/messages/batches/{batch_id} unsupported
GET /v1/usage supported
GET /v1/files supported
POST /v1/files partial
GET /v1/files/{file_id} supported
GET /v1/files/{file_id}/content partial
DELETE /v1/files/{file_id} partial
POST /v1/audio/transcriptions translated
POST /v1/images/generations translated
POST /v1/images/edits translated
POST /v1/responses/compact unsupported
POST /v1/images/variations unsupported
POST /v1/content_provenance_checks unsupported
POST /v1/embeddings unsupported
POST /v1/batches unsupported
POST /v1/moderations unsupported
POST /v1/fine_tuning/jobs unsupported
GET /v1/responses/{response_id} unsupported
POST /v1/responses/{response_id}/cancel unsupported
DELETE /v1/responses/{response_id} unsupported
GET /usage unsupported
GET /usage/{file} unsupported
POST /mcp supported
GET /mcp partial
OPTIONS /mcp supported
`;

test('the shipped route table is that of the contract, row by row', async () => {
  const { config } = await inspect(text, { path: 'config.yaml', env: {} });
  const rows = config?.routes.map(({ method, path, status }) => `${method} ${path} ${status}`);
  assert.deepEqual(rows, CONTRACT.trim().split('\n'));
});

test('every row of the shipped table with a kind may have any of the four statuses', async () => {
  const served = (content as { readonly routes: readonly { readonly serve?: string }[] }).routes.filter((row) => row.serve !== undefined);
  for (const status of ['supported', 'translated', 'partial', 'unsupported']) {
    const data = { accounts: [], pools: [], routes: served.map((row) => ({ ...row, status })) };
    assert.deepEqual([...(await validate(data)), ...runChecks(data, 0)], []);
  }
});

const rowsOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('the configuration, the scrape targets and the ports of deploy/nodes agree', async () => {
  const deployed = (name: string): string => readFileSync(new URL(`../../deploy/nodes/${name}`, import.meta.url), 'utf8');
  const { findings } = await inspect(deployed('config.yaml'), { path: 'config.yaml', secrets: false });
  assert.deepEqual(findings, []);
  const { metrics, listen } = parseDocument(deployed('config.yaml')).toJS();
  const { services } = parseDocument(deployed('compose.yaml'), { merge: true }).toJS();
  const nodes = Object.keys(services).filter((name) => services[name].build !== undefined);
  const [job] = parseDocument(deployed('prometheus.yaml')).toJS().scrape_configs;
  assert.equal(job.job_name, 'poolgate', 'the alert rules name the job');
  assert.deepEqual(
    job.static_configs[0].targets,
    nodes.map((node) => `${node}:${metrics.port}`),
  );
  for (const node of nodes) assert.ok(deployed('haproxy.cfg').includes(`server ${node} ${node}:${listen.port}`), node);
});

const UNIT = fileURLToPath(new URL('../../deploy/poolgate.service', import.meta.url));
const systemd = spawnSync('systemd-analyze', ['--version']).error === undefined;

test('systemd reports no problem in the unit', { skip: !systemd && 'systemd-analyze is not installed' }, () => {
  // The command reads the units of this machine too.
  const { stderr } = spawnSync('systemd-analyze', ['verify', UNIT], { encoding: 'utf8' });
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('poolgate')),
    [],
  );
});

test('a stop by systemd waits longer than a drain', async () => {
  const { config } = await inspect(text, { path: 'config.yaml', env: {} });
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readFileSync(UNIT, 'utf8')) ?? [];
  assert.ok(config && Number(seconds) * 1000 > config.timeouts.drain_ms);
});
