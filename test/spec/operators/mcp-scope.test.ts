// [G3] The scope of operators as a property: with two operators and random Pools, keys, accounts and rows, neither sees data of the other.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { RequestRow } from '../../../store/store.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { attemptRow, auditEntry, requestRow, usageRow } from '../../store/samples.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import { operatorRow, rpc, TOOL_NAMES } from '../../support/mcp.ts';
import { modelEntry } from '../../support/rehearsal-replies.ts';
import { seedsOf } from '../../support/sample.ts';

/** The operator that may see a thing: its name begins with this word, so a search for the word finds every trace of it. */
type Side = 'alpha' | 'beta' | 'both' | 'nobody';
const SIDES = ['alpha', 'beta', 'both', 'nobody'] as const;

/** The words that no answer to an operator may have. */
const HIDDEN = { alpha: ['beta', 'nobody'], beta: ['alpha', 'nobody'] } as const;
type Operator = keyof typeof HIDDEN;

const DAY = 86_400_000;
const CALLS = 150;

class World {
  readonly random: SeededRandom;
  readonly pools: readonly { readonly id: string; readonly side: Side }[];
  readonly rows: RequestRow[] = [];
  readonly gate: TestGateway;

  private constructor(gate: TestGateway, random: SeededRandom, pools: World['pools']) {
    this.gate = gate;
    this.random = random;
    this.pools = pools;
  }

  static async create(seed: number): Promise<World> {
    const random = new SeededRandom(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
    const pools = SIDES.flatMap((side) =>
      Array.from({ length: 1 + Math.floor(random.next() * 3) }, (_, n) => ({ id: `${side}pool${n}`, side })),
    );
    const accounts = SIDES.flatMap((side) => [`${side}one`, `${side}two`]);
    const gate = await startGateway({
      upstream: {
        accounts: accounts.map((id) => ({ id, models: ['model', 'other'].map((name) => modelEntry({ slug: `${sideOf(id)}${name}` })) })),
      },
      config: (draft) => {
        draft.pools = pools.map(({ id, side }) => ({
          id,
          label: `${id}label`,
          // An account that both see is in Pools of both; each operator sees only its own Pools.
          assignments: [`${side}one`, ...(random.next() < 0.5 ? [`${side}two`] : []), ...(random.next() < 0.7 ? ['bothtwo'] : [])]
            .filter((id, index, all) => all.indexOf(id) === index)
            .map((account) => ({ account })),
          serving_modes: { [`${side}model`]: pick(['lite', 'full']) },
        }));
        draft.keys = pools.flatMap(({ id }) =>
          ['a', 'b'].map((name) => ({
            id: `${id}key${name}`,
            pool: id,
            secret_sha256: [hash('sha256', id + name, 'hex')],
            limits: { requests_per_day: 9 },
          })),
        );
        const of = (...sides: readonly Side[]) => pools.filter(({ side }) => sides.includes(side)).map(({ id }) => id);
        draft.operators = [operatorRow('alpha', of('alpha'), of('both')), operatorRow('beta', of('beta', 'both'), [])];
      },
    });
    const world = new World(gate, random, pools);
    await world.#fill(pick);
    return world;
  }

  async #fill(pick: <T>(list: readonly T[]) => T): Promise<void> {
    const now = Date.now();
    const places = [...this.pools, { id: null, side: 'nobody' as const }];
    for (let n = 0; n < 300; n++) {
      const { id: pool, side } = pick(places);
      const status = pick([200, 429, 503]);
      this.rows.push(
        requestRow({
          id: `req_${side}_${n}`,
          at: now - Math.floor(this.random.next() * 6 * DAY),
          pool,
          pool_label: `${side}label`,
          key_id: pool === null ? null : `${pool}key${pick(['a', 'b'])}`,
          account: `${side}one`.toUpperCase(),
          model: `${side}model`,
          status,
          status_class: `${Math.floor(status / 100)}xx`,
          code: status === 200 ? null : `${side}_code`,
          retries: pick([0, 1, 2]),
          duration_ms: pick([10, 1_000, 20_000]),
          upstream_error_param: `${side}.param`,
          why: { reason: pick(['headroom', 'soft_pin']), others: { [`${side}_reason`]: 1 } },
        }),
      );
    }
    await this.gate.leave({
      requests: this.rows,
      attempts: this.rows.flatMap(({ id, at, account }) =>
        [0, 1].map((ordinal) =>
          attemptRow({ request_id: id, at, ordinal, account: account ?? '', error_class: `${id.split('_')[1]}_error` }),
        ),
      ),
      audit: Array.from({ length: 100 }, (_, n) => {
        const { id: pool, side } = pick(places);
        // A row of an account belongs to no Pool; the operators of the account's Pools see it.
        const ofAccount = this.random.next() < 0.3;
        const fields = [{ path: `${side}.path`, from: `${side}from`, to: `${side}to` }];
        return auditEntry({
          at: now - n * 1_000,
          actor: `${side}actor`,
          action: ofAccount ? 'account.change' : `${side}.change`,
          target: ofAccount ? `${side}one` : `${side}target`,
          pool: ofAccount ? null : pool,
          fields,
        });
      }),
      usage: this.pools.flatMap(({ id, side }) =>
        [0, 1, 2].map((days) =>
          usageRow({ key_id: `${id}key${pick(['a', 'b'])}`, pool: id, day: (Math.floor(now / DAY) - days) * DAY, requests: side.length }),
        ),
      ),
    });
  }

