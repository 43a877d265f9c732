// GET and POST /account/login?id=: the login that an account has, and another one that an operator's command obtained (Q9, S9).
import { withDeadline } from '../base/time/clock.ts';
import type { Config } from '../config/config.ts';
import type { AccountConfig, OauthCredential } from '../turn/settings.ts';
import { identityOf } from '../upstream/credentials/login/identity.ts';
import type { LoginOrder, StoreLoginResult } from '../upstream/credentials/login/store-login.ts';
import { loginRefusal } from '../upstream/credentials/login/store-refusal.ts';
import { SEALED, type TokenVault } from '../upstream/credentials/token-vault.ts';
import { tokensIn } from '../upstream/credentials/tokens.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import { auditWait } from './audit-wait.ts';
import { type ActionRefusal, isLoginRequest, type LoginReply, type LoginRequest, type LoginStateReply } from './replies.ts';

/** The longest wait for the first reads of a new login. */
const READS_MS = 12_000;

/** What the login of a command has to know before it begins. */
export async function loginStateAnswer({ loaded, services: { credentials } }: AdminTarget, query: URLSearchParams): Promise<AdminAnswer> {
  const id = query.get('id') ?? '';
  const account = loaded.config.accounts.find((one) => one.id === id);
  const oauth = account && oauthOf(account);
  const [found, at] = await Promise.all([credentials.vault.find(id), credentials.vault.storedAt(id)]);
  const addresses = oauth && {
    token_url: credentials.addressOf(id, oauth.token_url, 'token_url'),
    device_url: oauth.device_url === undefined ? null : credentials.addressOf(id, oauth.device_url, 'device_url'),
    authorize_url: oauth.authorize_url === undefined ? null : credentials.addressOf(id, oauth.authorize_url, 'authorize_url'),
  };
  return adminJson(200, {
    account: id,
    configured: oauth !== undefined,
    addresses: addresses ?? null,
    login: knownLogin(found, { at, oauth }),
  } satisfies LoginStateReply);
}

/** @param at when it was stored */
export function knownLogin(
  found: Awaited<ReturnType<TokenVault['find']>>,
  { at, oauth }: { readonly at: number | undefined; readonly oauth: OauthCredential | undefined },
): LoginStateReply['login'] {
  if (found === undefined || found === SEALED) return null;
  return { name: found.imported, at: at ?? 0, identity: identityOf(found.tokens, oauth?.identity_claim) ?? null };
}

/** Stores the login and uses it at once; its quota and its models are read before the answer. */
export async function loginAnswer(gateway: AdminTarget, query: URLSearchParams, body: unknown): Promise<AdminAnswer> {
  const { loaded, services } = gateway;
  const id = query.get('id') ?? '';
  const account = loaded.config.accounts.find((one) => one.id === id);
  if (account && !oauthOf(account)) return refusal(409, `the credential of account '${id}' is no login: it has no oauth section`);
  const order = isLoginRequest(body) ? loginOrder(loaded.config, id, { request: body, now: services.clock.now() }) : undefined;
  if (!order) return refusal(400, 'the body has no tokens of a login');
  const result = await services.credentials.replaceLogin(id, order);
  if (result === 'failed') return refusal(409, `a refresh of account '${id}' has not ended yet; run the command again`);
  if (result.kind !== 'stored' && result.kind !== 'known') return refusal(409, loginRefusal(id, result));
  return adminJson(200, await replyOf(gateway, { id, account, result }));
}

/** Undefined where the request has no tokens. @param now Unix milliseconds */
export function loginOrder(
  { accounts }: Pick<Config, 'accounts'>,
  id: string,
  { request, now }: { readonly request: LoginRequest; readonly now: number },
): LoginOrder | undefined {
  const tokens = tokensIn(request.tokens, now);
  const account = accounts.find((one) => one.id === id);
  return (
    tokens && {
      tokens: { ...tokens, expiresAt: tokens.expiresAt ?? request.expires_at },
      by: request.by,
      former: request.former,
      anotherUser: request.another_user,
      claim: (account && oauthOf(account)?.identity_claim) ?? request.identity_claim,
      accounts: accounts.map((one) => one.id),
    }
  );
}

interface Taken {
  readonly id: string;
  /** Undefined for one that the configuration does not have yet. */
  readonly account: AccountConfig | undefined;
  readonly result: Extract<StoreLoginResult, { readonly kind: 'stored' | 'known' }>;
}

async function replyOf(gateway: AdminTarget, { id, account, result }: Taken): Promise<LoginReply> {
  const { services } = gateway;
  const stored = result.kind === 'stored';
  if (stored) {
    // A refusal and a cooldown concern the former login (Q9).
    services.capacity.health.reset(id);
    await audited(gateway, id);
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

async function audited(gateway: AdminTarget, target: string): Promise<void> {
  const { clock, log, store } = gateway.services;
  const fields = [{ path: `accounts[${target}].credential`, from: '(changed)', to: '(changed)' }];
  const row = { at: gateway.wallTime(), actor: 'command', action: 'account.login', target, pool: null, fields };
  const lost = (): void => log.error('audit_failed', { actor: row.actor, action: row.action });
  await auditWait(store.audit.record(row).catch(lost), clock);
}

export const oauthOf = ({ credential }: AccountConfig): OauthCredential | undefined =>
  credential && 'oauth' in credential ? credential.oauth : undefined;

const refusal = (status: 400 | 409, error: string): AdminAnswer => adminJson(status, { error } satisfies ActionRefusal);
