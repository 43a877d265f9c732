// What follows when the login of an account is refused, missing, imported or not refreshed: the health of the account, and rows of the audit
// log (Q5, Q9).
import type { AuditRow, Store } from '../../store/store.ts';
import type { Health } from '../accounts/health/health.ts';
import type { Log } from '../base/process/log.ts';
import type { Clock } from '../base/time/clock.ts';
import { unsentFailure } from '../turn/errors/failure.ts';
import type { OauthTools } from '../upstream/credentials/oauth-account.ts';

export interface CredentialEventTools {
  readonly health: Health;
  readonly audit: Store['audit'];
  readonly clock: Pick<Clock, 'wallTime'>;
  readonly log: Log;
}

type CredentialEvents = Pick<OauthTools, 'onRefused' | 'onNoLogin' | 'onLogin' | 'onImported' | 'onRefreshFailed'>;

/** Also audits that an account needs another login. */
export function credentialEvents({ health, audit, clock, log }: CredentialEventTools): CredentialEvents {
  const record = (action: string, target: string, fields: AuditRow['fields'], actor = 'gateway'): void => {
    const row = { at: clock.wallTime(), actor, action, target, pool: null, fields };
    void audit.record(row).catch(() => log.error('audit_failed', { actor, action }));
  };
  health.onReauthRequired((account) => {
    record('credential.refused', account, [{ path: `accounts[${account}].health`, from: 'active', to: 'reauth_required' }]);
  });
  return {
    // For health this is like a refused turn (Q5).
    onRefused: (account) => health.end(health.begin(account, '(credential)'), unsentFailure('refused')),
    onNoLogin: (account) => health.loginMissing(account),
    onLogin: (account) => health.loginFound(account),
    // An operator has logged the account in again. This is an operator action (S9), which clears the account's state (Q9).
    onImported: (account) => {
      health.reset(account);
      const changed = { path: `accounts[${account}].credential`, from: '(changed)', to: '(changed)' };
      record('credential.import', account, [changed], 'file');
    },
    onRefreshFailed: (account) => record('credential.refresh_failed', account, []),
  };
}
