// GET and POST /api/accounts/{id}/login: the login that an account has, and another one that an operator obtained (Q9, S9).
import { withDeadline } from '../../base/time/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AccountConfig, OauthCredential } from '../../turn/settings.ts';
import { credentialAdvice } from '../../upstream/credentials/credential-advice.ts';
import { identityOf } from '../../upstream/credentials/login/identity.ts';
import type { LoginWay } from '../../upstream/credentials/login/login-run.ts';
import type { LoginOrder, StoreLoginResult } from '../../upstream/credentials/login/store-login.ts';
import { loginRefusal } from '../../upstream/credentials/login/store-refusal.ts';
import { SEALED, type TokenVault } from '../../upstream/credentials/token-vault.ts';
import { tokensIn } from '../../upstream/credentials/tokens.ts';
import type { Asker } from '../access/asker.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { LOGIN, LOGIN_REQUEST, LOGIN_STATE, type LoginReply, type LoginRequest, type LoginStateReply } from '../replies/account-replies.ts';
import { checkAccount } from './account-for.ts';
import { auditWait } from './audit-wait.ts';

/** The longest wait for the first reads of a new login. */
const READS_MS = 12_000;

export const accountLogins = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'GET /api/accounts/{id}/login',
    summary: 'What a login has to know before it begins; the configuration may not have the account yet.',
    need: 'view',
    reply: LOGIN_STATE,
    refuses: [404],
    answer: ({ asker, path: { id = '' } }) => loginState(gateway, asker, id),
  }),
  endpoint({
    name: 'POST /api/accounts/{id}/login',
    summary: 'Stores a login and uses it at once; its quota and its models are read before the answer.',
    need: 'view',
    ofFile: true,
    body: LOGIN_REQUEST,
    reply: LOGIN,
    refuses: [404, 409],
    answer: ({ asker, path: { id = '' }, body }) => login(gateway, asker, { id, request: body }),
  }),
];

/** What the login of a command has to know before it begins. */
async function loginState({ loaded, services: { credentials } }: AdminTarget, asker: Asker, id: string): Promise<LoginStateReply> {
  checkAccount(asker, id);
  const account = loaded.config.accounts.find((one) => one.id === id);
  const oauth = account && addressedOauth(credentials, account);
  const [found, at] = await Promise.all([credentials.vault.find(id), credentials.vault.storedAt(id)]);
  const { token_url, device_url = null, authorize_url = null } = oauth ?? { token_url: '' };
  const ways = waysOf(oauth);
  return {
    account: id,
    configured: oauth !== undefined,
    addresses: oauth ? { token_url, device_url, authorize_url } : null,
    login: knownLogin(found, { at, oauth }),
    ways,
    advice: account && ways.length === 0 ? adviceFor(asker, account) : null,
  };
}

/** The `oauth` section with the addresses that are really asked: a simulated account has those of the running provider. */
export function addressedOauth(
  credentials: Pick<AdminTarget['services']['credentials'], 'addressOf'>,
  account: AccountConfig,
): OauthCredential | undefined {
  const oauth = oauthOf(account);
  if (!oauth) return undefined;
  const { token_url, device_url, authorize_url } = oauth;
  return {
    ...oauth,
    token_url: credentials.addressOf(account.id, token_url, 'token_url'),
    ...(device_url !== undefined && { device_url: credentials.addressOf(account.id, device_url, 'device_url') }),
    ...(authorize_url !== undefined && { authorize_url: credentials.addressOf(account.id, authorize_url, 'authorize_url') }),
  };
}

/** How the gateway can log an account in, the easiest first. */
export const waysOf = (oauth: OauthCredential | undefined): readonly LoginWay[] => [
  ...(oauth?.device_url === undefined ? [] : (['device'] as const)),
  ...(oauth?.authorize_url === undefined ? [] : (['link'] as const)),
];

/** The names of files and variables are settings of the machine, which those see who see everything. */
function adviceFor(asker: Asker, account: AccountConfig): string {
  return `${reasonOf(account)} ${asker.view().isWhole ? credentialAdvice(account) : 'An operator with `admin: true` sees here what to do.'}`;
}

function reasonOf(account: AccountConfig): string {
  if (oauthOf(account)) return 'Its `oauth` section has neither device_url nor authorize_url, so the gateway cannot log it in.';
  if (!account.credential) return 'It has no credential.';
  return 'Its credential is a secret of the configuration, which the gateway reads and never writes.';
}

/** @param at when it was stored */
export function knownLogin(
  found: Awaited<ReturnType<TokenVault['find']>>,
  { at, oauth }: { readonly at: number | undefined; readonly oauth: OauthCredential | undefined },
): LoginStateReply['login'] {
  if (found === undefined || found === SEALED) return null;
  return { name: found.imported, at: at ?? 0, identity: identityOf(found.tokens, oauth?.identity_claim) ?? null };
}

async function login(
  gateway: AdminTarget,
  asker: Asker,
  { id, request }: { readonly id: string; readonly request: LoginRequest },
): Promise<LoginReply> {
  checkAccount(asker, id);
  const { loaded, services } = gateway;
  const account = loaded.config.accounts.find((one) => one.id === id);
  if (account && !oauthOf(account)) throw new ApiRefusal(409, `the credential of account '${id}' is no login: it has no oauth section`);
  const order = loginOrder(loaded.config, id, { request, now: services.clock.now() });
  if (!order) throw new ApiRefusal(400, 'the body has no tokens of a login', { param: 'tokens' });
  return replacedLogin(gateway, { id, order, actor: asker.actor });
}

/** Stores a login, and reads the quota and the models of its account with it. @throws ApiRefusal with the reason why not */
export async function replacedLogin(
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
  readonly actor: string;
}

async function replyOf(gateway: AdminTarget, { id, account, result, actor }: Taken): Promise<LoginReply> {
  const { services } = gateway;
  const stored = result.kind === 'stored';
  if (stored) {
    // A refusal and a cooldown concern the former login (Q9).
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

export const oauthOf = ({ credential }: AccountConfig): OauthCredential | undefined =>
  credential && 'oauth' in credential ? credential.oauth : undefined;
