// Reads the usage of accounts every five minutes if there is no other evidence, and before a turn is refused because of stale evidence
// (Q8).
import { hash } from 'node:crypto';
import type { Counters } from '../../base/process/metrics.ts';
import { type Clock, withDeadline } from '../../base/time/clock.ts';
import type { ExclusiveWork, HeldLease } from '../../nodes/exclusive-work.ts';
import type { RefusedRead } from '../../turn/errors/read-refusal.ts';
import type { QuotaStatement } from '../../turn/provider/quota-statement.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { elapsed, type Quota } from './quota.ts';
import { SAME_MOMENT_MS } from './quota-evidence.ts';

/** An account's answer to the usage read. Its body has any type if it was not JSON. */
export type UsageAnswer = RefusedRead;

export interface UsageReadsOptions {
  readonly clock: Clock;
  readonly quota: Quota;
  readonly counters: Counters;
  /** Reads the usage. Rejects if no answer came. It limits size and time itself. */
  readonly read: (account: string) => Promise<UsageAnswer>;
  /** Parses an answer; undefined if it states nothing. */
  readonly parse: (account: string, body: unknown, now: number) => QuotaStatement | undefined;
  /** Present if there are several nodes: one of them reads an account, and the others take over what it stores (Q34). */
  readonly sharing?: UsageSharing | undefined;
}

export interface UsageSharing {
  readonly exclusive: ExclusiveWork;
  /** Takes over the stored evidence of an account. */
  readonly refresh: (account: string) => Promise<unknown>;
  /** Resolves when the published evidence of an account is stored. */
  readonly stored: (account: string) => Promise<unknown>;
}

const INTERVAL_MS = 5 * 60_000;
/** Each account is read earlier by its own offset of up to this much, so that reads are spread over time. */
const SPREAD_MS = 30_000;
/** The longest interval. The interval doubles while an account does not answer. */
const LONGEST_INTERVAL_MS = 40 * 60_000;
const CONCURRENCY = 8;
/** The longest time that a turn waits for reads, or a client that requests the Pool's usage. */
const WAIT_MS = 2_000;
/** The shortest time between two reads of one account because of refusals. */
const RECHECK_INTERVAL_MS = 60_000;
/** If another node's evidence is younger than this, the account is not read. */
const ENOUGH_MS = 60_000;
/** How long to wait for a read of another node. Longer than such a read takes. */
const OTHER_NODE_MS = 15_000;

/** `urgent`: a turn would otherwise be refused. */
type Priority = 'urgent' | 'scheduled';

/** The reads of one account. */
class Reader {
  readonly id: string;
  readonly address: string;
  readonly offset: number;
  readAt = Number.NEGATIVE_INFINITY;
  failures = 0;
  /** The read that is running or queued. */
  reading: Promise<void> | undefined;
  cancelTimer: () => void = () => undefined;

  constructor({ id, base_url }: AccountConfig) {
    this.id = id;
    this.address = base_url;
    this.offset = Number.parseInt(hash('sha256', id, 'hex').slice(0, 8), 16) % SPREAD_MS;
  }

  get interval(): number {
    return Math.min(LONGEST_INTERVAL_MS, INTERVAL_MS * 2 ** Math.max(0, this.failures - 1)) - this.offset;
  }
}

export class UsageReads {
  readonly #options: UsageReadsOptions;
  #readers: ReadonlyMap<string, Reader> = new Map();
  #running = 0;
  readonly #queue: (() => void)[] = [];
  #stopped = false;

  constructor(options: UsageReadsOptions) {
    this.#options = options;
  }

