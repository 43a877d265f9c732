// The rehearsal provider with the rehearsal accounts of a configuration, in this thread.
import { randomBytes } from 'node:crypto';
import type { RehearsalProfile, WireWords } from '../turn/settings.ts';
import { PROFILES } from './account/account-profiles.ts';
import type { NamedApi } from './apis/api-settings.ts';
import { type Provider, startProvider } from './provider.ts';

/** An account of the configuration. */
export interface ConfiguredAccount {
  readonly id: string;
  readonly profile: RehearsalProfile;
  readonly api?: NamedApi;
  /** The client id of logins at its own authorization server; absent if the account needs no credential. */
  readonly clientId?: string;
}

export interface ConfiguredAccounts {
  readonly accounts: readonly ConfiguredAccount[];
  readonly wire: WireWords;
}

/** Resolves once it listens. */
export const startConfigured = ({ accounts, wire }: ConfiguredAccounts): Promise<Provider> =>
  startProvider({
    wire,
    // Keeps ids apart from those of earlier runs, which the store may still have.
    seed: randomBytes(4).toString('hex'),
    accounts: accounts.map(({ profile, clientId, ...account }) => {
      const login = clientId === undefined ? {} : { oauth: { client_id: clientId, acceptsEarlier: true } };
      return { ...account, ...login, profile: PROFILES[profile] };
    }),
  });
