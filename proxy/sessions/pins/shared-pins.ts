// What a store that several nodes share adds to pins: a pin is stored without delay, and a pin that another node has moved is read again.
import type { Store } from '../../../store/store.ts';
import { RecentEntries } from '../../base/bytes/recent-entries.ts';
import type { Counters } from '../../base/process/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Pin, PinName } from '../../turn/continuation.ts';
import { OFTEN_NEW, SOFT } from './pin-kinds.ts';

/** The most moves of sessions that are remembered. If a move is forgotten, a turn that began before it may move its session back. */
const MOVED_CAPACITY = 10_000;

/** The store's functions for pins that other nodes read. */
export type SharedPinStore = Pick<Store['pins'], 'save' | 'move'>;

export interface SharedPinsOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  /** The most pins in memory. */
  readonly capacity: number;
}

export class SharedPins {
  readonly #store: SharedPinStore;
  readonly #clock: Clock;
  readonly #counters: Counters;
  /** Names of sessions and conversations by digest, because other nodes report moves by digest. */
  readonly #texts: RecentEntries<string>;
  /** When another node moved a session or conversation, by name. */
  readonly #movedAt = new RecentEntries<number>(MOVED_CAPACITY);

  constructor(store: SharedPinStore, { clock, counters, capacity }: SharedPinsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#counters = counters;
    this.#texts = new RecentEntries(capacity);
  }

  /** Remembers the name of a pin in memory. */
  keep(hash: string, text: string): void {
    this.#texts.set(hash, text);
  }

  /**
   * Stores a pin for other nodes. A session that is new here may be new at another node at the same time. In a long outage too many rows
   * wait: a lost pin is counted, and the turn continues.
   * @param known the pin that was in memory
   */
  write({ kind, text }: PinName, hash: string, pin: Pin, known: Pin | undefined): Promise<void> {
    if (OFTEN_NEW.has(kind)) this.#texts.set(hash, text);
    const mayDiffer = known ? known.account !== pin.account : kind === 'header';
    const row = { hash, ...pin, isSoft: SOFT.has(kind) };
    const written = mayDiffer && OFTEN_NEW.has(kind) ? this.#store.move(row) : this.#store.save(row);
    return written.catch(() => this.#counters.add('pins_lost'));
  }

  /** Notes that another node has moved a pin. @returns the name of the pin, if it is known */
  moved(hash: string): string | undefined {
    const text = this.#texts.get(hash);
    if (text !== undefined) this.#movedAt.set(text, this.#clock.now());
    return text;
  }

  /** Whether another node has moved the pin since a turn began. */
  isMovedSince(text: string, since: number): boolean {
    return (this.#movedAt.get(text) ?? 0) >= since;
  }
}
