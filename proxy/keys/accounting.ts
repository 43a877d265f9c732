// Accounts for the usage of every key: reserves it before a turn is dispatched, and settles it once at its end (S2, Q18, Q19).
import type { LoggedRequest, RequestRow, Store } from '../../store/store.ts';
import { nanosOf } from '../turn/costs/nanos.ts';
import { costOf, priceAt, priceIn } from '../turn/costs/prices.ts';
import type { ExpectedUsage, Spending } from '../turn/costs/spending.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { DispatchedKind } from '../turn/routes/kinds.ts';
import type { AccountConfig, KeyConfig, PoolConfig, Prices } from '../turn/settings.ts';
import { hasTiers } from '../turn/tiers.ts';
import { inputTokens, outputCap } from '../turn/token-estimate.ts';
import type { Body, ModelView } from '../turn/turn.ts';
import { KEPT_DAYS, type Ledger } from './ledger.ts';
import type { Estimate, LimitCounts, LimitState, Reserved } from './limits/key-limits.ts';
import { LEAST_OUTPUT_TOKENS, OutputForecast } from './output-forecast.ts';
import { type Forecast, Reservation } from './reservation.ts';
import type { Amounts, Totals, Usage } from './usage-totals.ts';

/** The part of a turn that accounting reads. */
export interface AccountedTurn {
  readonly key: KeyConfig;
  readonly pool: PoolConfig;
  readonly model: ModelView | undefined;
}

/** The part of a turn that its settlement reads. */
interface SettledTurn extends Pick<AccountedTurn, 'key' | 'pool'> {
  readonly dispatchedKind?: Pick<DispatchedKind, 'usesNoTokens'> | undefined;
}

/** The rows of a turn that has ended. */
export interface EndedTurn extends LoggedRequest {
  /** Whether the turn was sent to an account. If not, it used nothing. */
  readonly wasSent: boolean;
  /** The account that served the turn, or was tried last. The turn is settled at its prices (AA71). */
  readonly served?: AccountConfig | undefined;
  /** The turn's cost in USD as the account states it. It replaces the price of the turn's tokens. */
  readonly costUsd?: number | undefined;
  /** The turn's reservation against the caps of its tier. */
  readonly spending?: Spending | undefined;
}

/** The prices of the accounts that a turn may reach, at least one; undefined if the Pool's prices apply to all accounts. */
export type ReachablePrices = (turn: AccountedTurn) => readonly (Prices | undefined)[] | undefined;

export class Accounting {
  readonly #ledger: Ledger;
  readonly #limits: LimitCounts;
  readonly #log: Pick<Store['requests'], 'append'>;
  readonly #forecast = new OutputForecast();
  readonly #reachable: ReachablePrices;

  constructor(ledger: Ledger, limits: LimitCounts, log: Pick<Store['requests'], 'append'>, reachable: ReachablePrices) {
    this.#reachable = reachable;
    this.#ledger = ledger;
    this.#log = log;
    this.#limits = limits;
  }

  load(): Promise<void> {
    return this.#ledger.load();
  }

