// Asks accounts for their usage: those of which nobody heard for five minutes, and stale ones before a turn is refused (Q8).
import { hash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Counters } from '../../metrics.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Quota } from './quota.ts';
import { statedByRead } from './quota-statement.ts';

/** An account's answer to the usage read. */
export interface UsageAnswer {
  readonly status: number;
  /** The decoded JSON; anything at all where it was none. */
  readonly body: unknown;
}

export interface UsageReadsOptions {
  readonly clock: Clock;
  readonly quota: Quota;
  readonly counters: Counters;
  /** Rejects where no answer came. Bounds its size and its time itself. */
  readonly read: (account: string) => Promise<UsageAnswer>;
}

const EVERY_MS = 5 * 60_000;
/** Accounts are asked up to this much earlier, each by its own share, so that they are not all asked at once. */
const SPREAD_MS = 30_000;
/** An account that does not answer is asked less and less often. */
const LONGEST_MS = 40 * 60_000;
const AT_ONCE = 8;
/** How long a turn, or a client that asks for the Pool's usage, waits for an answer. */
const PATIENCE_MS = 2_000;
/** Before a refusal an account is asked at most once in this time. */
const AGAIN_MS = 60_000;

class Reader {
  readonly id: string;
  readonly address: string;
  readonly spread: number;
  askedAt = Number.NEGATIVE_INFINITY;
  failures = 0;
  /** While it is being asked, or waits for its turn to be. */
  asking: Promise<void> | undefined;
  cancel: () => void = () => undefined;

  constructor({ id, base_url }: AccountConfig) {
    this.id = id;
    this.address = base_url;
    this.spread = Number.parseInt(hash('sha256', id, 'hex').slice(0, 8), 16) % SPREAD_MS;
  }

  get every(): number {
    return Math.min(LONGEST_MS, EVERY_MS * 2 ** Math.max(0, this.failures - 1)) - this.spread;
  }
}

export class UsageReads {
  readonly #options: UsageReadsOptions;
  #readers: ReadonlyMap<string, Reader> = new Map();
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #stopped = false;

  constructor(options: UsageReadsOptions) {
    this.#options = options;
  }

  /** Takes the accounts of a configuration, after `quota` did; those of which nothing young is known are asked at once. */
  configure(accounts: readonly AccountConfig[]): void {
    const next = new Map<string, Reader>();
    for (const account of accounts) {
      const known = this.#readers.get(account.id);
      if (account.visible) next.set(account.id, known?.address === account.base_url ? known : new Reader(account));
    }
    for (const [id, reader] of this.#readers) if (next.get(id) !== reader) reader.cancel();
    this.#readers = next;
    for (const reader of next.values()) this.#arm(reader);
  }

  /** Resolves when these accounts are not being asked for the first time any more; at the latest after two seconds. */
  async known(accounts: readonly string[]): Promise<void> {
    const { quota } = this.#options;
    await this.#patiently(accounts.flatMap((id) => (Number.isFinite(quota.age(id)) ? [] : (this.#readers.get(id)?.asking ?? []))));
  }

  /**
   * Asks those of the accounts again of which only old word is there; undefined where there is none to ask. Whoever needs the same
   * account meanwhile shares the answer. Resolves at the latest after two seconds.
   */
  recheck(accounts: readonly string[]): Promise<void> | undefined {
    const { quota, clock } = this.#options;
    const asked = accounts.flatMap((id) => {
      const reader = this.#readers.get(id);
      if (!reader || !quota.isStale(id)) return [];
      return reader.asking ?? (clock.now() - reader.askedAt >= AGAIN_MS ? this.#ask(reader, 'first') : []);
    });
    return asked.length > 0 ? this.#patiently(asked) : undefined;
  }

  /** No timer and no further read from here on. */
  stop(): void {
    this.#stopped = true;
    for (const { cancel } of this.#readers.values()) cancel();
    for (const go of this.#waiting.splice(0)) go();
  }

  /** One timer an account, for when it is due; an answer of its turns meanwhile puts that off. */
  #arm(reader: Reader): void {
    reader.cancel();
    if (this.#stopped || reader.asking || this.#readers.get(reader.id) !== reader) return;
    const { clock, quota } = this.#options;
    const since = Math.min(quota.age(reader.id), clock.now() - reader.askedAt);
    const wait = reader.every - since;
    if (wait <= 0) void this.#ask(reader, 'last');
    else reader.cancel = clock.after(wait, () => this.#arm(reader));
  }

  #ask(reader: Reader, place: 'first' | 'last'): Promise<void> {
    reader.cancel();
    reader.asking = this.#askInTurn(reader, place);
    return reader.asking;
  }

  async #askInTurn(reader: Reader, place: 'first' | 'last'): Promise<void> {
    await this.#turn(place);
    if (!this.#stopped) await this.#read(reader);
    reader.asking = undefined;
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
    this.#arm(reader);
  }

  async #read(reader: Reader): Promise<void> {
    const { clock, quota, counters, read } = this.#options;
    counters.add('quota_reads');
    reader.askedAt = clock.now();
    try {
      const { status, body } = await read(reader.id);
      const statement = status < 300 ? statedByRead(body, clock.now()) : undefined;
      reader.failures = statement ? 0 : reader.failures + 1;
      if (!statement) counters.add('quota_read_failures');
      // An account that moved, or left, has nothing to say any more.
      else if (this.#readers.get(reader.id) === reader) quota.hear(reader.id, statement);
    } catch {
      reader.failures += 1;
      counters.add('quota_read_failures');
    }
  }

  /** Resolves when one more may be asked. Who stands before a refusal goes first. */
  #turn(place: 'first' | 'last'): Promise<void> {
    if (this.#running < AT_ONCE) {
      this.#running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      if (place === 'first') this.#waiting.unshift(resolve);
      else this.#waiting.push(resolve);
    });
  }

  async #patiently(asked: readonly Promise<void>[]): Promise<void> {
    if (asked.length === 0) return;
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(PATIENCE_MS, late.resolve);
    await Promise.race([Promise.all(asked), late.promise]);
    cancel();
  }
}
