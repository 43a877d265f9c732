// A queue of turns that reserve against the limits of their keys. Waiting turns share a statement. A key is in one running statement at a
// time.
import { StoreError } from '../../errors.ts';
import type { LimitBounds, LimitedTurn, Taken } from '../../schema/limit-rows.ts';

export interface LimitReservation {
  readonly turn: LimitedTurn;
  readonly bounds: LimitBounds;
}

interface Waiting extends LimitReservation {
  readonly resolve: (taken: Taken) => void;
  readonly reject: (error: unknown) => void;
  /** Undefined for a turn that was sent at once: its statement has a deadline of its own. */
  readonly deadline: NodeJS.Timeout | undefined;
}

/**
 * Statements that run at a time. With more, each would have fewer turns. With one, a key that another node has locked would delay all
 * others.
 */
const SENDS = 2;
/** The most turns of one key in a statement, so that a busy key leaves room for others. */
const TURNS_OF_A_KEY = 64;
/** Most turns in a statement. */
const TURNS = 256;
const WAIT_MS = 2_000;

export class ReservationQueue {
  readonly #send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>;
  /** Waiting turns by key, in the order of their arrival. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #sentKeys = new Set<string>();
  #sends = 0;

  /** @param send resolves with results in the order of the turns; rejects if none was sent */
  constructor(send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>) {
    this.#send = send;
  }

  /** @throws StoreError if the turn was not sent; `busy` after two seconds of waiting */
  take(reservation: LimitReservation): Promise<Taken> {
    const { promise, resolve, reject } = Promise.withResolvers<Taken>();
    const { key } = reservation.turn;
    const waits = this.#sends === SENDS || this.#sentKeys.has(key);
    const deadline = waits ? setTimeout(() => this.#expire(key, waiting), WAIT_MS) : undefined;
    const waiting: Waiting = { ...reservation, resolve, reject, deadline };
    const others = this.#waiting.get(key);
    if (others) others.push(waiting);
    else this.#waiting.set(key, [waiting]);
    this.#sendNext();
    return promise;
  }

  #sendNext(): void {
    while (this.#sends < SENDS) {
      const turns = this.#removeNext();
      if (turns.length === 0) return;
      void this.#run(turns);
    }
  }

  #removeNext(): readonly Waiting[] {
    const turns: Waiting[] = [];
    for (const [key, waiting] of this.#waiting) {
      if (this.#sentKeys.has(key)) continue;
      turns.push(...waiting.splice(0, Math.min(TURNS_OF_A_KEY, TURNS - turns.length)));
      this.#sentKeys.add(key);
      if (waiting.length === 0) this.#waiting.delete(key);
      if (turns.length === TURNS) break;
    }
    return turns;
  }

  async #run(turns: readonly Waiting[]): Promise<void> {
    this.#sends += 1;
    for (const { deadline } of turns) clearTimeout(deadline);
    try {
      const taken = await this.#send(turns);
      for (const [i, { resolve }] of turns.entries()) resolve(taken[i] ?? { outcome: 'unknown' });
    } catch (error) {
      for (const { reject } of turns) reject(error);
    } finally {
      this.#sends -= 1;
      for (const { turn } of turns) this.#sentKeys.delete(turn.key);
      this.#sendNext();
    }
  }

  #expire(key: string, late: Waiting): void {
    const left = this.#waiting.get(key)?.filter((one) => one !== late) ?? [];
    if (left.length > 0) this.#waiting.set(key, left);
    else this.#waiting.delete(key);
    late.reject(new StoreError('busy', 'PostgreSQL: the reservation waited too long'));
  }
}
