// The logins that operators have begun at this node. An account has at most one, each is visible only to its operator, and `limits.logins`
// limits their number.
import { randomBytes } from 'node:crypto';
import { type Log, placeOf } from '../../../base/process/log.ts';
import type { OauthCredential } from '../../../turn/settings.ts';
import { AuthorizationServer } from '../../../upstream/credentials/login/authorization-server.ts';
import { LoginFailed, stopped } from '../../../upstream/credentials/login/login-failed.ts';
import { LoginRun, type LoginWay } from '../../../upstream/credentials/login/login-run.ts';
import { SEALED } from '../../../upstream/credentials/token-vault.ts';
import type { Tokens } from '../../../upstream/credentials/tokens.ts';
import type { Upstream } from '../../../upstream/upstreams.ts';
import { type Asker, mayChangeAccount } from '../../access/asker.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal } from '../../api/endpoint.ts';
import { loginText } from '../../replies/login-text.ts';
import { addressedOauth, oauthOf } from './oauth-section.ts';
import { replaceLogin } from './replace-login.ts';

/** How long a page can ask for the result of a login. */
const KEPT_MS = 300_000;
const ID_BYTES = 24;

export interface RunningLoginsOptions {
  readonly gateway: AdminTarget & { readonly services: { readonly log: Pick<Log, 'error'> } };
  /** The connections of an account, which its login uses too. */
  readonly upstreamOf: (account: string) => Pick<Upstream, 'routeTo'> | undefined;
}

/** A login that an operator begins. */
export interface NewLogin {
  readonly account: string;
  readonly way: LoginWay;
  readonly anotherUser: boolean;
  readonly asker: Asker;
}

interface Known {
  readonly run: LoginRun;
  readonly actor: string;
}

export class RunningLogins {
  readonly #options: RunningLoginsOptions;
  /** The logins, oldest first. */
  readonly #runs = new Map<string, Known>();

  constructor(options: RunningLoginsOptions) {
    this.#options = options;
  }

  /** Begins a login, and ends another one of the account. @returns its id; undefined if `limits.logins` are open */
  async begin(login: NewLogin): Promise<string | undefined> {
    const { gateway } = this.#options;
    const account = gateway.loaded.config.accounts.find(({ id }) => id === login.account);
    const oauth = account && addressedOauth(gateway.services.credentials, account);
    if (!oauth) return undefined;
    this.#forget();
    const under = [...this.#runs.values()].filter(({ run }) => run.isUnderWay);
    const former = under.find(({ run }) => run.account === login.account);
    if (under.length - (former ? 1 : 0) >= gateway.loaded.config.limits.logins) {
      gateway.services.counters.add('logins_refused');
      return undefined;
    }
    former?.run.stop(stopped(`another login of account '${login.account}' was begun, and this one has ended; nothing was stored`));
    const run = this.#run(login, oauth);
    const id = `${randomBytes(ID_BYTES).toString('base64url')}${this.#node}`;
    this.#runs.set(id, { run, actor: login.asker.actor });
    await run.begin();
    return id;
  }

  /** A login that this actor began. `elsewhere`: its id belongs to another node. */
  find(id: string, actor: string): LoginRun | 'elsewhere' | undefined {
    this.#forget();
    const known = this.#runs.get(id);
    if (known) return known.actor === actor ? known.run : undefined;
    const [, node] = /^[\w-]+(\..+)$/.exec(id) ?? [];
    return node !== undefined && node !== this.#node ? 'elsewhere' : undefined;
  }

  /** Ends all logins, because the process stops. */
  close(): void {
    for (const { run } of this.#runs.values()) run.stop(stopped('the gateway was stopped; begin again when it runs'));
  }

  #run({ account, way, anotherUser, asker }: NewLogin, oauth: OauthCredential): LoginRun {
    const { gateway, upstreamOf } = this.#options;
    const { clock, credentials, log } = gateway.services;
    const server = new AuthorizationServer(oauth, { now: () => clock.now(), routeTo: (url) => upstreamOf(account)?.routeTo(url) });
    // Read when the login begins, so that a login which another person stores before its end is not overwritten.
    const former = credentials.vault.find(account).then((found) => (found === undefined || found === SEALED ? null : found.imported));
    former.catch(() => undefined);
    const store = async (tokens: Tokens): Promise<string> => {
      if (!mayChangeAccount(asker, account)) throw stopped('the account is no longer one that you may log in; nothing was stored');
      const { accounts } = gateway.loaded.config;
      const now = accounts.find(({ id }) => id === account);
      if (!now || !oauthOf(now)) throw stopped(`account '${account}' has left the configuration; nothing was stored`);
      const order = {
        ...({ tokens, by: 'login', anotherUser, former: await former } as const),
        claim: oauthOf(now)?.identity_claim,
        accounts: accounts.map(({ id }) => id),
      };
      const reply = await replaceLogin(gateway, { id: account, order, actor: asker.actor }).catch((thrown: unknown) => {
        throw thrown instanceof ApiRefusal ? new LoginFailed('refused', thrown.message) : thrown;
      });
      return loginText(reply, { isRunning: true });
    };
    const failure = (thrown: unknown): string => {
      log.error('account_login_failed', { account, ...placeOf(thrown) });
      return 'the login could not be stored: the log of the gateway has the reason; begin again';
    };
    return new LoginRun(account, way, { server, clock, store, failure });
  }

  /** Removes logins that ended a while ago. If there are too many, the oldest one ends. */
  #forget(): void {
    const { loaded, services } = this.#options.gateway;
    const ended = [...this.#runs].filter(([, { run }]) => !run.isUnderWay);
    const many = ended.length - loaded.config.limits.logins;
    const now = services.clock.now();
    ended.forEach(([id, { run }], i) => {
      if (i < many || now - (run.endedAt ?? now) > KEPT_MS) this.#runs.delete(id);
    });
  }

  /** The part of an id that names this node; empty if the store has one node. */
  get #node(): string {
    const { loaded, services } = this.#options.gateway;
    return services.node ? `.${loaded.config.node.id}` : '';
  }
}
