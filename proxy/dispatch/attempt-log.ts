// The rows of a turn's attempts, in order. A row is made before its attempt ends, so that it exists if the turn ends during the attempt.
import type { AttemptRow } from '../../store/schema/logged-rows.ts';
import type { Clock } from '../base/time/clock.ts';
import { errorClassOf } from '../turn/errors/error-class.ts';
import type { Failure, FailureCause } from '../turn/errors/failure.ts';
import { safeParam } from '../turn/errors/sanitise.ts';
import type { AdaptedName } from '../turn/provider/adapted.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { UpstreamErrorClass } from '../turn/turn.ts';

/**
 * `first`: the first attempt. `resend`: the same request again, with a renewed credential or without reasoning. Otherwise the failure of
 * the attempt before.
 */
export type AttemptCause = 'first' | 'resend' | FailureCause;

export interface AttemptEnd {
  /** The status of the account's reply, if one came. */
  readonly status: number | undefined;
  readonly failure: Failure | undefined;
}

/** The account of an attempt. */
type AskedAccount = Pick<AccountConfig, 'label' | 'api'>;

export class AttemptLog {
  readonly rows: AttemptRow[] = [];
  /** Whether any attempt was sent to its account. */
  wasSent = false;
  readonly #requestId: string;
  readonly #clock: Pick<Clock, 'now' | 'wallTime'>;

  constructor(requestId: string, clock: Pick<Clock, 'now' | 'wallTime'>) {
    this.#requestId = requestId;
    this.#clock = clock;
  }

  /**
   * Adds an attempt that is sent.
   * @param adapted what the request lost or changed for the account
   * @returns a function that completes the row
   */
  begin(account: AskedAccount, cause: AttemptCause, adapted?: readonly AdaptedName[]): (end: AttemptEnd) => void {
    this.wasSent = true;
    return this.#open(account, cause, adapted);
  }

  /** Adds an attempt that failed before anything was sent. */
  unsent(account: AskedAccount, cause: AttemptCause, failure: Failure): void {
    this.#open(account, cause)({ status: undefined, failure });
  }

  /** Sets the class of the last attempt, if it is only known from the effect on the account. */
  classify(error_class: UpstreamErrorClass): void {
    const last = this.rows.pop();
    if (last) this.rows.push({ ...last, error_class });
  }

  #open({ label, api }: AskedAccount, cause: AttemptCause, adapted: readonly AdaptedName[] = []): (end: AttemptEnd) => void {
    const began = this.#clock.now();
    const open: AttemptRow = {
      request_id: this.#requestId,
      ordinal: this.rows.length,
      at: this.#clock.wallTime(),
      account: label,
      api,
      adapted: adapted.length > 0 ? adapted.join(',') : null,
      cause,
      status: null,
      error_class: null,
      duration_ms: 0,
      upstream_error_param: null,
    };
    const index = this.rows.push(open) - 1;
    return ({ status, failure }) => {
      this.rows[index] = {
        ...open,
        status: status ?? null,
        error_class: (failure && errorClassOf(failure)) ?? null,
        duration_ms: this.#clock.now() - began,
        upstream_error_param: failure ? safeParam(failure.error.param) : null,
      };
    };
  }
}
