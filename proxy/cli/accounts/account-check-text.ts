// What a check of an account found, in lines for operators.
import { READ_FAILURES } from '../../doctor/gateway-checks.ts';
import type { AccountCheck } from '../../gateway/account-check.ts';
import { counted } from '../command.ts';

/** @param check undefined where the account could not be asked */
export function checkText(account: string, check: AccountCheck | undefined): string {
  if (!check) return `account '${account}' was not asked`;
  if ('models' in check) {
    const shown = check.models.slice(0, 5).join(', ');
    return `account '${account}' answers: ${counted(check.models.length, 'model')}${shown === '' ? '' : ` (${shown}${check.models.length > 5 ? ', …' : ''})`}`;
  }
  const [cause, advice] = READ_FAILURES[check.failure] ?? [check.failure, 'Check the account.'];
  const status = check.status === undefined ? '' : ` (status ${check.status})`;
  return `the models of account '${account}' cannot be read: ${cause}${status}. ${advice}`;
}
