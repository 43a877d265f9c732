// A gateway for tests of continuity: three accounts in order, two keys of one Pool, another Pool, and a session that tests can move.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { Manners } from '../../../proxy/rehearsal/account/manners.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../clocks/shifted-clock.ts';
import { KEY, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { eventsOf } from '../network/sse-events.ts';

export const NATIVE = '/backend-api/agent/responses';
export const PUBLIC = '/v1/responses';
export const OTHER_KEY = 'pg-second-key';
export const OTHER_POOL = 'pg-other-pool';

/** Longer than the period of the retry budget. */
const LATER_MS = 11_000;
/** Longer than any quota stays used up. */
const MUCH_LATER_MS = 3_700_000;

export const user = (text: string): JsonObject => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });

export interface Sent {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: JsonObject;
  readonly key?: string;
}

export class Stage {
  gate: TestGateway;
  /** The folder of the store and its key. */
  readonly folder: string;
  readonly clock: ShiftedClock;
  /** Whether accounts store the responses of native turns, so that turns can continue them over HTTP. */
  readonly stores: boolean;

  private constructor(gate: TestGateway, folder: string, clock: ShiftedClock, stores: boolean) {
    this.gate = gate;
    this.folder = folder;
    this.clock = clock;
    this.stores = stores;
  }

  /**
   * @param strict whether accounts refuse anchors and what other accounts made; otherwise they store responses
   * @param manners manners that differ from those of real backends
   */
  static async set({
    strict = true,
    manners = {},
  }: {
    readonly strict?: boolean;
    readonly manners?: Partial<Manners>;
  } = {}): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'poolgate-continuity-'));
    const clock = new ShiftedClock();
    const gate = await startGateway({
      clock,
      store: `sqlite:${folder}/poolgate.db`,
      upstream: {
        accounts: ['north', 'south', 'east'],
        strict,
        manners,
        clock: { now: () => clock.now(), wallTime: () => clock.now(), after: systemClock.after },
      },
      config: (draft) => {
        draft.store_key = { file: `${folder}/store.key` };
        draft.pools.push({ ...structuredClone(draft.pools[0]), id: 'other', label: 'Other' });
        draft.keys.push({ id: 'second', pool: 'team', secret_sha256: [hash('sha256', OTHER_KEY, 'hex')] });
        draft.keys.push({ id: 'third', pool: 'other', secret_sha256: [hash('sha256', OTHER_POOL, 'hex')] });
      },
    });
    return new Stage(gate, folder, clock, !strict);
  }

  async strike(): Promise<void> {
    await this.gate.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  async restart(): Promise<void> {
    this.gate = await this.gate.restarted({ clock: this.clock });
  }

  /** Advances the clock until all accounts are healthy, and clears the records. */
  clear(): void {
    this.clock.setAhead(MUCH_LATER_MS);
    this.gate.reset();
  }

  /** Sends a turn, by default as a native client. */
  turn({ path = NATIVE, headers = {}, body = {}, key = KEY }: Sent = {}): Promise<Reply> {
    const native = { stream: true, store: this.stores, reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] };
    return this.gate.send(path, {
      headers: { ...headers, authorization: `Bearer ${key}` },
      body: { model: 'model-a', input: [user('hello')], ...(path === NATIVE ? native : {}), ...body },
    });
  }

  /** The accounts to which turns went since the last call, in order. */
  went(): readonly string[] {
    const accounts = this.gate.upstream.turns().map(({ account }) => account);
    this.gate.upstream.clear();
    return accounts;
  }

  /** Sends a turn that ends at `south`, because the first account fails it once. Its session stays there. */
  async atSouth(sent: Sent = {}): Promise<Reply> {
    this.clock.setAhead(LATER_MS);
    this.gate.upstream.clear();
    this.gate.upstream.next('north', 'refuse 503');
    const reply = await this.turn(sent);
    assert.deepEqual([reply.status, this.went()], [200, ['north', 'south']]);
    return reply;
  }

  /** Makes the account report to a turn without a session that it is out of quota for an hour. */
  async spend(account: string): Promise<void> {
    this.clock.setAhead(LATER_MS);
    const before = ['north', 'south', 'east'].slice(0, ['north', 'south', 'east'].indexOf(account));
    for (const one of before) this.gate.upstream.next(one, 'refuse 503');
    this.gate.upstream.next(account, 'refuse 429 usage_limit_reached resets 3600');
    assert.equal((await this.turn()).status, 200);
    this.gate.upstream.clear();
  }

  async lastRow() {
    return (await this.gate.rows()).at(-1) ?? assert.fail('no row');
  }
}

/** The output of a streamed reply. */
export const outputOf = ({ text }: Reply): readonly JsonObject[] =>
  eventsOf(text)
    .filter(({ data }) => data.type === 'response.output_item.done')
    .map(({ data }) => data.item);

/** The response id in this reply, which may be incomplete. */
export const idOf = ({ json, text }: Reply): string =>
  String(json?.id ?? eventsOf(text).findLast(({ data }) => data.response)?.data.response.id);
