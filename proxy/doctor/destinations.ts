// The addresses that the gateway connects to: of accounts, and of the token endpoints of their credentials, each once.
import { isRehearsal } from '../config/checks/addresses.ts';
import type { Config } from '../config/config.ts';

export interface Destination {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Ids of the accounts that use it, each as people read it. */
  readonly users: readonly string[];
}

/** Simulated accounts have none. */
export function destinations({ accounts }: Pick<Config, 'accounts'>): readonly Destination[] {
  const uses = accounts.flatMap(({ id, base_url, credential }) => {
    if (isRehearsal(base_url)) return [];
    const own = { origin: new URL(base_url).origin, user: id };
    if (!credential || 'bearer' in credential) return [own];
    return [own, { origin: new URL(credential.oauth.token_url).origin, user: `login of ${id}` }];
  });
  const byOrigin = Map.groupBy(uses, ({ origin }) => origin);
  return [...byOrigin].map(([origin, its]) => ({ origin, users: [...new Set(its.map(({ user }) => user))] }));
}
