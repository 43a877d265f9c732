// Admission: how many turns of a route class run at once, how many wait for a place, and for how long (Q4, Q7).

import type { Clock } from '../clock.ts';
import type { AdmissionConfig } from '../config/config.ts';
import type { Counters } from '../metrics.ts';
import { Refusal } from '../turn/refusal.ts';
import type { AdmissionClass } from '../turn/settings.ts';
import { Line } from './wait-queue.ts';

export interface Arriving {
  /** Of its route. */
  readonly class: AdmissionClass;
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
  limits: AdmissionConfig;
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

  /** Takes the limits of a configuration, for those who wait already too. */
  configure(limits: Readonly<Record<AdmissionClass, AdmissionConfig>>): void {
    for (const name of Object.keys(limits) as AdmissionClass[]) {
      const known = this.#classes.get(name);
      if (known) known.limits = limits[name];
      else this.#classes.set(name, { limits: limits[name], running: 0, slots: new Line<Slot>(this.#clock), forAccount: 0 });
      known?.slots.serveInOrder();
    }
  }

  /** A slot, at once where there is one. Undefined: the client left while it waited. @throws Refusal `server_is_overloaded` */
  enter(arriving: Arriving): Slot | Promise<Slot | undefined> {
    const own = this.#of(arriving.class);
    const deadline = this.#clock.now() + own.limits.wait_ms;
    // Nobody overtakes those who wait.
    if (own.slots.length === 0 && own.running < own.limits.running) return this.#take(own, deadline);
    this.#join(own);
    return own.slots.wait({
      serve: () => (own.running < own.limits.running ? this.#take(own, deadline) : undefined),
      deadline,
      late: () => this.late(arriving.class),
      onGone: arriving.onGone,
    });
  }

  /** A turn that has its slot goes on to wait for an account; returns the undo. @throws Refusal `server_is_overloaded` */
  waitForAccount(name: AdmissionClass): () => void {
    const own = this.#of(name);
    this.#join(own);
    own.forAccount += 1;
    return () => {
      own.forAccount -= 1;
    };
  }

  /** What a turn is told that waited in vain. */
  late(name: AdmissionClass): Refusal {
    this.#counters.add('admission_timeouts');
    return overloaded(this.#of(name));
  }

  status(): Readonly<Partial<Record<AdmissionClass, ClassStatus>>> {
    return Object.fromEntries([...this.#classes].map(([name, own]) => [name, { running: own.running, waiting: waitingIn(own) }]));
  }

  /** Checks that the class's queue takes one more. */
  #join(own: Class): void {
    if (waitingIn(own) >= own.limits.waiting) {
      this.#counters.add('admission_full');
      throw overloaded(own);
    }
    this.#counters.add('admission_waits');
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
    const own = this.#classes.get(name);
    if (!own) throw new Error(`admission of ${name} was never configured`);
    return own;
  }
}

const waitingIn = ({ slots, forAccount }: Class): number => slots.length + forAccount;

/** A queue that is full or too slow now is so for about as long as it lets anybody wait. */
const overloaded = ({ limits }: Class): Refusal => new Refusal('server_is_overloaded', { retryAfterMs: limits.wait_ms });
