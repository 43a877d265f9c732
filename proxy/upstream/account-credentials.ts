// The credentials of accounts for dispatch: the headers of an attempt, and the steps after a refusal (Q9).
import type { AccountConfig } from '../turn/settings.ts';

/**
 * `renewed`: the same request may be sent again. `refused`: the account must log in again. `failed`: the token endpoint did not answer.
 * `challenged`: a network's guard answered instead of the endpoint.
 */
export type Renewal = 'renewed' | 'refused' | 'failed' | 'challenged';

/** The account's configured headers and its credential. */
export type AccountHeaders = Readonly<Record<string, string>>;

/** Thrown if the account has no credential for an attempt. */
export class CredentialUnavailable extends Error {
  readonly why: Exclude<Renewal, 'renewed'>;

  constructor(why: Exclude<Renewal, 'renewed'>) {
    super(why);
    this.why = why;
  }
}

/** Returns a CredentialUnavailable as a value, and throws any other error. */
export function asUnavailable(thrown: unknown): CredentialUnavailable {
  if (thrown instanceof CredentialUnavailable) return thrown;
  throw thrown;
}

/** The part of a configuration that has the accounts' static credentials. */
export interface StaticCredentials {
  /** The bearer of an account, or the value of its credential's header, by account id. */
  readonly bearers: ReadonlyMap<string, string>;
}

export interface AccountCredentials {
  /**
   * The headers of requests to the account. Returns a promise only if it waits for a credential; the promise rejects with
   * CredentialUnavailable.
   * @param bearer the static bearer of the account, or the value of its credential's header
   */
  headersFor(account: AccountConfig, bearer: string | undefined): AccountHeaders | Promise<AccountHeaders>;
  /** Handles an answer of 401 to a request with this Authorization. */
  refused(account: AccountConfig, authorization: string | undefined): Renewal | Promise<Renewal>;
  /** Imports a new login from the operator's file, if there is one. Called before the account counts as one that has to log in again. */
  reimported(account: AccountConfig): boolean | Promise<boolean>;
  /** The credential, which must not appear in an answer to a client. */
  secretOf(account: AccountConfig, bearer: string | undefined): string | undefined;
}
