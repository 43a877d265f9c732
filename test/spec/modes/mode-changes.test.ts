// A serving mode that changes while turns run: each turn keeps the mode in which it was dispatched, and the next turn has the new mode.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, startGateway } from '../../support/gateway.ts';
import { modelEntry, replyJson, turnBody } from '../../support/rehearsal-replies.ts';

const MODELS = ['/backend-api/agent/models', '/backend-api/agent/v1/models'] as const;
const PATHS = ['/backend-api/agent/responses', '/v1/responses'] as const;
const MARKER = 'x-internal-agent-responses-lite';

const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  upstream: { accounts: ['north', 'south'] },
  // North is always first, so the test knows which account stalls.
  config: (draft: Draft) => {
    draft.pools[0].strategy = 'fill_first';
  },
});
after(() => gate.close());
afterEach(async () => {
  gate.upstream.clear();
  // This is past the window of the retry budget and past every cooldown.
  clock.setAhead(600_000);
  await set('auto');
});

function set(mode: string): Promise<void> {
  return gate.reconfigure((draft) => {
    draft.pools[0].serving_modes = { 'model-a': mode };
  });
}

/** The dialects of all turns that reached an account, in order. */
function dialects(): readonly string[] {
  return gate.upstream.turns().map(({ json, headers }) => {
    const { input, parallel_tool_calls } = json as { readonly input: readonly JsonObject[]; readonly parallel_tool_calls?: boolean };
    const shape = input[0]?.type === 'additional_tools' && parallel_tool_calls === false ? 'lite' : 'full';
    assert.equal(headers[MARKER], shape === 'lite' ? 'true' : undefined);
    return shape;
  });
}

async function etags(): Promise<readonly (string | null)[]> {
  return Promise.all(MODELS.map(async (path) => (await gate.send(path)).headers.get('etag')));
}

for (const [from, to] of [
  ['full', 'lite'],
  ['lite', 'full'],
] as const) {
  for (const path of PATHS) {
    test(`[SM6] on ${path} a turn in flight stays ${from}, through failover to another account, and the next one is ${to}`, async () => {
      await set(from);
      gate.upstream.next('north', 'stall before headers + refuse 503');
      const running = gate.send(path, { body: turnBody('hi') });
      await gate.upstream.stalled('north');
      await set(to);
      const next = await gate.send(path, { body: turnBody('hi') });
      gate.upstream.release('north');
      const first = await running;
      assert.deepEqual([first.status, next.status], [200, 200]);
      assert.deepEqual(dialects(), [from, to, from]);
      assert.deepEqual(
        (await gate.attempts(first.headers.get('x-request-id') ?? '')).map(({ account }) => account),
        ['NORTH', 'SOUTH'],
      );
      const row = await gate.row(first);
      assert.deepEqual([row?.configured_mode, row?.effective_mode, row?.mode_source, row?.retries], [from, from, 'override', 1], '[RM1]');
    });
  }
}

test('[SM7] a turn in flight keeps its mode while it streams, and while every account in turn fails it', async () => {
  await set('lite');
  gate.upstream.next('north', 'stall after 3 events');
  const streaming = gate.fetch(PATHS[0], { body: turnBody('hi') });
  await gate.upstream.stalled('north');
  await set('full');
  gate.upstream.release();
  const text = await (await streaming).text();
  assert.match(text, /response\.completed/);
  assert.deepEqual(dialects(), ['lite']);
});

test('[SM7] a catalog that changes during a turn affects only the next one', async () => {
  gate.upstream.next('north', 'stall before headers + refuse 503');
  const running = gate.send(PATHS[0], { body: turnBody('hi') });
  await gate.upstream.stalled('north');
  gate.upstream.nextOn('south', MODELS[0], replyJson({ models: [modelEntry({ slug: 'model-a', use_responses_lite: true })] }));
  await set('auto');
  await gate.send(PATHS[0], { body: turnBody('hi') });
  gate.upstream.release();
  assert.equal((await running).status, 200);
  assert.deepEqual(dialects(), ['full', 'lite', 'full']);
});

test('[SM6] the ETag of both backend models routes changes with the effective mode, and is x-models-etag of the next turn', async () => {
  const seen = new Map<string, string | null>();
  for (const mode of ['full', 'lite', 'auto']) {
    await set(mode);
    const [target, alias] = await etags();
    assert.equal(alias, target);
    seen.set(mode, target ?? null);
    const turn = await gate.send(PATHS[0], { body: turnBody('hi') });
    assert.equal(turn.headers.get('x-models-etag'), target);
  }
  assert.notEqual(seen.get('lite'), seen.get('full'));
  assert.equal(seen.get('auto'), seen.get('full'), 'auto resolves to Full here: the effective mode did not change');
});

test('[SM6] a turn in flight answers with the ETag of the catalog that it was dispatched under', async () => {
  await set('full');
  const [before] = await etags();
  gate.upstream.next('north', 'stall before headers');
  const running = gate.fetch(PATHS[0], { body: turnBody('hi') });
  await gate.upstream.stalled('north');
  await set('lite');
  gate.upstream.release();
  const reply = await running;
  await reply.text();
  assert.equal(reply.headers.get('x-models-etag'), before);
});

test('[SM7] the resend to the same account under a new credential is in the mode of the turn', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-modes-'));
  try {
    const file = join(folder, 'north.json');
    await writeFile(file, JSON.stringify({ tokens: { access_token: 'at', refresh_token: 'rt' } }));
    await using own = await startGateway({
      upstream: { accounts: [{ id: 'north', oauth: { refresh_token: 'rt', access_token: 'at' } }] },
      config: (draft: Draft) => {
        const [north] = draft.accounts;
        draft.store_key = { file: join(folder, 'store.key') };
        north.credential = { oauth: { file, token_url: `${north.base_url}/oauth/token`, client_id: 'client' } };
        draft.pools[0].serving_modes = { 'model-a': 'lite' };
      },
    });
    own.upstream.next('north', 'stall before headers + refuse 401');
    const running = own.send(PATHS[0], { body: turnBody('hi') });
    await own.upstream.stalled('north');
    await own.reconfigure((draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'full' };
    });
    own.upstream.release();
    assert.equal((await running).status, 200);
    assert.deepEqual(
      own.upstream.turns().map(({ headers }) => headers[MARKER]),
      ['true', 'true'],
    );
    await own.send(PATHS[0], { body: turnBody('hi') });
    assert.equal(own.upstream.turns().at(-1)?.headers[MARKER], undefined);
  } finally {
    await rm(folder, { recursive: true });
  }
});
