// The files of all Pools: which account has each. The store is the truth; memory keeps the recent ones for turns that name them (Q10, Q21).
import { LRUCache } from 'lru-cache';
import type { FileRow, Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';

/** About 2 MB of memory when it is full. */
const CAPACITY = 5_000;

export class Files {
  readonly #store: Store['files'];
  readonly #clock: Clock;
  readonly #recent = new LRUCache<string, FileRow>({ max: CAPACITY });

  constructor(store: Store['files'], clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A promise where the file is not in memory, or only with its former expiry: another process may have created or finalised it. */
  find(pool: string, id: string): FileRow | undefined | Promise<FileRow | undefined> {
    const known = this.#recent.get(nameOf(pool, id));
    return known && !this.#isExpired(known) ? known : this.read(pool, id);
  }

  /** Reads the file from the store. */
  async read(pool: string, id: string): Promise<FileRow | undefined> {
    const row = await this.#store.find(pool, id);
    if (row) this.#recent.set(nameOf(pool, id), row);
    return row;
  }

  list(filter: Parameters<Store['files']['list']>[0]): Promise<readonly FileRow[]> {
    return this.#store.list(filter);
  }

  /** Durable once it resolves. */
  async save(row: FileRow): Promise<void> {
    await this.#store.save(row);
    this.#recent.set(nameOf(row.pool, row.id), row);
  }

  #isExpired({ expires_at }: FileRow): boolean {
    return expires_at !== null && expires_at <= this.#clock.now();
  }
}

/** No Pool's id contains a line break. */
const nameOf = (pool: string, id: string): string => `${pool}\n${id}`;