  /** Whether an operator sees a Pool. */
  sees(operator: Operator, pool: string | null): boolean {
    const side = this.pools.find(({ id }) => id === pool)?.side;
    return side === operator || side === 'both';
  }

  /** Random arguments of a tool, including ids of the other operator. */
  args(tool: string): Record<string, unknown> {
    const { random } = this;
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
    const pool = () => pick(this.pools).id;
    const side = () => pick(SIDES);
    const maybe = (name: string, value: () => unknown): Record<string, unknown> => (random.next() < 0.3 ? { [name]: value() } : {});
    const page = { ...maybe('limit', () => pick([1, 2, 50, 200])) };
    const log = { ...maybe('since', () => pick(['1h', '3d', '30d'])), ...maybe('until', () => pick(['1m', '2d'])) };
    const key = () => `${pool()}key${pick(['a', 'b'])}`;
    const row = () => pick(this.rows).id;
    const wanted: Record<string, () => Record<string, unknown>> = {
      service_status: () => ({}),
      list_pools: () => ({ ...maybe('id', pool), ...page }),
      list_accounts: () => ({
        ...maybe('id', () => `${side()}one`),
        ...maybe('pool', pool),
        ...maybe('state', () => 'available'),
        ...page,
      }),
      list_keys: () => ({ ...maybe('id', key), ...maybe('pool', pool), ...page }),
      list_models: () => ({
        ...maybe('id', () => `${side()}model`),
        ...maybe('pool', pool),
        ...maybe('account', () => `${side()}one`),
        ...page,
      }),
      list_requests: () => ({
        ...{ ...maybe('id', row), ...maybe('pool', pool), ...maybe('key', key), ...maybe('account', () => `${side()}one`) },
        ...{ ...maybe('model', () => `${side()}model`), ...maybe('code', () => `${side()}_code`), ...maybe('status', () => 429) },
        ...{ ...maybe('min_retries', () => 1), ...maybe('min_duration_ms', () => 500), ...log, ...page },
      }),
      list_audit: () => ({
        ...maybe('pool', pool),
        ...maybe('target', () => `${side()}one`),
        ...maybe('actor', () => `${side()}actor`),
        ...log,
        ...page,
      }),
      usage_summary: () => ({
        ...maybe('key', key),
        ...maybe('pool', pool),
        ...maybe('by', () => pick([[], ['pool'], ['key', 'day']])),
        ...page,
      }),
      explain_selection: () =>
        random.next() < 0.5
          ? { request_id: row() }
          : {
              ...maybe('key', key),
              ...maybe('pool', pool),
              model: `${side()}model`,
              ...maybe('endpoint', () => 'POST /backend-api/agent/responses'),
            },
    };
    return wanted[tool]?.() ?? {};
  }
}

const sideOf = (account: string): string => account.replace(/(one|two)$/, '');

/** The text of the answer and of all further pages. */
async function answersOf(gate: TestGateway, operator: Operator, tool: string, args: Record<string, unknown>): Promise<readonly string[]> {
  const texts: string[] = [];
  let cursor: string | null = null;
  do {
    const { result } = await rpc(
      gate,
      'tools/call',
      { name: tool, arguments: { ...args, ...(cursor === null ? {} : { cursor }) } },
      operator,
    );
    texts.push(JSON.stringify(result));
    cursor = result.structuredContent?.next_cursor ?? null;
  } while (cursor !== null && texts.length < 30);
  return texts;
}

for (const seed of seedsOf(1, 2, 3)) {
  test(`[G3] no tool, filter or page shows an operator data of another operator: world ${seed}`, async () => {
    const world = await World.create(seed);
    await using gate = world.gate;
    for (let n = 0; n < CALLS; n++) {
      const tool = TOOL_NAMES[n % TOOL_NAMES.length] as string;
      const args = world.args(tool);
      for (const operator of ['alpha', 'beta'] as const) {
        for (const answer of await answersOf(gate, operator, tool, args)) {
          // An explanation repeats the requested model even if that model does not exist.
          const text = tool === 'explain_selection' ? answer.replaceAll(String(args.model), '(asked)') : answer;
          for (const word of HIDDEN[operator]) {
            assert.ok(
              !text.toLowerCase().includes(word),
              `${operator} sees ${word} by ${tool} ${JSON.stringify(args)}: ${text.slice(0, 2_000)}`,
            );
          }
        }
      }
    }
  });
}

