// The prompt cache key of a turn as API accounts get it. It is a digest, so that turns of different keys share no cache at an account
// (AA38).
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ProviderDigest, ProviderServices } from '../provider-services.ts';

/** A digest has 43 characters, and providers take at most 64. */
export class CacheKeys {
  readonly #digest: ProviderDigest;

  constructor({ key }: Pick<ProviderServices, 'key'>) {
    this.#digest = key.digest('prompt cache key');
  }

  /** @param stated the client's own key, or the one that its surface made */
  of(stated: string, { pool, key }: Pick<LiveTurn, 'pool' | 'key'>): string {
    return this.#digest.of(JSON.stringify([pool.id, key.id, stated]));
  }
}
