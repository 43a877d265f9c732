// The prompt cache key of a turn as API accounts get it: a digest, so that the keys of a gateway share no cache at one account (AA38).
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ProviderDigest, ProviderServices } from '../provider-services.ts';

/** Providers take at most 64 characters; a digest has 43. */
export class CacheKeys {
  readonly #digest: ProviderDigest;

  constructor({ key }: Pick<ProviderServices, 'key'>) {
    this.#digest = key.digest('prompt cache key');
  }

  /** @param stated the client's own, or the one that its surface made */
  of(stated: string, { pool, key }: Pick<LiveTurn, 'pool' | 'key'>): string {
    return this.#digest.of(JSON.stringify([pool.id, key.id, stated]));
  }
}