  /** Applies the accounts of a configuration, after `quota` did. Accounts without fresh evidence are read at once. */
  configure(accounts: readonly AccountConfig[]): void {
    const next = new Map<string, Reader>();
    for (const account of accounts) {
      const known = this.#readers.get(account.id);
      if (account.visible) next.set(account.id, known?.address === account.base_url ? known : new Reader(account));
    }
    for (const [id, reader] of this.#readers) if (next.get(id) !== reader) reader.cancelTimer();
    this.#readers = next;
    for (const reader of next.values()) this.#schedule(reader);
  }

  /** Resolves when the first reads of these accounts have ended, or after two seconds. */
  async firstReads(accounts: readonly string[]): Promise<void> {
    const { quota } = this.#options;
    await this.#waitFor(accounts.flatMap((id) => (Number.isFinite(quota.age(id)) ? [] : (this.#readers.get(id)?.reading ?? []))));
  }

  /**
   * Reads the accounts with stale evidence; undefined if there is none to read. Concurrent callers share the reads. Resolves after two
   * seconds at the latest.
   */
  recheck(accounts: readonly string[]): Promise<void> | undefined {
    const { quota, clock } = this.#options;
    const reads = accounts.flatMap((id) => {
      const reader = this.#readers.get(id);
      if (!reader || !quota.isStale(id)) return [];
      return reader.reading ?? (clock.now() - reader.readAt >= RECHECK_INTERVAL_MS ? this.#start(reader, 'urgent') : []);
    });
    return reads.length > 0 ? this.#waitFor(reads) : undefined;
  }

  /** Reads the account after a new login. Resolves when it has been read; at once if it is not read. */
  async readNow(account: string): Promise<void> {
    const reader = this.#readers.get(account);
    if (!reader || this.#stopped) return;
    // A read in progress uses the previous login.
    await reader.reading;
    await this.#start(reader, 'urgent');
  }

  /** Reads the account after its current statement, because an earlier read would not count against it. */
  readLater(account: string): void {
    const reader = this.#readers.get(account);
    if (!reader || this.#stopped) return;
    // A read in progress may have begun before the statement.
    if (reader.reading) {
      void reader.reading.then(() => this.readLater(account));
      return;
    }
    reader.cancelTimer();
    reader.cancelTimer = this.#options.clock.after(SAME_MOMENT_MS, () => void this.#start(reader, 'scheduled'));
  }

  /** Stops all timers and starts no further read. */
  stop(): void {
    this.#stopped = true;
    for (const { cancelTimer } of this.#readers.values()) cancelTimer();
    for (const go of this.#queue.splice(0)) go();
  }

  /** Sets a timer for the account's next read. A reply of the account before that postpones it. */
  #schedule(reader: Reader): void {
    reader.cancelTimer();
    if (this.#stopped || reader.reading || this.#readers.get(reader.id) !== reader) return;
    const { clock, quota } = this.#options;
    const age = Math.min(quota.age(reader.id), elapsed(reader.readAt, clock.now()));
    const wait = reader.interval - age;
    if (wait <= 0) void this.#start(reader, 'scheduled');
    else reader.cancelTimer = clock.after(wait, () => this.#schedule(reader));
  }

  #start(reader: Reader, priority: Priority): Promise<void> {
    reader.cancelTimer();
    reader.reading = this.#readInTurn(reader, priority);
    return reader.reading;
  }

  async #readInTurn(reader: Reader, priority: Priority): Promise<void> {
    await this.#slot(priority);
    if (!this.#stopped) await this.#readOrTakeOver(reader);
    reader.reading = undefined;
    const next = this.#queue.shift();
    if (next) next();
    else this.#running -= 1;
    this.#schedule(reader);
  }

  async #readOrTakeOver(reader: Reader): Promise<void> {
    const { sharing, clock, quota } = this.#options;
    if (!sharing) return this.#read(reader, undefined);
    const { id } = reader;
    reader.readAt = clock.now();
    await sharing.exclusive.run({
      name: `usage/${id}`,
      waitMs: OTHER_NODE_MS,
      found: async () => {
        await sharing.refresh(id);
        return quota.age(id) < ENOUGH_MS ? true : undefined;
      },
      work: async (held) => {
        await this.#read(reader, held);
        await sharing.stored(id);
        return true;
      },
    });
  }

  /** @param held the lease under which the result of the read is stored for the other nodes */
  async #read(reader: Reader, held: HeldLease | undefined): Promise<void> {
    const { clock, quota, counters, read, parse } = this.#options;
    counters.add('quota_reads');
    reader.readAt = clock.now();
    try {
      const answer = await read(reader.id);
      const isAnswered = answer.status < 300;
      const statement = isAnswered ? parse(reader.id, answer.body, clock.now()) : undefined;
      reader.failures = statement ? 0 : reader.failures + 1;
      if (!statement) counters.add('quota_read_failures');
      // The account may have been removed, or may have changed its address, since the read began.
      else if (this.#readers.get(reader.id) === reader && held?.isLost !== true) {
        quota.record(reader.id, statement);
        if (held) quota.publish(reader.id, held.lease);
      }
    } catch {
      reader.failures += 1;
      counters.add('quota_read_failures');
    }
  }

  /** Waits until fewer than the permitted number of reads are running. */
  #slot(priority: Priority): Promise<void> {
    if (this.#running < CONCURRENCY) {
      this.#running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      if (priority === 'urgent') this.#queue.unshift(resolve);
      else this.#queue.push(resolve);
    });
  }

  async #waitFor(reads: readonly Promise<void>[]): Promise<void> {
    if (reads.length > 0) await withDeadline(Promise.all(reads), this.#options.clock, WAIT_MS);
  }
}
