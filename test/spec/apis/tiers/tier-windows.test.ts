// Which accounts represent a model in a Pool of several tiers and APIs, and which accounts of a higher tier can take a turn because of
// their window (AA10).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { inputTokens } from '../../../../proxy/turn/token-estimate.ts';
import { failure } from '../../../accounts/health/support.ts';
import { type Platform, startPlatform } from '../../../providers/responses/platform.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { modelEntry, turnBody } from '../../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';

/** An account of the Pool; only north is an agent backend. */
interface Member {
  readonly id: string;
  readonly tier?: number;
  /** Undefined if neither the account nor its operator states a window. */
  readonly window?: number;
  readonly active?: boolean;
}

let platform: Platform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());
beforeEach(() => platform.clear());

const accountOf = ({ id, window }: Member): Draft => ({
  id,
  api: 'responses',
  base_url: platform.url,
  credential: 'none',
  models: { 'model-a': `own-${id}` },
  catalog: [{ id: `own-${id}`, ...(window === undefined ? {} : { context_window: window }) }],
});

const poolOf = (members: readonly Member[]): Draft[] => [
  {
    id: 'team',
    label: 'Team',
    strategy: 'fill_first',
    assignments: members.map(({ id, tier = 0, active = true }) => ({ account: id, tier, active })),
  },
];

function staged(members: readonly Member[]): Promise<TestGateway> {
  const window = members.find(({ id }) => id === 'north')?.window ?? 272_000;
  const models = [modelEntry({ slug: 'model-a', context_window: window, max_context_window: window })];
  return startGateway({
    upstream: { accounts: [{ id: 'north', models }], strict: false },
    config(draft) {
      draft.accounts.push(...members.filter(({ id }) => id !== 'north').map(accountOf));
      draft.pools = poolOf(members);
    },
  });
}

const turn = (gate: TestGateway, changes: Draft = {}): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi', { max_output_tokens: 10, ...changes }) });

/** The accounts that got turns, in the order of their APIs. */
const asked = (gate: TestGateway): readonly string[] => [
  ...gate.upstream.turns().map(({ account }) => account),
  ...platform.requests.map(({ json }) => String(json.model).replace('own-', '')),
];

const spend = (gate: TestGateway, account: string): void => gate.fail(account, 'model-a', failure('quota', { retryAfterMs: 3_600_000 }));

async function windowOf(gate: TestGateway): Promise<unknown> {
  const { json } = await gate.send('/backend-api/agent/models');
  return json.models.map(({ slug, context_window }: Draft) => [slug, context_window])[0];
}

test('[AA10] the cohort is formed in the lowest tier that has a source of the model, whatever the API', async () => {
  await using gate = await staged([
    { id: 'north', tier: 1 },
    { id: 'box', window: 50_000 },
  ]);
  assert.deepEqual(await windowOf(gate), ['model-a', 50_000]);
  assert.equal((await turn(gate)).status, 200);
  assert.deepEqual(asked(gate), ['box']);
  await gate.reconfigure((draft) => {
    draft.pools = poolOf([
      { id: 'north', tier: 1 },
      { id: 'box', window: 50_000, active: false },
    ]);
  });
  assert.deepEqual(await windowOf(gate), ['model-a', 272_000], 'the lowest tier with a source that takes turns');
});

test('[AA10] in one tier an agent account represents the model before API accounts, and gets its turns first', async () => {
  for (const [window, takesOver] of [
    [50_000, false],
    [272_000, true],
    [undefined, false],
  ] as const) {
    platform.clear();
    await using gate = await staged([{ id: 'box', ...(window === undefined ? {} : { window }) }, { id: 'north' }]);
    assert.deepEqual(await windowOf(gate), ['model-a', 272_000]);
    assert.equal((await turn(gate)).status, 200);
    assert.deepEqual(asked(gate), ['north'], 'although it is the second one');
    spend(gate, 'north');
    // Inside a tier Q12 applies: an account outside the cohort takes over only if its window is no smaller.
    const { status, json } = await turn(gate);
    assert.deepEqual([status, json?.error?.code], takesOver ? [200, undefined] : [429, 'usage_limit_reached'], `${window}`);
    assert.deepEqual(asked(gate), takesOver ? ['north', 'box'] : ['north']);
  }
});

test('[AA10] an account of a higher tier takes a turn whose input and output fit its window', async () => {
  const long = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'word '.repeat(4_000) }] }];
  const input = inputTokens(turnBody('hi'));
  await using gate = await staged([
    { id: 'north' },
    { id: 'small', tier: 1, window: input + 1_000 },
    { id: 'large', tier: 2, window: 100_000 },
  ]);
  spend(gate, 'north');
  for (const [changes, account] of [
    [{ max_output_tokens: 1_000 }, 'small'],
    [{ max_output_tokens: 1_001 }, 'large'],
    // A turn without a cap is estimated with a forecast of its output.
    [{ max_output_tokens: undefined }, 'large'],
    [{ input: long, max_output_tokens: 10 }, 'large'],
  ] as const) {
    platform.clear();
    const reply = await turn(gate, changes);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(asked(gate), [account], JSON.stringify(changes).slice(0, 80));
    const row = await gate.row(reply);
    assert.deepEqual(row?.why?.others, account === 'large' ? { out_of_quota: 1, window: 1 } : { out_of_quota: 1, less_preferred: 1 });
  }
});

test('[AA10] [AA25] a turn that fits no window of a higher tier is refused as without it', async () => {
  await using gate = await staged([{ id: 'north' }, { id: 'small', tier: 1, window: 1_000 }]);
  spend(gate, 'north');
  const { status, json } = await turn(gate, { max_output_tokens: 2_000 });
  assert.deepEqual([status, json.error.code], [429, 'usage_limit_reached']);
  assert.deepEqual(asked(gate), []);
});

test('[AA10] an account of a higher tier without a known window takes turns only where the cohort has none either', async () => {
  const known = await staged([{ id: 'north' }, { id: 'box', tier: 1 }, { id: 'large', tier: 2, window: 100_000 }]);
  try {
    spend(known, 'north');
    const reply = await turn(known);
    assert.deepEqual([reply.status, asked(known)], [200, ['large']], reply.text);
    assert.deepEqual((await known.row(reply))?.why?.others, { out_of_quota: 1, window: 1 });
  } finally {
    await known.close();
  }
  platform.clear();
  await using unknown = await staged([{ id: 'first' }, { id: 'second', tier: 1 }]);
  spend(unknown, 'first');
  const reply = await turn(unknown, { max_output_tokens: 500_000 });
  assert.deepEqual([reply.status, asked(unknown)], [200, ['second']], reply.text);
});
