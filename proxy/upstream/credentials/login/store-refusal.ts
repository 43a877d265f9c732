// The reason why a login was not stored, in a sentence for operators that states what to do.
import type { StoreLoginResult } from './store-login.ts';

type Refused = Exclude<StoreLoginResult, { readonly kind: 'stored' | 'known' }>;

export function loginRefusal(account: string, refused: Refused): string {
  switch (refused.kind) {
    case 'overtaken':
      return `another login of account '${account}' was stored at ${time(refused.at)}, after this one had begun, and stays in use; log in again only if that one does not work`;
    case 'another_user':
      return (
        `account '${account}' belongs to '${refused.former}', and this is the login of ${named(refused.identity)}; nothing was stored. ` +
        'Log in as the same user, add an account of its own (`poolgate account add`), or give the account away with --another-user'
      );
    case 'duplicate':
      return (
        `account '${refused.account}' has the login of '${refused.identity}' already, and two accounts of one user share its quota; nothing was ` +
        'stored. Log in as another user; if they are two workspaces of one user, set identity_claim to the claim that differs'
      );
    case 'spent':
      return (
        `this login was taken over by account '${refused.account}' at ${time(refused.at)}: its refresh token rotates since, and the one in the ` +
        `file is spent. Log in with its program again and import the new file, or run: poolgate account login ${account}`
      );
  }
}

const time = (at: number): string => new Date(at).toISOString();

const named = (identity: string | undefined): string => (identity === undefined ? 'a user that its tokens do not name' : `'${identity}'`);
