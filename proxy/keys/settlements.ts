// Settlements that wait to be written. They are written promptly, many in one transaction, and repeated until the store has them (Q34).
import { addUsageSums } from '../../store/schema/usage-sums.ts';
import { type LimitVerbs, type Settlement, StoreError, type UsageRow } from '../../store/store.ts';
import { type Clock, withDeadline } from '../base/time/clock.ts';

/** The most settlements in one transaction. */
const BATCH = 256;
/**
 * The time between two batches, because a transaction costs the node as much as many settlements. The first settlement after a pause is
 * written at once.
 */
const GATHER_MS = 25;
/** The first and the longest pause after a failure. */
const PAUSE_MS = { first: 50, longest: 2_000 } as const;
/** How often a process that settles deletes rows that are too old to count. */
const TIDY_MS = 60_000;
/** When the store is known to answer again, the next try follows at once. Further early tries are at least this far apart. */
const HURRY_MS = 50;
/** A new settlement is in the batch that is being written, or in the next one. */
const BATCHES_AHEAD = 2;
/** The longest that settlements wait for a read of usage. */
const READ_MS = 2_000;

export class Settlements {
  readonly #limits: Pick<LimitVerbs, 'settle' | 'tidy'>;
  readonly #clock: Clock;
  /** Oldest first. The first ones may be in a transaction already. */
  #waiting: Settlement[] = [];
  #work: Promise<void> | undefined;
  #batch: Promise<void> | undefined;
  /** A read of usage that the next batch waits for. */
  #reading: Promise<unknown> | undefined;
  #endPause: () => void = () => undefined;
  #pauseMs: number = PAUSE_MS.first;
  #hurriedAt = Number.NEGATIVE_INFINITY;
  /** Resolves when the current or the next batch has been tried, even if it failed. */
  #tried = Promise.withResolvers<void>();
  /** The pause in which settlements are gathered for the next batch. */
  #gathering: Promise<void> | undefined;
  #endGathering: () => void = () => undefined;
  #closing = false;
  #failing = false;
  #tidiedAt = Number.NEGATIVE_INFINITY;
  #rejected = 0;

  constructor(limits: Pick<LimitVerbs, 'settle' | 'tidy'>, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The number of settlements that the store may not have yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** The number of settlements that the store can never accept. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Adds a settlement. Settlements are never dropped: granted turns are settled, however long the store is unreachable. */
  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#work ??= this.#write();
  }

  /**
   * Whether a settlement of the key waits that may make room for a turn. During an outage, when many wait: whether any settlement waits.
   */
  isWaiting(key: string): boolean {
    return this.#failing ? this.#waiting.length > 0 : this.#waiting.some((settlement) => settlement.key === key);
  }

  /** Resolves when the waiting settlements are written, or when their write has failed. Call it if the store answers. */
  async written(): Promise<void> {
    for (let i = 0; i < BATCHES_AHEAD && this.#work; i++) {
      this.hurry();
      this.#endGathering();
      await this.#tried.promise;
      if (this.#failing) return;
    }
  }

  /**
   * Makes the next try at once, because the store answers again. After an outage, turns that ended long ago must not block new ones until a
   * pause is over.
   */
  hurry(): void {
    const now = performance.now();
    if (!this.#failing || now - this.#hurriedAt < HURRY_MS) return;
    this.#hurriedAt = now;
    this.#pauseMs = PAUSE_MS.first;
    this.#endPause();
  }

  /**
   * Runs a read while no batch is written.
   * @param read asks whether that still holds when it has its answer, because settlements do not wait for ever
   */
  async whileStill(read: (isStill: () => boolean) => Promise<void>): Promise<void> {
    let still = true;
    const reading = (async () => {
      await this.#reading;
      await this.#batch?.catch(() => undefined);
      await read(() => still);
    })();
    const bounded = withDeadline(
      reading.catch(() => undefined),
      this.#clock,
      READ_MS,
    ).then(() => {
      still = false;
      if (this.#reading === bounded) this.#reading = undefined;
    });
    this.#reading = bounded;
    return reading;
  }

  /** A stored row of usage plus the usage that waits here. Exact while no batch is written. */
  withWaiting(row: UsageRow): UsageRow {
    const sum = { ...row };
    for (const { used } of this.#waiting) {
      if (used && used.key_id === row.key_id && used.pool === row.pool && used.day === row.day) addUsageSums(sum, used);
    }
    return sum;
  }

  /** Writes what waits. What is left at the deadline is lost. */
  async close(deadlineMs: number): Promise<void> {
    this.#endPause();
    this.#endGathering();
    const cancel = this.#clock.after(deadlineMs, () => {
      this.#closing = true;
      this.#endPause();
    });
    await this.#work;
    cancel();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closing) {
      while (this.#reading) await this.#reading;
      const began = performance.now();
      this.#batch = this.#settle(this.#waiting.slice(0, BATCH));
      try {
        await this.#batch;
        this.#failing = false;
        this.#pauseMs = PAUSE_MS.first;
        this.#endTry();
        this.#tidy();
        this.#gathering = this.#gather(began + GATHER_MS - performance.now());
        await this.#gathering;
      } catch {
        this.#failing = true;
        this.#endTry();
        const pause = this.#pauseMs;
        this.#pauseMs = Math.min(pause * 2, PAUSE_MS.longest);
        await this.#pause(pause);
      }
    }
    this.#batch = undefined;
    this.#work = undefined;
    this.#endTry();
  }

  #endTry(): void {
    this.#tried.resolve();
    this.#tried = Promise.withResolvers();
  }

  /** Writes a batch. If the store cannot accept one of its settlements, it is halved until that one is alone. */
  async #settle(batch: readonly Settlement[]): Promise<void> {
    try {
      await this.#limits.settle(batch);
    } catch (error) {
      // If only the answer was lost, the same settlements are written again, and count once.
      if (!(error instanceof StoreError && error.code === 'bad_row')) throw error;
      if (batch.length > 1) {
        const middle = batch.length >> 1;
        await this.#settle(batch.slice(0, middle));
        await this.#settle(batch.slice(middle));
        return;
      }
      this.#rejected += 1;
    }
    this.#waiting.splice(0, batch.length);
  }

  /** Deletes rows that are too old to count. After a failure they are left for the next time. */
  #tidy(): void {
    const now = this.#clock.now();
    if (now - this.#tidiedAt < TIDY_MS) return;
    this.#tidiedAt = now;
    this.#limits.tidy().catch(() => undefined);
  }

  /** Uses the machine's clock, because the pause limits the cost of work. */
  async #gather(ms: number): Promise<void> {
    if (ms <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#endGathering = resolve;
    await promise;
    clearTimeout(timer);
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(ms, resolve);
    this.#endPause = () => {
      cancel();
      resolve();
    };
    return promise;
  }
}