test('[G3] an operator sees every row of its own Pools, page by page, and each once', async () => {
  const world = await World.create(4);
  await using gate = world.gate;
  for (const operator of ['alpha', 'beta'] as const) {
    const seen: string[] = [];
    for (const text of await answersOf(gate, operator, 'list_requests', { limit: 7, since: '30d' })) {
      seen.push(...JSON.parse(text).structuredContent.requests.map(({ id }: { id: string }) => id));
    }
    const own = world.rows.filter(({ pool }) => world.sees(operator, pool));
    const newest = own.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map(({ id }) => id);
    assert.deepEqual(seen, newest.slice(0, seen.length));
    assert.ok(seen.length === own.length || seen.length === 30 * 7, `${seen.length} of ${own.length}`);
  }
});

test('[Q25] an id outside an operator’s Pools gets the same answer as an id that does not exist', async () => {
  const world = await World.create(5);
  await using gate = world.gate;
  const theirs = world.rows.find(({ pool }) => pool?.startsWith('beta'))?.id ?? assert.fail();
  const pairs: readonly (readonly [string, object, object])[] = [
    ['list_pools', { id: 'betapool0' }, { id: 'nopool' }],
    ['list_accounts', { id: 'betaone' }, { id: 'noaccount' }],
    ['list_accounts', { pool: 'betapool0' }, { pool: 'nopool' }],
    ['list_keys', { id: 'betapool0keya' }, { id: 'nokey' }],
    ['list_models', { id: 'betamodel' }, { id: 'nomodel' }],
    ['list_models', { account: 'betaone' }, { account: 'noaccount' }],
    ['list_requests', { id: theirs }, { id: 'req_none' }],
    ['list_requests', { key: 'betapool0keya', since: '2020-01-01' }, { key: 'nokey', since: '2020-01-01' }],
    ['list_requests', { account: 'betaone', since: '2020-01-01' }, { account: 'noaccount', since: '2020-01-01' }],
    ['list_audit', { pool: 'betapool0' }, { pool: 'nopool' }],
    ['list_audit', { target: 'betaone' }, { target: 'noaccount' }],
    ['usage_summary', { key: 'betapool0keya' }, { key: 'nokey' }],
    ['usage_summary', { pool: 'betapool0' }, { pool: 'nopool' }],
    ['explain_selection', { request_id: theirs }, { request_id: 'req_none' }],
    ['explain_selection', { key: 'betapool0keya' }, { key: 'nokey' }],
    ['explain_selection', { pool: 'betapool0' }, { pool: 'nopool' }],
    ['explain_selection', { key: 'betapool0keya', continuity_id: 'x' }, { key: 'nokey', continuity_id: 'x' }],
  ];
  for (const [tool, outside, unknown] of pairs) {
    const [one] = await answersOf(gate, 'alpha', tool, outside as Record<string, unknown>);
    const [other] = await answersOf(gate, 'alpha', tool, unknown as Record<string, unknown>);
    assert.equal(one, other, `${tool} ${JSON.stringify(outside)}`);
  }
});

test('[S4] no tool shows a secret, a hash or the address of an account', async () => {
  const draftOf: { draft?: Draft } = {};
  await using gate = await startGateway({
    config: (draft) => {
      draft.operators = [operatorRow('ops', ['team'])];
      draft.accounts[0].headers = { 'x-account-id': 'header-of-north' };
      draftOf.draft = structuredClone(draft);
    },
  });
  const { draft } = draftOf;
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hello' }, headers: { 'session-id': 'the-session' } });
  await gate.reconfigure((running) => {
    running.accounts[0].base_url = gate.upstream.urlOf('south');
    running.keys[0].secret_sha256 = [hash('sha256', 'another', 'hex')];
  });
  const secrets = [
    'bearer-of',
    'header-of-north',
    'BEARER_',
    new URL(gate.upstream.urlOf('north')).host,
    ...[...(draft?.keys ?? []), ...(draft?.operators ?? [])].flatMap(({ secret_sha256 = [], token_sha256 = [] }) => [
      ...secret_sha256,
      ...token_sha256,
    ]),
  ];
  for (const tool of TOOL_NAMES) {
    for (const args of tool === 'explain_selection' ? [{ key: 'ci', model: 'model-a', continuity_id: 'the-session' }, {}] : [{}]) {
      const { result } = await rpc(gate, 'tools/call', { name: tool, arguments: args });
      assert.notEqual(result.isError, true, tool);
      const text = JSON.stringify(result);
      for (const secret of [...secrets, 'the-session']) assert.ok(!text.includes(secret), `${secret} by ${tool}`);
    }
  }
});
