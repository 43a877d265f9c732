// Token exchanges: a refresh token is marked as sent before it goes to its provider, so that no other node sends it while the answer is open.
import type { Driver, Guard } from '../driver.ts';
import type { CredentialRow, NewCredentialRow } from '../schema/rows.ts';
import { credentials } from '../schema/tables.ts';
import type { Writer } from '../writing/writer.ts';
import type { Lease } from './lease-verbs.ts';

/**
 * An exchange begins before its request is sent and ends with the answer. If its node dies, the exchange stays open, because the refresh
 * token may already be used.
 */
export interface ExchangeVerbs {
  /**
   * Begins the exchange of the refresh token in this row, under the lease of the refresh.
   * @returns false if the lease was lost, the row has changed, or an exchange of it is open
   */
  begin(row: Pick<CredentialRow, 'account' | 'sealed'>, lease: Lease): Promise<boolean>;
  /**
   * Replaces the used tokens, even after the lease was lost, because the new tokens are the only valid ones. Durable when it resolves.
   * @returns false if the exchange is no longer open, because another login was imported in the meantime
   */
  complete(row: NewCredentialRow, lease: Lease): Promise<boolean>;
  /** Ends the exchange without new tokens. Without a lease it ends the exchange of any process. */
  cancel(account: string, lease?: Lease): Promise<void>;
}

const BEGIN =
  'UPDATE credentials SET exchange_token = $1, exchange_at = $2 WHERE account = $3 AND exchange_token IS NULL AND sealed = $4 ' +
  'AND EXISTS (SELECT 1 FROM leases WHERE name = $5 AND token = $6 AND expires_at > $7)';

export function exchangeVerbs(driver: Driver, writer: Writer): ExchangeVerbs {
  return {
    async begin({ account, sealed }, { name, token }) {
      const now = driver.now();
      return (await driver.run(BEGIN, [token, now, account, sealed, name, token, now])) === 1;
    },
    complete: (row, { token }) => writer.saveGuarded(credentials, row, () => openExchange(row.account, token)),
    async cancel(account, lease) {
      const own = lease ? ' AND exchange_token = $2' : '';
      const sql = `UPDATE credentials SET exchange_token = NULL, exchange_at = NULL WHERE account = $1${own}`;
      await driver.run(sql, [account, ...(lease ? [lease.token] : [])]);
    },
  };
}

const openExchange = (account: string, token: number): Guard => ({
  sql: 'SELECT account FROM credentials WHERE account = $1 AND exchange_token = $2',
  values: [account, token],
});
