// Converts a login in a request of the API for the vault, and a stored login for an answer.
import type { Config } from '../../../config/config.ts';
import type { OauthCredential } from '../../../turn/settings.ts';
import { loginIdentity } from '../../../upstream/credentials/login/identity.ts';
import type { LoginOrder } from '../../../upstream/credentials/login/store-login.ts';
import { SEALED, type TokenVault } from '../../../upstream/credentials/token-vault.ts';
import { fileTokens } from '../../../upstream/credentials/tokens.ts';
import type { LoginRequest, LoginStateReply } from '../../replies/account-replies.ts';
import { oauthOf } from './oauth-section.ts';

/** Undefined if the request has no tokens. @param now Unix milliseconds */
export function loginOrder(
  { accounts }: Pick<Config, 'accounts'>,
  id: string,
  { request, now }: { readonly request: LoginRequest; readonly now: number },
): LoginOrder | undefined {
  const tokens = fileTokens(request.tokens, now);
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

/** @param at the time at which it was stored */
export function knownLogin(
  found: Awaited<ReturnType<TokenVault['find']>>,
  { at, oauth }: { readonly at: number | undefined; readonly oauth: OauthCredential | undefined },
): LoginStateReply['login'] {
  if (found === undefined || found === SEALED) return null;
  return { name: found.imported, at: at ?? 0, identity: loginIdentity(found.tokens, oauth?.identity_claim) ?? null };
}
