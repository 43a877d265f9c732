// Files in a Pool of tiers: a turn that names a file goes to the account that has it, whatever its tier, and to no other (AA67, AA37).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../../accounts/health/support.ts';
import { answers, type Platform, startPlatform } from '../../../providers/responses/platform.ts';
import type { Draft, Reply, TestGateway } from '../../../support/gateway.ts';
import { asking, startFiles, upload } from '../../../support/stages/files.ts';

const PUBLIC = '/v1/responses';

const account = (id: string, api: string, platform: Platform, more: Draft = {}): Draft => ({
  id,
  label: id.toUpperCase(),
  api,
  base_url: platform.url,
  credential: 'none',
  models: { 'model-a': `own-${id}` },
  catalog: [{ id: `own-${id}`, context_window: 272_000, input_modalities: ['text', 'file'] }],
  ...more,
});

const SERVES_FILES = { serves: ['turns', 'files'], quirks: { files: 'data' } };

/** The first account is in tier 0, the platform in tier 1. */
async function staged(first: (platform: Platform) => Draft | undefined): Promise<{ gate: TestGateway; platform: Platform }> {
  const platform = await startPlatform();
  const gate = await startFiles({
    upstream: { accounts: ['north'], strict: false },
    config(draft) {
      const own = first(platform);
      if (own) draft.accounts.push(own);
      draft.accounts.push(account('platform', 'responses', platform, SERVES_FILES));
      draft.pools[0].assignments = [{ account: own?.id ?? 'north' }, { account: 'platform', tier: 1 }];
    },
  });
  return { gate, platform };
}

const FILE = { id: 'file-1', object: 'file', bytes: 19, created_at: 1_700_000_000, filename: 'notes.txt', purpose: 'user_data' };

const read = (gate: TestGateway, file_id: string): Promise<Reply> =>
  gate.send(PUBLIC, { body: { model: 'model-a', input: [asking({ type: 'input_file', file_id })] } });
const plain = (gate: TestGateway): Promise<Reply> => gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi' } });
const spend = (gate: TestGateway, id: string): void => gate.fail(id, 'model-a', failure('quota', { retryAfterMs: 3_600_000 }));

test('[AA67] a turn whose file is in the base tier does not overflow', async () => {
  const { gate, platform } = await staged(() => undefined);
  try {
    const file = await upload(gate);
    assert.equal(file.status, 200, file.text);
    assert.equal((await read(gate, file.json.id)).status, 200);
    spend(gate, 'north');
    const refused = await read(gate, file.json.id);
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached'], refused.text);
    assert.deepEqual([gate.upstream.turns('north').length, platform.requests.length], [1, 0]);
    const overflowed = await plain(gate);
    assert.deepEqual([overflowed.status, platform.requests.length], [200, 1], 'one without the file does');
  } finally {
    await gate.close();
    await platform.close();
  }
});

test('[AA67] [AA37] a file goes to the lowest tier that serves files, and its turns go there although the base tier is free', async () => {
  const { gate, platform } = await staged((own) => account('box', 'chat', own));
  try {
    platform.next.push(answers(200, FILE));
    const file = await upload(gate);
    assert.deepEqual([file.status, platform.requests.map(({ path }) => path)], [200, ['/v1/files']], file.text);
    const reply = await read(gate, 'file-1');
    assert.equal(reply.status, 200, reply.text);
    const { path, json } = platform.requests.at(-1) ?? assert.fail();
    assert.deepEqual([path, json.model], ['/v1/responses', 'own-platform']);
    const row = await gate.row(reply);
    assert.deepEqual([row?.account, row?.tier, row?.overflow, row?.why?.reason], ['PLATFORM', 1, null, 'hard_pin']);
    spend(gate, 'platform');
    const before = platform.requests.length;
    assert.equal((await read(gate, 'file-1')).status, 429);
    assert.equal(platform.requests.length, before, 'no other account is asked');
  } finally {
    await gate.close();
    await platform.close();
  }
});
