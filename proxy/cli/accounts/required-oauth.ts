// The `oauth` section of an account that logs in.
import type { AccountConfig, OauthCredential } from '../../turn/settings.ts';
import { CommandFailure } from '../command.ts';

/** @throws {CommandFailure} if the account has another kind of credential */
export function requiredOauth(account: AccountConfig | undefined, id: string): OauthCredential {
  const { credential } = account ?? {};
  if (credential && 'oauth' in credential) return credential.oauth;
  throw new CommandFailure(
    `account '${id}' has no login: its credential has no oauth section; docs/accounts.md shows one, and \`poolgate account add\` writes one`,
  );
}
