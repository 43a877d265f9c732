// The running program: one generation of configuration at a time over the parts that outlive it.
import type { AddressInfo } from 'node:net';
import { openStore, type Store } from '../store/store.ts';
import { Counters } from './admin/counters.ts';
import { adminRoutes } from './admin/routes.ts';
import { AdminServer } from './admin/server.ts';
import { keyUsageAnswers } from './answers/key-usage.ts';
import { catalogAnswers, modelAnswers } from './answers/models.ts';
import { type PoolUsageOptions, poolUsageAnswers } from './answers/pool-usage.ts';
import type { AccountConfig, Config, LoadedConfig } from './config/config.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { Witnesses } from './dispatch/evidence.ts';
import { unsentFailure } from './dispatch/failure.ts';
import { Generation } from './generation.ts';
import { admitted } from './intake/admitted.ts';
import { BodyGuard } from './intake/body.ts';
import { forwarding } from './intake/forward.ts';
import type { Handler } from './intake/http-turn.ts';
import { jsonTurns } from './intake/json-turn.ts';
import { limited } from './intake/limited.ts';
import type { LiveTurn, TurnHost } from './live-turn.ts';
import { Log, placeOf } from './log.ts';
import { Capacity } from './pool/capacity.ts';
import { Catalog } from './pool/catalog/catalog.ts';
import { type Clock, systemClock } from './pool/catalog/clock.ts';
import { ModelDirectory } from './pool/catalog/directory.ts';
import type { CatalogAnswer } from './pool/catalog/round.ts';
import { Continuity } from './pool/continuity/continuity.ts';
import { CONTINUATION_PINS } from './pool/continuity/pins.ts';
import { Accounting } from './pool/limits/accounting.ts';
import { AccountUsage } from './pool/quota/account-usage.ts';
import { type Rehearsal, rehearsalName, startRehearsal } from './rehearsal/start.ts';
import { ConfigFollower } from './reload.ts';
import { keepRetention } from './retention.ts';
import type { HttpKind } from './served.ts';
import { PublicServer } from './server.ts';
import { Credentials } from './upstream/credentials/credentials.ts';
import { OwnCalls } from './upstream/credentials/own-calls.ts';
import { tokenEndpoint } from './upstream/credentials/token-endpoint.ts';
import { TokenVault } from './upstream/credentials/token-vault.ts';
import { Upstreams } from './upstream/upstreams.ts';
import { type StoreKey, storeKeyOf } from './vault/store-key.ts';

export interface GatewayOptions {
  readonly loaded: LoadedConfig;
  readonly clock?: Clock;
  readonly log?: Log;
}

export interface Addresses {
  readonly main: AddressInfo;
  readonly admin: AddressInfo | undefined;
}

/** What is there before the gateway is put together. */
interface Opened {
  readonly store: Store;
  readonly key: StoreKey;
  readonly rehearsal: Rehearsal | undefined;
}

const CATALOG_BOUNDS = { bytes: 16_777_216, ms: 30_000 };
/** The longest that a reload waits for its accounts' catalogs. */
const CATALOG_PATIENCE_MS = 1_000;

export class Gateway {
  readonly log: Log;
  readonly counters = new Counters();
  readonly store: Store;
  readonly catalog: Catalog;
  readonly models: ModelDirectory;
  readonly capacity: Capacity;
  readonly usage: AccountUsage;
  readonly accounting: Accounting;
  readonly credentials: Credentials;
  readonly continuity: Continuity;
  readonly follower: ConfigFollower;
  readonly startedAt: number;
  readonly #clock: Clock;
  readonly #upstreams = new Upstreams();
  readonly #calls: OwnCalls;
  readonly #server: PublicServer;
  readonly #admin: AdminServer;
  #rehearsal: Rehearsal | undefined;
  readonly #rehearsals = new Set<Rehearsal>();
  #generation: Generation;
  #accepting = false;
  #forgetRetention = (): void => undefined;

