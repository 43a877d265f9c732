// What dispatch asks of the accounts' credentials when one was refused (Q9).
import type { AccountConfig } from '../config/config.ts';

/** `renewed`: the same request may be sent once more. `refused`: the account must log in again. `failed`: nobody could be asked. */
export type Renewal = 'renewed' | 'refused' | 'failed';

export interface Renewing {
  /** The account answered 401 to a request with this Authorization. */
  refused(account: AccountConfig, authorization: string | undefined): Renewal | Promise<Renewal>;
}

/** Nothing but static bearers: what is refused stays refused. */
export const NO_RENEWAL: Renewing = { refused: () => 'refused' };
