// Three nodes in separate processes on one database: clients and accounts see the same as with one node (Q34).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { NodeStatus } from '../../../proxy/nodes/nodes-status.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { bearerOf, type Reply } from '../../support/gateway.ts';
import { type NodeProcess, type NodeProcesses, startNodeProcesses } from '../../support/nodes/node-processes.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { idOf } from '../../support/stages/continuity.ts';
import { until } from '../../support/until.ts';

const TOKENS = '/oauth/token';
const IDS = ['a', 'b', 'c'] as const;
const secretOf = (key: string): string => `pg-key-of-${key}`;
const login = { access_token: 'at-first', refresh_token: 'rt-first', expires_in: 3600 };

let folder: string;
let cluster: NodeProcesses;
let nodes: readonly NodeProcess[];
const node = (i: number): NodeProcess => nodes[i % nodes.length] as NodeProcess;

const turn = (at: NodeProcess, key: string, more: object = {}): Promise<Reply> =>
  at.send('/v1/responses', {
    body: { model: 'model-a', input: 'hello', ...more },
    headers: { authorization: `Bearer ${secretOf(key)}` },
  });

/** Sends a native turn whose response the account stores. */
const stored = (at: NodeProcess, key: string, more: JsonObject = {}): Promise<Reply> =>
  at.send('/backend-api/agent/responses', {
    body: turnBody('hello', { store: true, ...more }),
    headers: { authorization: `Bearer ${secretOf(key)}` },
  });

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'poolgate-nodes-'));
  await writeFile(join(folder, 'west.json'), JSON.stringify({ tokens: login }));
  cluster = await startNodeProcesses(IDS, {
    upstream: { strict: false, accounts: ['north', 'south', 'east', { id: 'west', oauth: login }] },
    config: (draft) => {
      const [, , east, west] = draft.accounts;
      east.max_concurrent = 4;
      west.credential = { oauth: { file: join(folder, 'west.json'), token_url: `${west.base_url}${TOKENS}`, client_id: 'client-1' } };
      const pool = (id: string, ...accounts: readonly string[]): object => {
        const assignments = accounts.map((account) => ({ account }));
        return { id, label: id, strategy: 'fill_first', assignments };
      };
      const rotating = { ...pool('rotating', 'north', 'south'), strategy: 'rotation' };
      draft.pools = [pool('team', 'north', 'south'), pool('capped', 'east'), pool('login', 'west'), rotating];
      const key = (pool: string, id = pool, limits = {}): object => ({
        id,
        pool,
        secret_sha256: [hash('sha256', secretOf(id), 'hex')],
        limits,
      });
      draft.keys = [key('team'), key('capped'), key('login'), key('rotating'), key('team', 'limited', { requests_per_minute: 60 })];
    },
  });
  nodes = cluster.nodes;
});

after(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => cluster.upstream.clear());

const statusesOf = (replies: readonly Reply[]): Readonly<Record<number, number>> =>
  Object.fromEntries([...Map.groupBy(replies, ({ status }) => status)].map(([status, all]) => [status, all.length]));

describe('[Q34] three nodes', () => {
  test('[Q34] a key with 60 requests a minute that sends 240 over three nodes, 60 at once, gets 60', async () => {
    const replies: Reply[] = [];
    // On a busy machine, of more turns at once some would wait longer for the database than a turn may.
    while (replies.length < 240) replies.push(...(await Promise.all(Array.from({ length: 60 }, (_, i) => turn(node(i), 'limited')))));
    assert.deepEqual(statusesOf(replies), { 200: 60, 429: 180 });
    assert.equal(cluster.upstream.turns().length, 60);
  });

  test('[Q34] an account never has more turns than its max_concurrent, from all nodes together', async () => {
    const { upstream } = cluster;
    upstream.always('east', 'stall before headers');
    const replies = Promise.all(Array.from({ length: 30 }, (_, i) => turn(node(i), 'capped')));
    let answered = 0;
    while (answered < 30) {
      const running = await until('the account to have turns', () => upstream.stalledNow('east') || undefined);
      assert(running <= 4, `${running} turns run at the account`);
      answered += running;
      upstream.release('east');
    }
    upstream.always('east', 'steady');
    assert.deepEqual(statusesOf(await replies), { 200: 30 });
  });

  test('[Q34] 45 turns at once with an expired token: one refresh over all nodes', async () => {
    cluster.upstream.loginOf('west').expire();
    const replies = await Promise.all(Array.from({ length: 45 }, (_, i) => turn(node(i), 'login')));
    assert.deepEqual(statusesOf(replies), { 200: 45 });
    const refreshes = cluster.upstream.requests('west').filter(({ path }) => path === TOKENS);
    assert.equal(refreshes.length, 1);
  });

  test('[Q34] [F8.2] a continuation goes to its account from every node', async () => {
    for (const first of nodes) {
      for (const next of nodes) {
        const id = idOf(await stored(first, 'rotating'));
        const { status } = await stored(next, 'rotating', { previous_response_id: id });
        assert.equal(status, 200, `${first.id} then ${next.id}`);
        const [at, then] = cluster.upstream.turns().map(({ account }) => account);
        assert.equal(then, at, `${first.id} then ${next.id}`);
        cluster.upstream.clear();
      }
    }
  });

  test('[Q34] a cooldown that one node opened keeps the turns of all nodes away from the account', async () => {
    const { upstream } = cluster;
    upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
    await turn(node(0), 'team');
    for (const other of nodes) {
      await until(`${other.id} to know`, async () => isCooling(await other.status(), 'north') || undefined);
    }
    upstream.clear();
    await Promise.all(nodes.map((one) => turn(one, 'team')));
    assert.deepEqual([upstream.turns('north').length, upstream.turns('south').length], [0, 3]);
  });

  test('[Q34] every node shows all nodes, with equal configurations', async () => {
    for (const one of nodes) {
      const { nodes: seen } = (await one.status()).sharing;
      const described = seen.map(({ node, state, differs }: NodeStatus) => [node, state === 'this' ? 'alive' : state, differs]);
      assert.deepEqual(
        described,
        IDS.map((id) => [id, 'alive', false]),
      );
    }
    assert(!JSON.stringify(await node(0).status()).includes(bearerOf('north')));
  });
});

// biome-ignore lint/suspicious/noExplicitAny: the reply of /status
const isCooling = ({ accounts }: any, account: string): boolean =>
  // biome-ignore lint/suspicious/noExplicitAny: the accounts in the reply of /status
  accounts.some((one: any) => one.account === account && (one.cooldown !== undefined || Object.keys(one.models).length > 0));
