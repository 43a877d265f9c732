// A queue of turns that reserve against the limits of their keys. Turns that arrive together share a statement, and so do waiting turns. A
// key is in one running statement at a time.
import { StoreError } from '../../errors.ts';
import type { LimitBounds, LimitedTurn, Taken } from '../../schema/limit-rows.ts';

export interface LimitReservation {
  readonly turn: LimitedTurn;
  readonly bounds: LimitBounds;
}

interface Waiting extends LimitReservation {
  readonly resolve: (taken: Taken) => void;
  readonly reject: (error: unknown) => void;
  /** The number of sweeps for which the turn has waited. */
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
/** A turn waits for fewer sweeps than this, so for two seconds at most. A timer for each turn would cost more than its place in the queue. */
const SWEEPS = 4;
const SWEEP_MS = 500;
/**
 * The least time between two statements, in which turns are gathered. A statement costs the node as much as the reservations of ten turns,
 * and an answer of the database often takes less than a millisecond.
 */
const GATHER_MS = 2;

export class ReservationQueue {
  readonly #send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>;
  /** Waiting turns by key, in the order of their arrival. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #sentKeys = new Set<string>();
  #sends = 0;
  /** Present for a moment after a statement was sent. */
  #gathering: NodeJS.Timeout | undefined;
  /** Whether turns of this step of the event loop wait for its end. */
  #isArriving = false;
  /** Present while turns wait. */
  #sweeping: NodeJS.Timeout | undefined;

  /** @param send resolves with results in the order of the turns; rejects if none was sent */
  constructor(send: (reservations: readonly LimitReservation[]) => Promise<readonly Taken[]>) {
    this.#send = send;
  }

  /** @throws StoreError if the turn was not sent; `busy` after two seconds of waiting */
  take(reservation: LimitReservation): Promise<Taken> {
    const { promise, resolve, reject } = Promise.withResolvers<Taken>();
    const { key } = reservation.turn;
    const waiting: Waiting = { ...reservation, resolve, reject, sweeps: 0 };
    const others = this.#waiting.get(key);
    if (others) others.push(waiting);
    else this.#waiting.set(key, [waiting]);
    if (!this.#isArriving) process.nextTick(() => this.#sendArrived());
    this.#isArriving = true;
    return promise;
  }

  #sendArrived(): void {
    this.#isArriving = false;
    this.#sendNext();
    if (this.#waiting.size > 0) this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS);
  }

  #sendNext(): void {
    if (this.#gathering || this.#sends === SENDS) return;
    const turns = this.#removeNext();
    if (turns.length === 0) return;
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined;
      this.#sendNext();
    }, GATHER_MS);
    void this.#run(turns);
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

  /** Refuses the turns that have waited too long. */
  #sweep(): void {
    for (const [key, waiting] of this.#waiting) {
      for (const one of waiting) one.sweeps += 1;
      const late = waiting.filter(({ sweeps }) => sweeps === SWEEPS);
      waiting.splice(0, late.length);
      if (waiting.length === 0) this.#waiting.delete(key);
      for (const { reject } of late) reject(new StoreError('busy', 'PostgreSQL: the reservation waited too long'));
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
