// A queue of turns that reserve against the limits of their keys. Turns that arrive together share a statement, and so do waiting turns. A
// key is in one running statement at a time.
import { StoreError } from '../../errors.ts';
import type { LimitBounds, LimitedTurn, Taken } from '../../schema/limit-rows.ts';

export interface LimitReservation {
  readonly turn: LimitedTurn;
  readonly bounds: LimitBounds;
}

interface Asked extends LimitReservation {
  readonly resolve: (taken: Taken) => void;
  readonly reject: (error: unknown) => void;
  /** The number of sweeps at the last of which the turn has waited too long. */
  sweeps: number;
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
/** The time between two sweeps, which end the waits. A timer for each turn would cost more than its place in the queue. */
const SWEEP_MS = 500;
/**
 * The least time between two statements, in which turns are gathered. A statement costs the node as much as the reservations of ten turns,
 * and an answer of the database often takes less than a millisecond.
 */
const GATHER_MS = 2;

export class ReservationQueue {
  readonly #send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>;
  /** Waiting turns by key, in the order of their arrival. */
  readonly #waiting = new Map<string, Asked[]>();
  readonly #sentKeys = new Set<string>();
  /** The turns of each running statement. */
  readonly #sent = new Set<readonly Asked[]>();
  /** Present for a moment after a statement was sent. */
  #gathering: NodeJS.Timeout | undefined;
  /** Whether turns of this step of the event loop wait for its end. */
  #isArriving = false;
  /** Present while turns wait for their results. */
  #sweeping: NodeJS.Timeout | undefined;

  /** @param send resolves with results in the order of the turns; rejects if none was sent */
  constructor(send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>) {
    this.#send = send;
  }

  /**
   * Resolves within the turn's `wait_ms`, with `unknown` if its statement has no answer by then.
   * @throws StoreError if the turn was not sent; `busy` if it has waited too long
   */
  take(reservation: LimitReservation): Promise<Taken> {
    const { promise, resolve, reject } = Promise.withResolvers<Taken>();
    const { key, wait_ms } = reservation.turn;
    const asked: Asked = { ...reservation, resolve, reject, sweeps: Math.floor(wait_ms / SWEEP_MS) };
    const others = this.#waiting.get(key);
    if (others) others.push(asked);
    else this.#waiting.set(key, [asked]);
    if (!this.#isArriving) process.nextTick(() => this.#sendArrived());
    this.#isArriving = true;
    return promise;
  }

  #sendArrived(): void {
    this.#isArriving = false;
    this.#sendNext();
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  #sendNext(): void {
    if (this.#gathering || this.#sent.size === SENDS) return;
    const turns = this.#removeNext();
    if (turns.length === 0) return;
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined;
      this.#sendNext();
    }, GATHER_MS);
    void this.#run(turns);
  }

  #removeNext(): readonly Asked[] {
    const turns: Asked[] = [];
    for (const [key, waiting] of this.#waiting) {
      if (this.#sentKeys.has(key)) continue;
      turns.push(...waiting.splice(0, Math.min(TURNS_OF_A_KEY, TURNS - turns.length)));
      this.#sentKeys.add(key);
      if (waiting.length === 0) this.#waiting.delete(key);
      if (turns.length === TURNS) break;
    }
    return turns;
  }

  async #run(turns: readonly Asked[]): Promise<void> {
    this.#sent.add(turns);
    try {
      const taken = await this.#send(turns);
      for (const [i, { resolve }] of turns.entries()) resolve(taken[i] ?? { outcome: 'unknown' });
    } catch (error) {
      for (const { reject } of turns) reject(error);
    } finally {
      this.#sent.delete(turns);
      for (const { turn } of turns) this.#sentKeys.delete(turn.key);
      this.#sendNext();
    }
  }

  /** Ends the waits that have taken too long. */
  #sweep(): void {
    const isLate = (one: Asked): boolean => --one.sweeps <= 0;
    for (const turns of this.#sent) for (const late of turns.filter(isLate)) late.resolve({ outcome: 'unknown' });
    for (const [key, waiting] of this.#waiting) {
      const { late = [], others = [] } = Object.groupBy(waiting, (one) => (isLate(one) ? 'late' : 'others'));
      if (others.length > 0) this.#waiting.set(key, others);
      else this.#waiting.delete(key);
      for (const { reject } of late) reject(new StoreError('busy', 'PostgreSQL: the reservation waited too long'));
    }
    if (this.#waiting.size > 0 || this.#sent.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
