// What dispatch asks of the accounts' credentials: headers for an attempt, and what to do when they were refused (Q9).
import type { LoadedConfig } from '../config/config.ts';
import type { AccountConfig } from '../turn/settings.ts';

/** `renewed`: the same request may be sent once more. `refused`: the account must log in again. `failed`: nobody could be asked. */
export type Renewal = 'renewed' | 'refused' | 'failed';

/** An account's own headers and its credential. */
export type OwnHeaders = Readonly<Record<string, string>>;

/** No headers could be had for an attempt. */
export class CredentialUnavailable extends Error {
  readonly why: Exclude<Renewal, 'renewed'>;

  constructor(why: Exclude<Renewal, 'renewed'>) {
    super(why);
    this.why = why;
  }
}

/** What a promise of headers was rejected with, where that is why; anything else goes on. */
export function unavailable(thrown: unknown): CredentialUnavailable {
  if (thrown instanceof CredentialUnavailable) return thrown;
  throw thrown;
}

export interface Renewing {
  /** A promise only where the account waits for a credential; it rejects with CredentialUnavailable. */
  headersFor(account: AccountConfig, loaded: LoadedConfig): OwnHeaders | Promise<OwnHeaders>;
  /** The account answered 401 to a request with this Authorization. */
  refused(account: AccountConfig, authorization: string | undefined): Renewal | Promise<Renewal>;
  /** Before the account counts as one that must log in: whether its operator has done that already. */
  reimported(account: AccountConfig): boolean | Promise<boolean>;
}
