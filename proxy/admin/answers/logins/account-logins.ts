// GET and POST /api/accounts/{id}/login: the present login of an account, and a new one that an operator obtained (Q9, S9).
import type { AccountConfig } from '../../../turn/settings.ts';
import { credentialAdvice } from '../../../upstream/credentials/credential-advice.ts';
import type { Asker } from '../../access/asker.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../../api/endpoint.ts';
import {
  LOGIN,
  LOGIN_REQUEST,
  LOGIN_STATE,
  type LoginReply,
  type LoginRequest,
  type LoginStateReply,
} from '../../replies/account-replies.ts';
import { checkAccount } from '../account-for.ts';
import { knownLogin, loginOrder } from './login-order.ts';
import { addressedOauth, oauthOf, waysOf } from './oauth-section.ts';
import { replaceLogin } from './replace-login.ts';

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

/** What a command has to know before it begins a login. */
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

/** Advice for the asker. Names of files and variables belong to the machine, so only askers with all rights see them. */
function adviceFor(asker: Asker, account: AccountConfig): string {
  return `${reasonOf(account)} ${asker.view().isWhole ? credentialAdvice(account) : 'An operator with `admin: true` sees here what to do.'}`;
}

function reasonOf(account: AccountConfig): string {
  if (oauthOf(account)) return 'Its `oauth` section has neither device_url nor authorize_url, so the gateway cannot log it in.';
  if (!account.credential) return 'It has no credential.';
  return 'Its credential is a secret of the configuration, which the gateway reads and never writes.';
}

async function login(
  gateway: AdminTarget,
  asker: Asker,
  { id, request }: { readonly id: string; readonly request: LoginRequest },
): Promise<LoginReply> {
  checkAccount(asker, id);
  const { loaded, services } = gateway;
  const account = loaded.config.accounts.find((one) => one.id === id);
  if (account && !oauthOf(account)) throw new ApiRefusal(409, `the credential of account '${id}' is not a login: it has no oauth section`);
  const order = loginOrder(loaded.config, id, { request, now: services.clock.now() });
  if (!order) throw new ApiRefusal(400, 'the body has no tokens of a login', { param: 'tokens' });
  return replaceLogin(gateway, { id, order, actor: asker.actor });
}
