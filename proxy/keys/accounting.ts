// Each turn's account with its key: let in before dispatch, settled at its end, exactly once (S2, Q18, Q19).
import type { RequestRow, Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import { Refusal } from '../turn/refusal.ts';
import type { KeyConfig, PoolConfig } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import { KeyLimits, type LimitState } from './key-limits.ts';
import { KEPT_DAYS, Ledger } from './ledger.ts';
import type { Reservation } from './reservation.ts';
import { costOf, type Totals } from './usage-totals.ts';

/** A turn as far as its bill goes. */
export interface BilledTurn {
  readonly key: KeyConfig;
  /** The same as `pool`; undefined where nobody was authenticated. */
  readonly billed: PoolConfig | undefined;
  readonly pool: PoolConfig;
  readonly model: ModelView | undefined;
  readonly bill: Reservation | undefined;
  /** Empty for a turn that never reached an account. */
  readonly attempts: readonly unknown[];
}

type Settled = Pick<
  RequestRow,
  'key_id' | 'pool' | 'model' | 'status' | 'outcome' | 'input_tokens' | 'cached_input_tokens' | 'output_tokens'
>;

export class Accounting {
  readonly #ledger: Ledger;
  readonly #limits: KeyLimits;

  constructor(store: Pick<Store['usage'], 'add' | 'load'>, clock: Clock) {
    this.#ledger = new Ledger(store, clock);
    this.#limits = new KeyLimits(this.#ledger, clock);
  }

  load(): Promise<void> {
    return this.#ledger.load();
  }

  /** A core step, after all refusals that cost nothing (Q4). What keeps the turn out: `rate_limit_exceeded`. */
  reserve({ key, pool, model, bill }: BilledTurn): Refusal | undefined {
    if (!bill) return undefined;
    const guess = (): { tokens: number; nanos: number } => {
      const { input, output } = bill.estimate(key.output_tokens?.max);
      const tokens = { input_tokens: input, cached_input_tokens: null, output_tokens: output };
      return { tokens: input + output, nanos: costOf(tokens, pricesOf(pool, model?.id)) };
    };
    const reserved = this.#limits.reserve(key, guess);
    if (reserved instanceof Refusal) return reserved;
    bill.reserve(reserved.amounts, reserved.release);
    return undefined;
  }

  /** Takes the one row of a turn that is over. */
  settle({ bill, attempts, billed: pool }: Pick<BilledTurn, 'bill' | 'attempts' | 'billed'>, row: Settled): void {
    if (attempts.length === 0 || !pool || row.key_id === null) {
      bill?.release(undefined);
      return;
    }
    const totals = totalsOf(row, pool, bill);
    bill?.release({ tokens: totals.input_tokens + totals.output_tokens + totals.held_tokens });
    this.#ledger.settle(row.key_id, pool.id, totals);
  }

  /** Of the last 28 days. */
  ofKey(key: KeyConfig): Readonly<Totals> {
    return this.#ledger.ofKey(key.id, KEPT_DAYS);
  }

  ofPool(pool: PoolConfig): Readonly<Totals> {
    return this.#ledger.ofPool(pool.id, KEPT_DAYS);
  }

  limits(key: KeyConfig): readonly LimitState[] {
    return this.#limits.states(key);
  }
}

/** What nobody stated is unknown, never nothing (Q18): an answer of unknown usage holds what its turn had reserved. */
function totalsOf(row: Settled, pool: PoolConfig, bill: Reservation | undefined): Totals {
  const { input_tokens, cached_input_tokens, output_tokens } = row;
  const unknown = input_tokens === null || output_tokens === null;
  const held = unknown && row.status < 400 && row.outcome !== 'client_gone' ? bill?.reserved : undefined;
  return {
    requests: 1,
    unknown: unknown ? 1 : 0,
    input_tokens: input_tokens ?? 0,
    cached_input_tokens: cached_input_tokens ?? 0,
    output_tokens: output_tokens ?? 0,
    cost_nanos: costOf(row, pricesOf(pool, row.model ?? undefined)),
    held_tokens: held?.tokens ?? 0,
    held_nanos: held?.nanos ?? 0,
  };
}

function pricesOf(pool: PoolConfig, model: string | undefined): NonNullable<PoolConfig['models'][string]>['prices'] {
  return model !== undefined && Object.hasOwn(pool.models, model) ? pool.models[model]?.prices : undefined;
}
