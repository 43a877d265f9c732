// The logins in the store of a gateway that is not running. A command reads and writes them instead.
import { randomUUID } from 'node:crypto';
import { openStore, type Store, StoreError } from '../../store/store.ts';
import { knownLogin, loginOrder } from '../admin/answers/logins/login-order.ts';
import { oauthOf, waysOf } from '../admin/answers/logins/oauth-section.ts';
import type { LoginReply, LoginRequest, LoginStateReply } from '../admin/replies/account-replies.ts';
import { systemClock } from '../base/time/clock.ts';
import type { Config } from '../config/config.ts';
import { agreeOnSecret } from '../encryption/shared-secret.ts';
import { storeKeyOf } from '../encryption/store-key.ts';
import { ExclusiveWork } from '../nodes/exclusive-work.ts';
import { storeLogin } from '../upstream/credentials/login/store-login.ts';
import { loginRefusal } from '../upstream/credentials/login/store-refusal.ts';
import { TokenVault } from '../upstream/credentials/token-vault.ts';

export interface StoredLoginsOptions {
  readonly config: Config;
  /** The argument of `openStore`. */
  readonly storeUrl: string;
}

export class StoredLogins {
  readonly #config: Config;
  readonly #store: Store;
  readonly #vault: TokenVault;

  private constructor(config: Config, store: Store, vault: TokenVault) {
    this.#config = config;
    this.#store = store;
    this.#vault = vault;
  }

  /** @throws StoreError, also if a gateway uses the store */
  static async open({ config, storeUrl }: StoredLoginsOptions): Promise<StoredLogins> {
    const store = await openStore(storeUrl, { clock: () => systemClock.now(), gateway: true });
    try {
      if (store.inUse())
        throw new StoreError('locked', 'a gateway has the store, and cannot be asked: stop it, or turn its admin listener on');
      const key = await storeKeyOf(config.store, config.store_key);
      if (store.shared) await agreeOnSecret(store, 'store_key', key);
      const exclusive = new ExclusiveWork({ leases: store.leases, clock: systemClock, owner: `command/${randomUUID()}` });
      return new StoredLogins(config, store, new TokenVault(store.credentials, key, { exclusive, shared: store.shared }));
    } catch (thrown) {
      await store.close();
      throw thrown;
    }
  }

  async state(id: string): Promise<LoginStateReply> {
    const account = this.#config.accounts.find((one) => one.id === id);
    const oauth = account && oauthOf(account);
    const [found, at] = await Promise.all([this.#vault.find(id), this.#vault.storedAt(id)]);
    const { token_url, device_url = null, authorize_url = null } = oauth ?? { token_url: '' };
    return {
      account: id,
      configured: oauth !== undefined,
      addresses: oauth ? { token_url, device_url, authorize_url } : null,
      login: knownLogin(found, { at, oauth }),
      ways: waysOf(oauth),
      advice: null,
    };
  }

  /**
   * Stores a login without trying it, because the gateway uses it when it starts.
   * @returns the reason in a sentence if it was not stored
   */
  async store(id: string, request: LoginRequest): Promise<LoginReply | { readonly refused: string }> {
    const order = loginOrder(this.#config, id, { request, now: systemClock.now() });
    if (!order) return { refused: 'there are no tokens' };
    const result = await storeLogin(this.#vault, id, order);
    if (result.kind !== 'stored' && result.kind !== 'known') return { refused: loginRefusal(id, result) };
    const stored = result.kind === 'stored';
    if (stored) await this.#record(id);
    return { account: id, stored, identity: result.identity ?? null, models: null, failure: null, quota: [] };
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  #record(target: string): Promise<void> {
    const fields = [{ path: `accounts[${target}].credential`, from: '(changed)', to: '(changed)' }];
    return this.#store.audit.record({
      at: systemClock.wallTime(),
      actor: 'command',
      action: 'account.login',
      target,
      pool: null,
      fields,
    });
  }
}
