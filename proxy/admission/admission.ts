// Admission: limits how many turns of a route class run at once, how many wait, and how long (Q4, Q7).
import type { Clock } from '../clock.ts';
import type { AdmissionConfig } from '../config/config.ts';
import type { Counters } from '../metrics.ts';
import { Refusal } from '../turn/refusal.ts';
import type { AdmissionClass } from '../turn/settings.ts';
import { WaitQueue } from './wait-queue.ts';

export interface SlotRequest {
  readonly class: AdmissionClass;
  /** Calls back when the client closes the connection; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
}

/** The right of one turn to run. */
export interface Slot {
  /** The end of the turn's whole wait, for this slot and then for an account; Unix milliseconds. */
  readonly deadline: number;
  /** Gives the slot back; a second call does nothing. */
  release(): void;
}

export interface ClassStatus {
  readonly running: number;
  readonly waiting: number;
}

interface ClassState {
  limits: AdmissionConfig;
  running: number;
  readonly queue: WaitQueue<Slot>;
  /** Turns that have a slot and wait for an account: they count as waiting in the same class (Q7). */
  waitingForAccount: number;
}

export class Admission {
  readonly #clock: Clock;
  readonly #counters: Counters;
  readonly #classes = new Map<AdmissionClass, ClassState>();

  constructor(clock: Clock, counters: Counters) {
    this.#clock = clock;
    this.#counters = counters;
  }

  /** Takes the limits of a configuration; they apply to waiting turns too. */
  configure(limits: Readonly<Record<AdmissionClass, AdmissionConfig>>): void {
    for (const name of Object.keys(limits) as AdmissionClass[]) {
      const known = this.#classes.get(name);
      if (known) known.limits = limits[name];
      else this.#classes.set(name, { limits: limits[name], running: 0, queue: new WaitQueue<Slot>(this.#clock), waitingForAccount: 0 });
      known?.queue.serveInOrder();
    }
  }

  /** Returns a slot, or a promise where the turn must wait; undefined: the client closed the connection. @throws Refusal `server_is_overloaded` */
  acquire(request: SlotRequest): Slot | Promise<Slot | undefined> {
    const state = this.#stateOf(request.class);
    const deadline = this.#clock.now() + state.limits.wait_ms;
    // A new turn must not overtake waiting ones.
    if (state.queue.length === 0 && state.running < state.limits.running) return this.#take(state, deadline);
    this.#checkQueueRoom(state);
    return state.queue.wait({
      serve: () => (state.running < state.limits.running ? this.#take(state, deadline) : undefined),
      deadline,
      timeoutError: () => this.timeoutRefusal(request.class),
      onGone: request.onGone,
    });
  }

  /** Counts a turn that has its slot as waiting for an account; returns the undo. @throws Refusal `server_is_overloaded` */
  waitForAccount(name: AdmissionClass): () => void {
    const state = this.#stateOf(name);
    this.#checkQueueRoom(state);
    state.waitingForAccount += 1;
    return () => {
      state.waitingForAccount -= 1;
    };
  }

  /** Counts a wait that reached its deadline, and returns its refusal. */
  timeoutRefusal(name: AdmissionClass): Refusal {
    this.#counters.add('admission_timeouts');
    return overloaded(this.#stateOf(name));
  }

  status(): Readonly<Partial<Record<AdmissionClass, ClassStatus>>> {
    return Object.fromEntries([...this.#classes].map(([name, state]) => [name, { running: state.running, waiting: waitingIn(state) }]));
  }

  #checkQueueRoom(state: ClassState): void {
    if (waitingIn(state) >= state.limits.waiting) {
      this.#counters.add('admission_full');
      throw overloaded(state);
    }
    this.#counters.add('admission_waits');
  }

  #take(state: ClassState, deadline: number): Slot {
    state.running += 1;
    let released = false;
    return {
      deadline,
      release: () => {
        if (released) return;
        released = true;
        state.running -= 1;
        state.queue.serveInOrder();
      },
    };
  }

  #stateOf(name: AdmissionClass): ClassState {
    const state = this.#classes.get(name);
    if (!state) throw new Error(`admission of ${name} was never configured`);
    return state;
  }
}

const waitingIn = ({ queue, waitingForAccount }: ClassState): number => queue.length + waitingForAccount;

/** A full or slow queue is expected to stay so for about the longest wait of the class. */
const overloaded = ({ limits }: ClassState): Refusal => new Refusal('server_is_overloaded', { retryAfterMs: limits.wait_ms });
