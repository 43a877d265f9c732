// The files of all Pools with their accounts. The store has all of them; memory has the recent ones for turns that name them (Q10, Q21).
import { type FileRow, type Store, StoreError } from '../../store/store.ts';
import { RecentEntries } from '../base/bytes/recent-entries.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';
import { Refusal } from '../turn/errors/refusal.ts';

/** The files in memory. They take about 2 MB. */
const CAPACITY = 5_000;

/** The longest wait for a row. The store writes it also after that. */
const SAVE_MS = 10_000;

export class Files {
  readonly #store: Store['files'];
  readonly #clock: Clock;
  readonly #recent = new RecentEntries<FileRow>(CAPACITY);

  constructor(store: Store['files'], clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Returns a promise if the file is not in memory, or if its expiry there has passed, because another process may have created or
   * finalised it.
   */
  find(pool: string, id: string): FileRow | undefined | Promise<FileRow | undefined> {
    const known = this.#recent.get(nameOf(pool, id));
    return known && !this.#isExpired(known) ? known : this.read(pool, id);
  }

  /** Reads the file from the store. @throws Refusal `server_is_overloaded` if it cannot be read (Q34) */
  async read(pool: string, id: string): Promise<FileRow | undefined> {
    const row = await this.#store.find(pool, id).catch(unreadable);
    if (row) this.#recent.set(nameOf(pool, id), row);
    return row;
  }

  /** @throws Refusal `server_is_overloaded` if the files cannot be read (Q34) */
  list(filter: Parameters<Store['files']['list']>[0]): Promise<readonly FileRow[]> {
    return this.#store.list(filter).catch(unreadable);
  }

  /**
   * Saves a file. It is durable when the promise resolves.
   * @throws Refusal `server_is_overloaded` if the store does not write it in time, as with a full disk
   */
  async save(row: FileRow): Promise<void> {
    const saved = await withDeadline(this.#store.save(row), this.#clock, SAVE_MS);
    if (saved === LATE) throw unavailable('The file cannot be recorded at the moment. Try again shortly.');
    this.#recent.set(nameOf(row.pool, row.id), row);
  }

  #isExpired({ expires_at }: FileRow): boolean {
    return expires_at !== null && expires_at <= this.#clock.now();
  }
}

function unreadable(thrown: unknown): never {
  if (!(thrown instanceof StoreError)) throw thrown;
  throw unavailable('The files of this Pool cannot be looked up at the moment. Try again shortly.');
}

const unavailable = (message: string): Refusal => new Refusal('server_is_overloaded', { message, retryAfterMs: 5_000 });

/** The name of a file in memory. The id of a Pool contains no line break. */
const nameOf = (pool: string, id: string): string => `${pool}\n${id}`;
