// Admission: limits how many turns of a route class run at once, and how many wait for how long (Q4, Q7).
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import { Durations } from '../base/time/durations.ts';
import type { AdmissionConfig } from '../config/config.ts';
import type { AdmissionClass } from '../turn/settings.ts';
import { WaitQueue, type WaitRequest } from './wait-queue.ts';
import { type Tenant, WaitingRoom } from './waiting-room.ts';

export interface SlotRequest {
  readonly class: AdmissionClass;
  /** The key of the turn; undefined for operators, who share one place in the order. */
  readonly key: Tenant | undefined;
  /** Calls back when the client closes the connection; returns the undo. */
  readonly onGone: (aborted: () => void) => () => void;
}

/** The permission of one turn to run. */
export interface Slot {
  /** When the turn's whole wait ends, first for this slot and then for an account; Unix milliseconds. */
  readonly deadline: number;
  /** Gives back the slot. A second call does nothing. */
  release(): void;
}

export interface ClassStatus {
  readonly running: number;
  readonly waiting: number;
}

interface ClassState {
  running: number;
  readonly runningOf: PoolCounts;
  readonly queue: WaitQueue<Slot>;
  /** The turns that wait for a slot, and those that have a slot and wait for an account. Both count together (Q7). */
  readonly room: WaitingRoom;
  /** The durations of waits that ended with a slot or an account. */
  readonly waits: Readonly<Record<WaitedFor, Durations>>;
}

/** What turns of a class wait for. */
type WaitedFor = 'slot' | 'account';

const OPERATORS: Tenant = { id: '(operators)', pool: '(operators)', weight: 1 };

export class Admission {
  readonly #clock: Clock;
  readonly #counters: Counters;
  readonly #classes = new Map<AdmissionClass, ClassState>();

  constructor(clock: Clock, counters: Counters) {
    this.#clock = clock;
    this.#counters = counters;
  }

  /** Applies the limits of a configuration, also to waiting turns. */
  configure(limits: Readonly<Record<AdmissionClass, AdmissionConfig>>): void {
    for (const name of Object.keys(limits) as AdmissionClass[]) {
      const known = this.#classes.get(name);
      if (known) {
        known.room.configure(limits[name]);
        this.#serve(known);
      } else {
        const room = new WaitingRoom(limits[name], this.#counters);
        this.#classes.set(name, {
          running: 0,
          runningOf: new PoolCounts(),
          queue: new WaitQueue<Slot>(this.#clock),
          room,
          waits: { slot: new Durations(), account: new Durations() },
        });
      }
    }
  }

  /**
   * Returns a slot, or a promise if the turn must wait. Resolves with undefined if the client closed the connection. @throws Refusal
   * `server_is_overloaded`
   */
  acquire({ class: name, key = OPERATORS, onGone }: SlotRequest): Slot | Promise<Slot | undefined> {
    const state = this.#stateOf(name);
    const { room, queue, waits } = state;
    const deadline = this.#clock.now() + room.limits.wait_ms;
    // A new turn must not overtake waiting ones.
    if (queue.length === 0 && hasSlot(state)) return this.#take(state, deadline, key.pool);
    return queue.wait({ tenant: key, room, waits: waits.slot, serve: () => this.#take(state, deadline, key.pool), deadline, onGone });
  }

  /** Where turns of the class wait for an account when they have a slot. */
  accountWait(name: AdmissionClass): Pick<WaitRequest<unknown>, 'room' | 'waits'> {
    const { room, waits } = this.#stateOf(name);
    return { room, waits: waits.account };
  }

  /** The number of turns of all classes that have a slot. */
  get running(): number {
    let running = 0;
    for (const state of this.#classes.values()) running += state.running;
    return running;
  }

  /** @param pools counts only turns of these Pools and requests of operators; by default all */
  status(pools?: readonly string[]): Readonly<Partial<Record<AdmissionClass, ClassStatus>>> {
    const counted = pools && [...pools, OPERATORS.pool];
    return Object.fromEntries(
      [...this.#classes].map(([name, { running, runningOf, room }]) => [
        name,
        counted ? { running: runningOf.of(counted), waiting: room.sizeOf(counted) } : { running, waiting: room.size },
      ]),
    );
  }

  /** The durations of waits that ended with a slot, or with an account, by class. */
  waits(waitedFor: WaitedFor): Iterable<readonly [AdmissionClass, Durations]> {
    return [...this.#classes].map(([name, { waits }]) => [name, waits[waitedFor]] as const);
  }

  #take(state: ClassState, deadline: number, pool: string): Slot {
    state.running += 1;
    state.runningOf.add(pool);
    let released = false;
    return {
      deadline,
      release: () => {
        if (released) return;
        released = true;
        state.running -= 1;
        state.runningOf.remove(pool);
        this.#serve(state);
      },
    };
  }

  #serve(state: ClassState): void {
    if (state.queue.length > 0) state.queue.serve(() => !hasSlot(state));
  }

  #stateOf(name: AdmissionClass): ClassState {
    const state = this.#classes.get(name);
    if (!state) throw new Error(`admission of ${name} was never configured`);
    return state;
  }
}

const hasSlot = ({ running, room }: ClassState): boolean => running < room.limits.running;

/** Counts running turns by Pool, because operators see the numbers of their own Pools only (G3). */
export class PoolCounts {
  /** Counts by Pool. A Pool whose turns have ended stays with 0, because the next turn would add it again. */
  readonly #counts = new Map<string, number>();

  add(pool: string): void {
    this.#counts.set(pool, (this.#counts.get(pool) ?? 0) + 1);
  }

  remove(pool: string): void {
    this.#counts.set(pool, (this.#counts.get(pool) ?? 1) - 1);
  }

  /** The sum over these Pools. */
  of(pools: readonly string[]): number {
    return pools.reduce((sum, pool) => sum + (this.#counts.get(pool) ?? 0), 0);
  }
}
