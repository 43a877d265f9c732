// Stores a new login of an account, and answers with the result of its first reads (Q9, S9).
import { withDeadline } from '../../../base/time/clock.ts';
import type { AccountConfig } from '../../../turn/settings.ts';
import type { LoginOrder, StoreLoginResult } from '../../../upstream/credentials/login/store-login.ts';
import { loginRefusal } from '../../../upstream/credentials/login/store-refusal.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal } from '../../api/endpoint.ts';
import type { LoginReply } from '../../replies/account-replies.ts';
import { auditWait } from '../audit-wait.ts';

/** The longest wait for the first reads of a new login. */
const READS_MS = 12_000;

/** Stores a login, and reads the quota and the models of its account. @throws ApiRefusal with the reason if it is not stored */
export async function replaceLogin(
  gateway: AdminTarget,
  { id, order, actor }: { readonly id: string; readonly order: LoginOrder; readonly actor: string },
): Promise<LoginReply> {
  const { loaded, services } = gateway;
  const result = await services.credentials.replaceLogin(id, order);
  if (result === 'failed') throw new ApiRefusal(409, `a refresh of account '${id}' has not ended yet; try again`);
  if (result.kind !== 'stored' && result.kind !== 'known') throw new ApiRefusal(409, loginRefusal(id, result));
  const account = loaded.config.accounts.find((one) => one.id === id);
  return replyOf(gateway, { id, account, result, actor });
}

interface StoredLogin {
  readonly id: string;
  /** Undefined for an account that is not in the configuration yet. */
  readonly account: AccountConfig | undefined;
  readonly result: Extract<StoreLoginResult, { readonly kind: 'stored' | 'known' }>;
  readonly actor: string;
}

async function replyOf(gateway: AdminTarget, { id, account, result, actor }: StoredLogin): Promise<LoginReply> {
  const { services } = gateway;
  const stored = result.kind === 'stored';
  if (stored) {
    // The recorded refusal or cooldown concerns the former login (Q9).
    services.capacity.health.reset(id);
    await audited(gateway, actor, id);
  }
  const reads = account ? [services.catalog.readNow(id), services.usage.readNow(id)] : [];
  await withDeadline(Promise.allSettled(reads), services.clock, READS_MS);
  const list = services.catalog.accounts.status().find((one) => one.account === id);
  const quota = services.usage.quota.status().find((one) => one.account === id);
  return {
    account: id,
    stored,
    identity: result.identity ?? null,
    models: list && list.failure === undefined ? list.models : null,
    failure: list?.failure ?? null,
    quota: (quota?.windows ?? []).map(({ class: window, used_percent }) => ({ window, used_percent })),
  };
}

async function audited(gateway: AdminTarget, actor: string, target: string): Promise<void> {
  const { clock, log, store } = gateway.services;
  const fields = [{ path: `accounts[${target}].credential`, from: '(changed)', to: '(changed)' }];
  const row = { at: gateway.wallTime(), actor, action: 'account.login', target, pool: null, fields };
  const lost = (): void => log.error('audit_failed', { actor: row.actor, action: row.action });
  await auditWait(store.audit.record(row).catch(lost), clock);
}
