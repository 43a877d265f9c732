// Nodes for tests of convergence: gateways of one process on one PostgreSQL, with the accounts north and south.
import assert from 'node:assert/strict';
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { postgres } from '../postgres/postgres.ts';
import { until } from '../until.ts';

export interface Nodes extends AsyncDisposable {
  readonly all: readonly TestGateway[];
  /** All ordered pairs of two nodes. */
  readonly pairs: readonly (readonly [TestGateway, TestGateway])[];
}

export interface NodesOptions extends GatewayOptions {
  /** Edits the file of one node, numbered from 1. */
  readonly file?: (draft: Draft, number: number) => void;
}

/** Starts the nodes at the same time, on an empty database. */
export async function startNodes(count: number, { file, ...options }: NodesOptions = {}): Promise<Nodes> {
  const server = await postgres();
  const settings = server.settings(await server.fresh());
  // This gateway creates the upstream. Its configuration is not used.
  const { config: _, ...first } = options;
  const base = await startGateway({ ...first, store: 'sqlite::memory:' });
  await base.stop();
  base.upstream.clear();
  const node = (number: number): Promise<TestGateway> =>
    base.twin({
      config: (draft) => {
        Object.assign(draft, settings, { node: { id: `own-${number}` } });
        options.config?.(draft);
        file?.(draft, number);
      },
      ...(options.clock ? { clock: options.clock } : {}),
    });
  const all = await Promise.all(Array.from({ length: count }, (_, i) => node(i + 1)));
  for (const node of all) {
    const unread = node.catalogs().filter(({ stale }) => stale);
    assert.deepEqual(unread, [], node.logged.join(''));
  }
  const hasSlots = (node: TestGateway): boolean => node.accounts().every(({ account }) => node.slots(account) > 0);
  await until('each node to have slots of each account', () => all.every(hasSlots) || undefined);
  return {
    all,
    pairs: all.flatMap((one) => all.filter((other) => other !== one).map((other) => [one, other] as const)),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((node) => node.stop()));
      await base.upstream.close();
    },
  };
}

/** Gives each node another first account. A turn that goes to the first account of another node then shows that its pin was used. */
export function firstAccountOfItsOwn(draft: Draft, number: number): void {
  const { assignments } = draft.pools[0];
  draft.pools[0].assignments = ['north', 'south', 'east'].map((_, i, all) => ({ account: all[(i + number - 1) % all.length] }));
  assert.equal(assignments.length, 3);
}

/**
 * Waits until a change of one node has reached the other one, and fails if that takes as long as a poll without the feed. `npm run bench`
 * measures the delay.
 */
export const converged = <T>(what: string, probe: () => Promise<T | undefined> | T | undefined): Promise<T> => until(what, probe);

/**
 * The machine's clock, on which a wait of 50 ms for pins is longer, because the store is slow on a busy machine. Pauses for files end at
 * once.
 */
export const PATIENT: Clock = {
  now: systemClock.now,
  wallTime: systemClock.wallTime,
  after: (ms, run) => systemClock.after(ms === 50 ? 5_000 : ms === 250 ? 0 : ms, run),
};

/** A turn that does not stream. */
export async function turn(node: TestGateway, body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> {
  const reply = await node.send('/v1/responses', { headers, body: { model: 'model-a', input: 'hello', ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

/** The accounts to which turns went since the last call, in order. */
export function went({ upstream }: TestGateway): readonly string[] {
  const accounts = upstream.turns().map(({ account }) => account);
  upstream.clear();
  return accounts;
}
