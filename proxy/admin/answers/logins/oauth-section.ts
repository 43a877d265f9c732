// The `oauth` section of an account: whether the gateway can log the account in with it, and the addresses of the login.
import type { AccountConfig, OauthCredential } from '../../../turn/settings.ts';
import type { LoginWay } from '../../../upstream/credentials/login/login-run.ts';
import type { AdminTarget } from '../../admin-target.ts';

export const oauthOf = ({ credential }: AccountConfig): OauthCredential | undefined =>
  credential && 'oauth' in credential ? credential.oauth : undefined;

/** The `oauth` section with actual addresses. Those of a simulated account are addresses of the running provider. */
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

/** The ways in which the gateway can log an account in, the easiest first. */
export const waysOf = (oauth: OauthCredential | undefined): readonly LoginWay[] => [
  ...(oauth?.device_url === undefined ? [] : (['device'] as const)),
  ...(oauth?.authorize_url === undefined ? [] : (['link'] as const)),
];