  /**
   * Reserves the estimated usage of a turn, or returns its refusal: `rate_limit_exceeded`, or `server_is_overloaded` if the limits cannot
   * be checked (Q34). Runs after all refusals that cost nothing (Q4). Returns a promise only if nodes share the limits of the key.
   * @param request the client's body before any rule edited it; undefined if the route streams the body without parsing it
   */
  reserve(turn: AccountedTurn, request: Body | undefined): Refusal | Reservation | Promise<Refusal | Reservation> {
    const { key } = turn;
    if (!isLimited(key)) return this.unlimited(turn, request);
    const reserving = this.#limits.reserve(key, () => this.#estimate(turn, request));
    const made = (reserved: Reserved | Refusal) => (reserved instanceof Refusal ? reserved : this.#reservation(turn, request, reserved));
    return reserving instanceof Promise ? reserving.then(made) : made(reserving);
  }

  /** Reserves for a turn that limits can no longer refuse. Its usage counts all the same. */
  unlimited(turn: AccountedTurn, request: Body | undefined): Reservation {
    return this.#reservation(turn, request, this.#unlimited(turn.key));
  }

  /** Estimates the usage of a turn that is not sent. Nothing is reserved. */
  expected(turn: AccountedTurn, request: Body | undefined): ExpectedUsage {
    return this.#reservation(turn, request, { amounts: ONE_REQUEST, settle: () => undefined });
  }

  #reservation(turn: AccountedTurn, request: Body | undefined, reserved: Reserved): Reservation {
    return new Reservation(request, reserved, new OutputOf(turn, request, this.#forecast));
  }

  /**
   * Settles a turn that has ended: releases its reservation, and stores its usage and its log rows in one transaction.
   * @param reservation undefined if the turn was refused before it reserved
   * @returns the turn's cost in billionths of a US dollar
   */
  settle(
    turn: SettledTurn,
    reservation: Reservation | undefined,
    { row, attempts, wasSent, served, spending, costUsd }: EndedTurn,
  ): number {
    if (!reservation || !wasSent) {
      reservation?.settle(undefined);
      spending?.settle(undefined);
      this.#log.append(row, attempts);
      return 0;
    }
    const { key, pool } = turn;
    const prices = served ? priceAt(served, row.model ?? undefined, pool) : priceIn(pool, row.model ?? undefined);
    const costNanos = costUsd === undefined ? costOf(row, prices) : nanosOf(costUsd);
    const totals = totalsOf(row, costNanos, reservation.amounts, turn.dispatchedKind?.usesNoTokens);
    const wasEstimated = reservation.amounts.tokens > 0;
    // A prewarm has no output, so it is not used for the forecast.
    if (row.model !== null && totals.output_tokens > 0 && (wasEstimated || hasTiers(pool))) {
      this.#forecast.add(key.id, row.model, totals.output_tokens);
    }
    reservation.settle({ pool: pool.id, totals, of: { row, attempts } });
    spending?.settle(totalsOf(row, costNanos, { requests: 1, tokens: 0, costNanos: spending.nanos }));
    return totals.cost_nanos;
  }

  /** The key's totals of the last 28 days. */
  ofKey(key: KeyConfig): Readonly<Totals> {
    return this.#ledger.ofKey(key.id, KEPT_DAYS);
  }

  /** The days with usage among the last 28 days, oldest first, each with its midnight UTC in Unix milliseconds. */
  daysOf(key: KeyConfig): readonly { readonly day: number; readonly totals: Readonly<Totals> }[] {
    return this.#ledger.daysOf(key.id, KEPT_DAYS);
  }

  ofPool(pool: PoolConfig): Readonly<Totals> {
    return this.#ledger.ofPool(pool.id, KEPT_DAYS);
  }

  /** The current state of the key's limits. A promise only if nodes share them. */
  limits(key: KeyConfig): readonly LimitState[] | Promise<readonly LimitState[]> {
    return isLimited(key) ? this.#limits.states(key) : [];
  }

  #unlimited({ id }: KeyConfig): Reserved {
    let end: (() => void) | undefined = this.#limits.begin(id);
    return {
      amounts: ONE_REQUEST,
      settle: (used) => {
        end?.();
        end = undefined;
        if (used) this.#ledger.settle(id, used.pool, used.totals, used.of);
      },
    };
  }

  /** Estimates the usage of a turn before it runs (Q19). The estimate is zero if the route does not parse the body. */
  #estimate(turn: AccountedTurn, request: Body | undefined): Estimate {
    if (!request) return NO_USAGE;
    const input = inputTokens(request);
    const output = new OutputOf(turn, request, this.#forecast);
    // Reserve at the highest price among the accounts that the turn may reach (AA71).
    const prices = this.#reachable(turn) ?? [priceIn(turn.pool, turn.model?.id)];
    const usage = (output: number): Usage => {
      const tokens = { input_tokens: input, cached_input_tokens: null, output_tokens: output };
      return { tokens: input + output, costNanos: Math.max(...prices.map((one) => costOf(tokens, one))) };
    };
    return { least: usage(output.least()), expected: usage(output.expected()) };
  }
}

const isLimited = ({ limits }: KeyConfig): boolean => Object.keys(limits).length > 0;

/** Forecasts the output of a turn, at most its caps (Q19). */
class OutputOf implements Forecast {
  readonly #turn: AccountedTurn;
  readonly #request: Body | undefined;
  readonly #forecast: OutputForecast;

  constructor(turn: AccountedTurn, request: Body | undefined, forecast: OutputForecast) {
    this.#turn = turn;
    this.#request = request;
    this.#forecast = forecast;
  }

  least(): number {
    return Math.min(this.#cap(), LEAST_OUTPUT_TOKENS);
  }

  expected(): number {
    const { key, model } = this.#turn;
    return Math.min(this.#cap(), model ? this.#forecast.tokens(key.id, model.id) : LEAST_OUTPUT_TOKENS);
  }

  #cap(): number {
    return this.#request ? outputCap(this.#request, this.#turn.key.output_tokens?.max) : 0;
  }
}

const ONE_REQUEST: Amounts = { requests: 1, tokens: 0, costNanos: 0 };

const NO_USAGE: Estimate = { least: { tokens: 0, costNanos: 0 }, expected: { tokens: 0, costNanos: 0 } };

/**
 * The totals of a turn. Usage that the provider did not state is unknown, not zero (Q18): a complete reply without usage counts the amounts
 * that its turn reserved. A failed reply without usage counts nothing, whether it failed with a status or inside a stream.
 * @param usesNoTokens whether requests of the turn's kind use no tokens, so that nothing is unknown
 */
function totalsOf(usage: RequestRow, costNanos: number, reserved: Amounts, usesNoTokens = false): Totals {
  const { input_tokens, cached_input_tokens, output_tokens } = usage;
  const unknown = !usesNoTokens && (input_tokens === null || output_tokens === null);
  const whole = usage.outcome === 'completed' || usage.outcome === 'incomplete';
  const held = unknown && whole ? reserved : undefined;
  return {
    requests: 1,
    unknown: unknown ? 1 : 0,
    input_tokens: input_tokens ?? 0,
    cached_input_tokens: cached_input_tokens ?? 0,
    output_tokens: output_tokens ?? 0,
    cost_nanos: costNanos,
    held_tokens: held?.tokens ?? 0,
    held_nanos: held?.costNanos ?? 0,
  };
}
