// A gateway for tests of serving modes: two accounts that differ in Lite support, two Pools, and the visible effects of a mode.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../clocks/shifted-clock.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import type { Arrival } from '../rehearsal.ts';
import { modelEntry, turnBody } from '../rehearsal-replies.ts';
import { BACKEND_MODELS } from './model-lists.ts';

export const NATIVE = '/backend-api/agent/responses';
const MARKER = 'x-internal-agent-responses-lite';

export type Dialect = 'lite' | 'full';

export const asks = (model: string): JsonObject => turnBody('hi', { model });

/** A catalog entry with any value for its Lite support, which need not be valid. */
export const entrySaying = (slug: string, use_responses_lite: JsonObject[string]): JsonObject => modelEntry({ slug, use_responses_lite });

/** The dialect in which a turn reached its account. Fails if its body and its marker do not agree. */
export function dialectOf(turn: Arrival | undefined): Dialect {
  assert.ok(turn, 'a turn arrived');
  const { input } = turn.json as { readonly input: readonly JsonObject[] };
  const shape = input[0]?.type === 'additional_tools' ? 'lite' : 'full';
  assert.equal(turn.headers[MARKER], shape === 'lite' ? 'true' : undefined);
  return shape;
}

/** The settings of Pool `team`. Settings that are left out are those of the start. */
export interface Setting {
  readonly serving_modes?: JsonObject;
  readonly models?: JsonObject;
  readonly north?: JsonObject;
  readonly south?: JsonObject;
  readonly visible?: readonly string[];
}

/**
 * Model `model-a` is Lite only at south, `lite` at both accounts, and `full` at neither. The keys `ci` (the default) and `second` belong to
 * Pool `team`, and the key `other` to Pool `other`. The secrets of the latter two are their ids.
 */
export class ModeStage {
  readonly gate: TestGateway;
  readonly clock: ShiftedClock;

  private constructor(gate: TestGateway, clock: ShiftedClock) {
    this.gate = gate;
    this.clock = clock;
  }

  static async start(): Promise<ModeStage> {
    const clock = new ShiftedClock();
    const models = (lite: boolean): readonly JsonObject[] => [
      entrySaying('model-a', lite),
      entrySaying('lite', true),
      entrySaying('full', false),
    ];
    const gate = await startGateway({
      clock,
      upstream: {
        manners: { streamedUnstoredLists: false },
        accounts: [
          { id: 'north', models: models(false) },
          { id: 'south', models: models(true) },
        ],
      },
      config: (draft: Draft) => {
        draft.pools.push({ id: 'other', assignments: [{ account: 'north' }, { account: 'south' }] });
        for (const [id, pool] of [
          ['second', 'team'],
          ['other', 'other'],
        ])
          draft.keys.push({ id, pool, secret_sha256: [hash('sha256', id ?? '', 'hex')] });
      },
    });
    return new ModeStage(gate, clock);
  }

  /** Restores the initial state after a test. */
  async reset(): Promise<void> {
    this.gate.upstream.clear();
    // Later than the window of the retry budget and every cooldown.
    this.clock.setAhead(3_600_000);
    await this.set({});
  }

  set({ serving_modes = {}, models = {}, north = {}, south = {}, visible = ['north', 'south'] }: Setting): Promise<void> {
    return this.gate.reconfigure((draft) => {
      const assignments = [
        { account: 'north', ...north },
        { account: 'south', ...south },
      ];
      Object.assign(draft.pools[0], { strategy: 'headroom', serving_modes, models, assignments });
      for (const account of draft.accounts) Object.assign(account, { visible: visible.includes(account.id), models: {} });
    });
  }

  /** The dialect in which a turn of this model reaches its account. */
  async dialect(model: string, init = {}): Promise<Dialect> {
    this.gate.upstream.clear();
    const reply = await this.gate.send(NATIVE, { body: asks(model), ...init });
    assert.equal(reply.status, 200, reply.text);
    return dialectOf(this.gate.upstream.turns()[0]);
  }

  /** The Lite support of this model in the backend list; undefined if the list does not have the model. */
  async shown(model: string, init = {}): Promise<unknown> {
    const { json } = await this.gate.send(BACKEND_MODELS, init);
    return json.models.find(({ slug }: JsonObject) => slug === model)?.use_responses_lite;
  }

  async etag(): Promise<string | null> {
    return (await this.gate.send(BACKEND_MODELS)).headers.get('etag');
  }

  /** The labels of RM1 in the row of this answer. */
  async labels({ headers }: Pick<Reply, 'headers'>): Promise<unknown> {
    const row = await this.gate.row({ headers });
    return [row?.configured_mode, row?.effective_mode, row?.mode_source];
  }
}
