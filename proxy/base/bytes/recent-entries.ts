// The entries of a map that were used last, at most a number of them. `LRUCache` with `max` allocates room for all of them at once, which for
// the caches of a gateway that has served nothing took a sixth of its start; this grows with its entries.
import { LRUCache } from 'lru-cache';

export class RecentEntries<Value extends object | string | number | boolean> extends LRUCache<string, Value> {
  /** @param most entries; the one that was used longest ago is dropped for another */
  constructor(most: number) {
    super({ maxSize: most, sizeCalculation: () => 1 });
  }
}