  /** Opens the store and starts what must run before the first turn. @throws StoreError */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const { config } = options.loaded;
    const clock = options.clock ?? systemClock;
    const [store, key, rehearsal] = await Promise.all([
      openStore(config.store, { clock: () => clock.now() }),
      storeKeyOf(config.store, config.store_key),
      rehearse(config),
    ]);
    return new Gateway(options, clock, { store, key, rehearsal });
  }

  private constructor(options: GatewayOptions, clock: Clock, { store, key, rehearsal }: Opened) {
    const { loaded } = options;
    this.#clock = clock;
    this.startedAt = clock.now();
    this.#rehearsal = rehearsal;
    if (rehearsal) this.#rehearsals.add(rehearsal);
    this.store = store;
    this.log = options.log ?? new Log(loaded.config.log.level);
    this.#generation = new Generation(loaded);
    void this.#upstreams.configure(loaded.config, (account) => this.#urlOf(account));
    this.catalog = new Catalog({
      clock,
      read: (account) => this.#readCatalog(account),
      store: { load: () => store.catalog.load(), save: (row) => store.catalog.put(row) },
    });
    this.accounting = new Accounting(store.usage, clock);
    this.usage = new AccountUsage({
      clock,
      counters: this.counters,
      states: () => this.capacity.states,
      get: (account, path, bounds) => this.#calls.get(account, path, bounds),
    });
    this.capacity = new Capacity({
      clock,
      counters: this.counters,
      log: this.log,
      store,
      loaded: () => this.#generation.loaded,
      catalog: this.catalog,
      models: () => this.models,
      upstream: (account) => this.#upstreams.of(account),
      pins: CONTINUATION_PINS,
      quota: this.usage.quota,
    });
    this.usage.quota.onRelief((account) => this.capacity.health.relieve(account));
    this.continuity = new Continuity({ store: store.pins, key, clock });
    this.credentials = new Credentials({
      vault: new TokenVault(store.credentials, key),
      exchange: tokenEndpoint(),
      clock,
      log: this.log,
      onRefused: (account) => this.#refused(account),
      onImported: (account) => this.#imported(account),
    });
    this.#calls = new OwnCalls({
      credentials: this.credentials,
      loaded: () => this.#generation.loaded,
      upstream: (account) => this.#upstreams.of(account),
    });
    this.models = new ModelDirectory(this.catalog, this.capacity.health);
    this.#server = new PublicServer({
      generation: () => this.#generation,
      host: this.#host(),
      handlers: this.#handlers(),
      counters: this.counters,
    });
    this.follower = new ConfigFollower(this, loaded, () => clock.now());
    this.#admin = new AdminServer(adminRoutes(this));
  }

  /** The configuration that turns begin with now. */
  get loaded(): LoadedConfig {
    return this.#generation.loaded;
  }

  /** Unix milliseconds, by the clock that turns have. */
  now(): number {
    return this.#clock.now();
  }

  get ready(): boolean {
    return this.#accepting && this.catalog.ready && this.usage.ready;
  }

  /** Accepts connections at once; `/readyz` follows the first round of catalogs and of usage reads. */
  async listen(): Promise<Addresses> {
    const { listen, admin, accounts } = this.#generation.config;
    await Promise.all([this.capacity.start(), this.continuity.load(), this.accounting.load()]);
    await this.credentials.configure(this.#generation.loaded);
    this.usage.configure(accounts);
    await this.catalog.start(accounts);
    const main = await this.#server.listen(listen.host, listen.port);
    const second = admin ? await this.#admin.listen(admin.host, admin.port) : undefined;
    this.#accepting = true;
    this.#forgetRetention = keepRetention(this.store, this.#clock, this.log, () => this.loaded.config.retention);
    return { main, admin: second };
  }

  /**
   * Takes a new configuration for every turn from now on; turns in flight keep theirs. Resolves once its accounts were read, or have
   * had their time for it: the next change does not wait for an account that does not answer.
   */
  async reload(loaded: LoadedConfig): Promise<void> {
    const former = await this.#rehearseAnew(loaded.config);
    const retired = this.#upstreams.configure(loaded.config, (account) => this.#urlOf(account));
    if (former) void retired.then(() => this.#endRehearsal(former));
    this.#generation = new Generation(loaded);
    this.capacity.configure();
    await this.credentials.configure(loaded);
    this.usage.configure(loaded.config.accounts);
    this.log.level = loaded.config.log.level;
    this.#server.configure();
    const read = this.catalog.reload(loaded.config.accounts);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(CATALOG_PATIENCE_MS, resolve);
    await Promise.race([read, late]);
    cancel();
  }

  /** An account may have logged in anew, in a file that the configuration names as before. */
  refresh(): Promise<void> {
    return this.credentials.configure(this.#generation.loaded);
  }

  /** Readiness off, running turns end, hard stop at `drain_ms`; then everything is written and closed. */
  async close(): Promise<void> {
    this.#accepting = false;
    await this.#server.drain(this.#generation.config.timeouts.drain_ms);
    this.catalog.stop();
    this.usage.stop();
    this.capacity.stop();
    this.continuity.flush();
    this.#forgetRetention();
    await this.#upstreams.destroy();
    await Promise.all([this.#admin.close(), ...[...this.#rehearsals].map((rehearsal) => rehearsal.close()), this.store.close()]);
  }

  /** Other rehearsal accounts, or other words, need another provider. @returns the former, which goes on until its turns are over */
  async #rehearseAnew(next: Config): Promise<Rehearsal | undefined> {
    if (JSON.stringify(rehearsed(next)) === JSON.stringify(rehearsed(this.#generation.config))) return undefined;
    const former = this.#rehearsal;
    this.#rehearsal = await rehearse(next);
    if (this.#rehearsal) this.#rehearsals.add(this.#rehearsal);
    return former;
  }

  #endRehearsal(former: Rehearsal): Promise<void> {
    this.#rehearsals.delete(former);
    return former.close();
  }

  #host(): TurnHost {
    return {
      now: () => this.#clock.now(),
      after: (ms, run) => this.#clock.after(ms, run),
      secretOf: (account, loaded) => this.credentials.secretOf(account, loaded),
      findModel: (_generation, pool, id) => this.models.find(pool, id),
      recoversIn: (pool, id) => this.capacity.recoversIn(pool, id),
      record: (row, attempts, turn) => {
        this.accounting.settle(turn, row);
        this.store.requests.append(row);
        for (const attempt of attempts) this.store.attempts.append(attempt);
        const { id, endpoint, method, status, code, account, retries, duration_ms } = row;
        this.log.debug('request', { id, endpoint, method, status, code, account, retries, duration_ms });
      },
      fault: (thrown, requestId) => {
        this.counters.add('server_errors');
        this.log.error('unforeseen', { request_id: requestId, ...placeOf(thrown) });
      },
    };
  }

  #handlers(): Record<HttpKind, Handler> {
    const { admission, selection } = this.capacity;
    const dispatch = new Dispatch({
      admission,
      selection,
      credentials: this.credentials,
      continuity: this.continuity,
      witnesses: new Witnesses([this.continuity.witness, this.usage.witness]),
      counters: this.counters,
      ownHeaders: (turn) => this.#ownHeaders(turn),
    });
    const turns = jsonTurns(dispatch, { guard: new BodyGuard(), counters: this.counters, accounting: this.accounting });
    return {
      catalog: admitted(admission, catalogAnswers(this.models, this.catalog.whenReady)),
      models: admitted(admission, modelAnswers(this.models, this.catalog.whenReady)),
      responses: turns,
      'public-responses': turns,
      'pool-usage': admitted(admission, poolUsageAnswers(this.#poolUsage())),
      'key-usage': admitted(admission, keyUsageAnswers(this.accounting)),
      forward: limited(
        this.accounting,
        forwarding({ admission, selection, credentials: this.credentials, continuity: this.continuity, counters: this.counters }),
      ),
    };
  }

  #poolUsage(): PoolUsageOptions {
    const { quota, reads } = this.usage;
    const { health } = this.capacity;
    return {
      quota,
      known: (accounts) => reads.known(accounts),
      routable: ({ assignments }) =>
        assignments.flatMap(({ account, active, eligible }) => {
          const usable = active && eligible && this.#generation.accounts.get(account)?.visible;
          return usable && health.routable(account, '(pool-usage)') ? account : [];
        }),
    };
  }

  /** The provider takes none of the account's tokens any more: it is as if a turn had been refused (Q5). */
  #refused(account: string): void {
    const { health } = this.capacity;
    health.end(health.begin(account, '(credential)'), unsentFailure('refused'));
  }

  /** An operator logged the account in anew: that is an action of theirs (S9), and clears its state (Q9). */
  #imported(account: string): void {
    this.capacity.health.restore(account);
    const changed = { path: `accounts[${account}].credential`, from: '(changed)', to: '(changed)' };
    const row = { at: this.#clock.now(), actor: 'file', action: 'credential.import', target: account, pool: null, fields: [changed] };
    void this.store.audit.record(row).catch(() => undefined);
  }

  #ownHeaders(turn: LiveTurn): Record<string, string> {
    const own: Record<string, string> = { 'x-request-id': turn.id };
    if (turn.native) own['x-models-etag'] = this.models.etag(turn.pool, turn.key);
    return own;
  }

  #urlOf(account: AccountConfig): string {
    return rehearsalName(account.base_url) === undefined ? account.base_url : (this.#rehearsal?.urlOf(account.id) ?? account.base_url);
  }

  async #readCatalog(id: string): Promise<CatalogAnswer> {
    const answer = await this.#calls.get(id, '/backend-api/agent/models', CATALOG_BOUNDS);
    const etag = answer.headers.etag;
    return { status: answer.status, body: answer.body, ...(etag === undefined ? {} : { etag }) };
  }
}

/** Only a configuration with rehearsal accounts pays for the provider. */
async function rehearse(config: Config): Promise<Rehearsal | undefined> {
  const accounts = rehearsalAccounts(config);
  return accounts.length > 0 ? startRehearsal(accounts, config.wire) : undefined;
}

/** What the provider is made of. */
const rehearsed = (config: Config): unknown => [rehearsalAccounts(config), config.wire];

const rehearsalAccounts = ({ accounts }: Config): { readonly id: string; readonly temperament: string }[] =>
  accounts.flatMap(({ id, base_url }) => {
    const temperament = rehearsalName(base_url);
    return temperament === undefined ? [] : [{ id, temperament }];
  });
