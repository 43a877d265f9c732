// The stores of several processes on one database, with a clock that the test moves.
import type { TestContext } from 'node:test';
import { openStore, type Store } from '../../store/store.ts';
import type { Adapter } from './adapters.ts';

export interface Time {
  /** The time in Unix milliseconds. */
  now: number;
}

export async function openStores(
  adapter: Adapter,
  context: TestContext,
  count: number,
): Promise<{ readonly url: string; readonly time: Time; readonly stores: readonly Store[] }> {
  const url = await adapter.fresh(context);
  const time = { now: 1_000_000 };
  const stores: Store[] = [];
  for (let i = 0; i < count; i++) {
    const store = await openStore(url, { clock: () => time.now, writer: `writer-${i}` });
    context.after(() => store.close());
    stores.push(store);
  }
  return { url, time, stores };
}
