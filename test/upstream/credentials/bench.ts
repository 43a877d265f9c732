// A bench for credentials: one OAuth account of the rehearsal provider, its tokens file, a store, and a clock that tests move.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Log } from '../../../proxy/base/process/log.ts';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { LoadedConfig } from '../../../proxy/config/config.ts';
import { StoreKey } from '../../../proxy/encryption/store-key.ts';
import type { RehearsalLogin } from '../../../proxy/rehearsal/account/login.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';
import { Credentials } from '../../../proxy/upstream/credentials/credentials.ts';
import { type TokenExchange, tokenEndpoint } from '../../../proxy/upstream/credentials/token-endpoint.ts';
import { type RefreshLock, TokenVault } from '../../../proxy/upstream/credentials/token-vault.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { account } from '../../models/support.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';

export const KEY = 'a key of the store for tests';
export const ACCESS = 'at-from-the-file';
export const REFRESH = 'rt-from-the-file';

export interface BenchOptions {
  readonly login?: Partial<RehearsalLogin>;
  /** The content of the file; by default the tokens of the login. */
  readonly file?: unknown;
  /** The time in real milliseconds for which the endpoint may be silent. */
  readonly silence?: number;
}

/** One process: its credentials, and the events that it reported. */
export interface Process {
  readonly credentials: Credentials;
  readonly refused: readonly string[];
  readonly imported: readonly string[];
  readonly logged: readonly string[];
  /** Accounts of which the process has no login that it can use. */
  readonly withoutLogin: readonly string[];
  /** The bearer that would be sent to the account. */
  bearer(): Promise<string>;
  /** The bearer after a 401 to this bearer; by default to the current one. */
  unauthorized(bearer?: string): Promise<string>;
  reload(): Promise<void>;
}

export class Bench {
  readonly clock = new ManualClock();
  readonly upstream: Upstream;
  readonly store: Store;
  readonly folder: string;
  readonly account: AccountConfig;
  readonly loaded: LoadedConfig;
  readonly #silence: number | undefined;

  private constructor(upstream: Upstream, store: Store, folder: string, silence: number | undefined) {
    this.upstream = upstream;
    this.store = store;
    this.folder = folder;
    this.#silence = silence;
    const url = upstream.urlOf('north');
    this.account = account('north', {
      base_url: url,
      credential: { oauth: { file: join(folder, 'north.json'), token_url: `${url}/oauth/token`, client_id: 'client-1' } },
      headers: { 'x-account': 'north-1' },
    });
    this.loaded = {
      config: { accounts: [this.account] } as unknown as LoadedConfig['config'],
      path: '',
      bearers: new Map(),
      connections: new Map(),
      storeUrl: '',
    };
  }

  static async open(test: TestContext, { login = {}, file, silence }: BenchOptions = {}): Promise<Bench> {
    const folder = await mkdtemp(join(tmpdir(), 'poolgate-credentials-'));
    test.after(() => rm(folder, { recursive: true, force: true }));
    let now = (): number => 0;
    const upstream = await startUpstream({
      accounts: [{ id: 'north', oauth: { refresh_token: REFRESH, access_token: ACCESS, client_id: 'client-1', ...login } }],
      clock: { now: () => now(), wallTime: () => now(), after: systemClock.after },
    });
    test.after(() => upstream.close());
    const store = await openStore(`sqlite:${folder}/poolgate.db`, { clock: () => now() });
    test.after(() => store.close());
    const bench = new Bench(upstream, store, folder, silence);
    now = () => bench.clock.now();
    await bench.write(file ?? { tokens: { access_token: ACCESS, refresh_token: REFRESH, account_id: 'acct-1', id_token: 'it-1' } });
    return bench;
  }

  /** Writes the file of the operator. */
  write(content: unknown): Promise<void> {
    return writeFile(join(this.folder, 'north.json'), typeof content === 'string' ? content : JSON.stringify(content));
  }

  /** Starts a process on the store; the given parts replace the real ones. */
  async start(
    parts: { readonly exchange?: TokenExchange; readonly store?: Store['credentials']; readonly lock?: RefreshLock } = {},
  ): Promise<Process> {
    const refused: string[] = [];
    const withoutLogin = new Set<string>();
    const imported: string[] = [];
    const logged: string[] = [];
    const credentials = new Credentials({
      vault: new TokenVault(parts.store ?? this.store.credentials, new StoreKey(KEY), parts.lock),
      exchange: parts.exchange ?? this.exchange(),
      clock: this.clock,
      log: new Log('debug', (line) => void logged.push(line)),
      onRefused: (account) => void refused.push(account),
      onNoLogin: (account) => void withoutLogin.add(account),
      onLogin: (account) => void withoutLogin.delete(account),
      onImported: (account) => void imported.push(account),
      onRefreshFailed: () => undefined,
    });
    await credentials.configure(this.loaded);
    const { account, loaded } = this;
    const bearer = async (): Promise<string> => {
      const headers = await credentials.headersFor(account, loaded.bearers.get(account.id));
      return headers.authorization?.replace('Bearer ', '') ?? '';
    };
    return {
      credentials,
      refused,
      get withoutLogin() {
        return [...withoutLogin];
      },
      imported,
      logged,
      bearer,
      unauthorized: async (token) =>
        credentials.refused(account, `Bearer ${token ?? credentials.secretOf(account, loaded.bearers.get('north'))}`),
      reload: () => credentials.configure(loaded),
    };
  }

  exchange(): TokenExchange {
    return tokenEndpoint(() => ({ routeTo: () => undefined }), this.#silence);
  }

  /** The number of requests to the token endpoint. */
  get refreshes(): number {
    return this.upstream.requests('north').filter(({ path }) => path === '/oauth/token').length;
  }

  /** Whether the provider accepts this bearer. */
  async admits(bearer: string): Promise<boolean> {
    const answer = await fetch(`${this.upstream.urlOf('north')}/backend-api/agent/models?client_version=0.0.0`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
    await answer.arrayBuffer();
    return answer.status === 200;
  }
}

/** A JSON web token that expires at this time (Unix milliseconds); its signature is not valid. */
export function webToken(endsAt: number): string {
  const part = (claims: object): string => Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(endsAt / 1000) })}.c2lnbmF0dXJl`;
}
