// Model lists by the version of the client: what the gateway reads, what it lists, and under which ETag (RB1, RB2, RB41).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import { BACKEND_MODELS, BACKEND_MODELS_ALIAS, catalogAnswer, publicModels, reread } from '../../support/stages/model-lists.ts';

const TURNS = '/backend-api/agent/responses';

const MODELS: readonly JsonObject[] = [
  modelEntry({ slug: 'model-a' }),
  modelEntry({ slug: 'model-new', minimal_client_version: '0.160.0', novel_member: { kept: true } }),
  modelEntry({ slug: 'model-listed-numbers', minimal_client_version: [0, 170, 1] }),
];

const start = (models = MODELS): Promise<TestGateway> => startGateway({ upstream: { accounts: ['north'], models } });

const native = (version: string): Record<string, string> => ({
  originator: 'agent_exec',
  'user-agent': `agent_exec/${version} (Debian 12; x86_64)`,
});

async function listed(gate: TestGateway, query: string, headers: Record<string, string> = {}, path = BACKEND_MODELS) {
  const reply = await gate.send(path + query, { headers });
  return { ids: reply.json.models.map(({ slug }: JsonObject) => slug) as string[], etag: reply.headers.get('etag') };
}

test('[RB1] the gateway reads a list with the client version of `wire`, by default with 0.0.0, which lists all', async () => {
  await using gate = await start();
  const reads = (): readonly string[] =>
    gate.upstream
      .requests('north')
      .filter(({ path }) => path === BACKEND_MODELS)
      .map(({ query }) => query);
  assert.deepEqual(reads(), ['client_version=0.0.0']);
  assert.deepEqual([...(await publicModels(gate)).keys()], ['model-a', 'model-new', 'model-listed-numbers']);
  await gate.reconfigure((draft) => {
    draft.wire = { client_version: '0.165.2' };
  });
  assert.deepEqual(reads(), ['client_version=0.0.0', 'client_version=0.165.2']);
  assert.deepEqual([...(await publicModels(gate)).keys()], ['model-a', 'model-new']);
});

const VERSIONS: readonly (readonly [string, string, Record<string, string>, number])[] = [
  ['none', '', {}, 3],
  ['0.0.0, which asks for all', '?client_version=0.0.0', {}, 3],
  ['an older one in the query', '?client_version=0.159.9', {}, 1],
  ['an equal one in the query', '?client_version=0.160.0', {}, 2],
  ['a newer one in the query', '?client_version=1.0.0', {}, 3],
  ['a malformed one in the query', '?client_version=latest', {}, 3],
  ['the query before the headers', '?client_version=0.160.0', { version: '0.1.0' }, 2],
  ['one in the header', '', { version: '0.169.0' }, 2],
  ['a pre-release in the header', '', { version: '0.170.1-alpha.3' }, 3],
  ['one in the user agent', '', native('0.150.0'), 1],
  ['another program’s user agent', '', { 'user-agent': 'OpenAI/JS 0.1.0' }, 3],
];

for (const path of [BACKEND_MODELS, BACKEND_MODELS_ALIAS]) {
  test(`[RB1] ${path} lists no model that needs a newer client than the one that asks`, async () => {
    await using gate = await start();
    for (const [name, query, headers, count] of VERSIONS) {
      assert.equal((await listed(gate, query, headers, path)).ids.length, count, name);
    }
    const { json } = await gate.send(`${path}?client_version=0.160.0`);
    assert.deepEqual(json.models[1].novel_member, { kept: true }, 'unknown members pass (RB41)');
  });
}

test('[RB1] [A1] a client sees the same ETag at its list and at its turns, whatever its version is', async () => {
  await using gate = await start();
  const etags = new Set<string | null>();
  for (const version of ['0.150.0', '0.165.0', '0.170.1', '0.175.0', '0.170.1-alpha.2']) {
    const headers = native(version);
    const list = await listed(gate, `?client_version=${version.replace(/-.*/, '')}`, headers);
    const turn = await gate.send(TURNS, { body: turnBody('hello'), headers });
    assert.equal(turn.headers.get('x-models-etag'), list.etag, version);
    const again = await gate.send(`${BACKEND_MODELS}?client_version=${version}`, {
      headers: { ...headers, 'if-none-match': list.etag ?? '' },
    });
    assert.equal(again.status, 304, version);
    etags.add(list.etag);
  }
  assert.equal(etags.size, 3);
});

test('[RB41] a list of several MiB is read and listed whole', async () => {
  const long = 'x'.repeat(90_000);
  const many = Array.from({ length: 60 }, (_, i) => modelEntry({ slug: `model-${i}`, base_instructions: long }));
  await using gate = await start(many);
  const reply = await gate.send(BACKEND_MODELS);
  assert.equal(reply.json.models.length, 60);
  assert.ok(reply.text.length > 5_000_000);
});

test('[RB1] the last good list is kept where a read is refused, and the cause is named', async () => {
  await using gate = await start();
  const refusal = {
    error: { message: "[{'type': 'missing', 'loc': ('query', 'client_version')}]", type: 'invalid_request_error', param: null, code: null },
  };
  await reread(gate, { north: { kind: 'reply', status: 400, headers: {}, body: { json: refusal } } });
  assert.equal((await listed(gate, '')).ids.length, 3);
  const status = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as {
    catalogs: { failure?: string; failureStatus?: number }[];
  };
  assert.deepEqual([status.catalogs[0]?.failure, status.catalogs[0]?.failureStatus], ['client_version', 400]);
  await reread(gate, { north: catalogAnswer({ models: MODELS.slice(0, 1) }) });
  assert.deepEqual((await listed(gate, '')).ids, ['model-a']);
});
