// Admission: how many turns of a route class run at once, how many wait for a place, and for how long (Q4, Q7).
import type { Counters } from '../../admin/counters.ts';
import type { AdmissionClass, AdmissionConfig } from '../../config/config.ts';
import { Refusal } from '../../refusal.ts';
import type { Clock } from '../catalog/clock.ts';
import { Line } from './line.ts';

/** Who asks: the class of its route, under the configuration that the turn holds. */
export interface Arriving {
  readonly class: AdmissionClass;
  readonly limits: AdmissionConfig;
  /** Calls back when the client leaves; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
}

export interface Slot {
  /** When the turn has waited long enough, for this slot and then for an account together; Unix milliseconds. */
  readonly deadline: number;
  /** Gives the place back; a second call does nothing. */
  leave(): void;
}

export interface ClassStatus {
  readonly running: number;
  readonly waiting: number;
}

interface Class {
  running: number;
  readonly slots: Line<Slot>;
  /** Turns that have a slot and wait for an account with room: in the same class's queue (Q7). */
  forAccount: number;
}

export class Admission {
  readonly #clock: Clock;
  readonly #counters: Counters;
  readonly #classes = new Map<AdmissionClass, Class>();

  constructor(clock: Clock, counters: Counters) {
    this.#clock = clock;
    this.#counters = counters;
  }

  /** A slot, at once where there is one. Undefined: the client left while it waited. @throws Refusal `server_is_overloaded` */
  enter(arriving: Arriving): Slot | Promise<Slot | undefined> {
    const { limits } = arriving;
    const own = this.#of(arriving.class);
    const deadline = this.#clock.now() + limits.wait_ms;
    // Nobody overtakes those who wait.
    if (own.slots.length === 0 && own.running < limits.running) return this.#take(own, deadline);
    this.join(arriving.class, limits);
    return own.slots.wait({
      serve: () => (own.running < limits.running ? this.#take(own, deadline) : undefined),
      deadline,
      late: () => this.late(limits),
      onGone: arriving.onGone,
    });
  }

  /** Checks that the class's queue takes one more. @throws Refusal `server_is_overloaded` */
  join(name: AdmissionClass, limits: AdmissionConfig): void {
    const own = this.#of(name);
    if (own.slots.length + own.forAccount >= limits.waiting) {
      this.#counters.add('admission_full');
      throw overloaded(limits);
    }
    this.#counters.add('admission_waits');
  }

  /** One more turn of the class waits for an account; returns the undo. */
  waitsForAccount(name: AdmissionClass): () => void {
    const own = this.#of(name);
    own.forAccount += 1;
    return () => {
      own.forAccount -= 1;
    };
  }

  /** What a turn is told that waited in vain. */
  late(limits: AdmissionConfig): Refusal {
    this.#counters.add('admission_timeouts');
    return overloaded(limits);
  }

  status(): Readonly<Partial<Record<AdmissionClass, ClassStatus>>> {
    const entries = [...this.#classes].map(([name, { running, slots, forAccount }]) => [
      name,
      { running, waiting: slots.length + forAccount },
    ]);
    return Object.fromEntries(entries);
  }

  #take(own: Class, deadline: number): Slot {
    own.running += 1;
    let left = false;
    return {
      deadline,
      leave: () => {
        if (left) return;
        left = true;
        own.running -= 1;
        own.slots.serveInOrder();
      },
    };
  }

  #of(name: AdmissionClass): Class {
    const known = this.#classes.get(name);
    if (known) return known;
    const made = { running: 0, slots: new Line<Slot>(this.#clock), forAccount: 0 };
    this.#classes.set(name, made);
    return made;
  }
}

/** A queue that is full or too slow now is so for about as long as it lets anybody wait. */
const overloaded = ({ wait_ms }: AdmissionConfig): Refusal => new Refusal('server_is_overloaded', { retryAfterMs: wait_ms });
