// One attempt's hold on an account: a place in its concurrency and a visit in its health, given back exactly once.
import type { AccountConfig } from '../../turn/settings.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { AttemptTicket, Result } from '../health/attempt-ticket.ts';
import type { Health } from '../health/health.ts';
import type { AccountLoad } from './account-load.ts';

export class Lease {
  readonly account: AccountConfig;
  readonly upstream: Upstream;
  readonly #visit: AttemptTicket;
  readonly #seat: AccountLoad;
  readonly #health: Health;
  readonly #released: (seat: AccountLoad) => void;
  #over = false;

  constructor(parts: {
    readonly account: AccountConfig;
    readonly upstream: Upstream;
    readonly visit: AttemptTicket;
    readonly seat: AccountLoad;
    readonly health: Health;
    readonly released: (seat: AccountLoad) => void;
  }) {
    this.account = parts.account;
    this.upstream = parts.upstream;
    this.#visit = parts.visit;
    this.#seat = parts.seat;
    this.#health = parts.health;
    this.#released = parts.released;
    parts.seat.inFlight += 1;
  }

  /** Whether this attempt decides about an account that was failing (Q5). */
  get isProbe(): boolean {
    return this.#visit.probes !== undefined;
  }

  /** The reply was committed: a probe need not be waited for any longer. */
  answered(): void {
    if (!this.#over) this.#health.answered(this.#visit);
  }

  /** A second call does nothing. */
  end(result: Result): void {
    if (this.#over) return;
    this.#over = true;
    this.#seat.inFlight -= 1;
    this.#health.end(this.#visit, result);
    this.#released(this.#seat);
  }
}
