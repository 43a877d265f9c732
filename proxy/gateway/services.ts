// The services that outlive a configuration. Each is created once here, and connected to the others.
import { randomUUID } from 'node:crypto';
import { allowsModel, reflectedEntry } from '../../rules/helpers/key-policy.ts';
import { ChangeFeed } from '../../store/change-feed.ts';
import type { Store } from '../../store/store.ts';
import { AccountRecords } from '../accounts/account-record.ts';
import { Capacity } from '../accounts/capacity.ts';
import { AccountUsage } from '../accounts/quota/account-usage.ts';
import { TurnMetrics } from '../admin/metrics/turn-metrics.ts';
import { MemoryRelease } from '../admission/memory-release.ts';
import { OverloadGuard } from '../admission/overload-guard.ts';
import type { ProcessLoad } from '../admission/process-load.ts';
import { BodyMemory } from '../base/bytes/body-memory.ts';
import { MemoryGuard } from '../base/bytes/memory-guard.ts';
import { UploadMeter } from '../base/bytes/upload-meter.ts';
import { collectAll } from '../base/process/full-collection.ts';
import { Heartbeat } from '../base/process/heartbeat.ts';
import type { Log } from '../base/process/log.ts';
import { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import { RetryBudgets } from '../dispatch/retries/retry-budget.ts';
import type { TierServices } from '../dispatch/tiers/turn-tiers.ts';
import type { SealedCapsules } from '../encryption/sealed-capsules.ts';
import type { StoreKey } from '../encryption/store-key.ts';
import { Files } from '../files/files.ts';
import { Finalisation } from '../files/finalisation.ts';
import { Accounting } from '../keys/accounting.ts';
import { Ledger } from '../keys/ledger.ts';
import { LocalLimits } from '../keys/limits/local-limits.ts';
import { OverflowSpending } from '../keys/overflow/overflow-spending.ts';
import { reachablePrices } from '../keys/overflow/reachable-prices.ts';
import { UsageRefresh } from '../keys/usage-refresh.ts';
import { Catalog } from '../models/catalog/catalog.ts';
import { ModelWarnings } from '../models/catalog/model-warnings.ts';
import { SharedReads } from '../models/catalog/shared-reads.ts';
import { ModelDirectory } from '../models/model-directory.ts';
import { ExclusiveWork } from '../nodes/exclusive-work.ts';
import { KeylessRows } from '../server/keyless-rows.ts';
import { Continuity } from '../sessions/continuity.ts';
import { WebsocketHistories } from '../sessions/websocket-histories.ts';
import { TokenCounter } from '../tokenizer/token-counter.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { GuardLimits } from '../turn/settings.ts';
import { Credentials } from '../upstream/credentials/credentials.ts';
import { OwnCalls } from '../upstream/credentials/own-calls.ts';
import { tokenEndpoint } from '../upstream/credentials/token-endpoint.ts';
import { TokenVault } from '../upstream/credentials/token-vault.ts';
import { Upstreams } from '../upstream/upstreams.ts';
import { WebsocketSupport } from '../upstream/websocket-support.ts';
import { requestCatalog } from './catalog-read.ts';
import { credentialEvents } from './credential-events.ts';
import { NodeServices } from './node-services.ts';
import { OverflowNotices } from './overflow-notices.ts';

export interface ServicesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly key: StoreKey;
  /** The configuration with which new turns begin. */
  readonly loaded: () => LoadedConfig;
  readonly load: ProcessLoad;
  readonly providerOf: ProviderOf;
  /** The base URL at which the provider listens for a simulated account. */
  readonly baseOf: (account: string) => string;
}

export class Services {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly loaded: () => LoadedConfig;
  readonly counters = new Counters();
  readonly turnMetrics = new TurnMetrics();
  readonly retryBudgets = new RetryBudgets();
  /** The bytes of request bodies and frames that are being read. */
  readonly bodies: BodyMemory;
  readonly memoryRelease: MemoryRelease;
  /** The bytes that turns hold of their replies. */
  readonly replies = new MemoryGuard();
  /** The bytes that are held of uploads, which are passed on as streams. */
  readonly uploads = new UploadMeter();
  readonly heartbeat: Heartbeat;
  readonly websockets: WebsocketSupport;
  readonly upstreams: Upstreams;
  readonly catalog: Catalog;
  readonly models: ModelDirectory;
  readonly capacity: Capacity;
  readonly guard: OverloadGuard;
  readonly usage: AccountUsage;
  readonly accounting: Accounting;
  /** The costs of the tiers of Pools. */
  readonly spending: OverflowSpending;
  readonly tiers: TierServices;
  /** Undefined if the store has one node. */
  readonly node: NodeServices | undefined;
  readonly credentials: Credentials;
  readonly continuity: Continuity;
  readonly files: Files;
  readonly histories: WebsocketHistories;
  readonly finalisation: Finalisation;
  readonly tokens: TokenCounter;
  readonly capsules: SealedCapsules;
  /** The changes of other processes on the store. */
  readonly changes: ChangeFeed;
  /** Work that only one process on the store does at a time. */
  readonly exclusive: ExclusiveWork;
  readonly usageRefresh: UsageRefresh;
  readonly providerOf: ProviderOf;
  readonly #calls: OwnCalls;

  constructor({ clock, log, store, key, loaded, load, providerOf, baseOf }: ServicesOptions) {
    this.providerOf = providerOf;
    this.clock = clock;
    this.log = log;
    this.store = store;
    this.loaded = loaded;
    const owner = `${loaded().config.node.id}/${randomUUID()}`;
    this.exclusive = new ExclusiveWork({ leases: store.leases, clock, owner });
    const exclusive = store.shared ? this.exclusive : undefined;
    this.heartbeat = new Heartbeat(clock);
    this.websockets = new WebsocketSupport(() => clock.now(), providerOf);
    this.upstreams = new Upstreams(this.heartbeat);
    const { counters } = this;
    const upstream = this.upstreams.of;
    const warnings = new ModelWarnings(log);
    this.catalog = new Catalog({
      clock,
      read: (account) => requestCatalog(account, { loaded, providerOf, calls: this.#calls }),
      store: { load: () => store.catalog.load(), save: (row) => store.catalog.put(row) },
      sharing: exclusive && new SharedReads({ exclusive, ...store.catalog }),
      observe: ({ account, failure, failureStatus }) => {
        if (failure) log.warn('catalog_read_failed', { account, failure, status: failureStatus });
        warnings.read(this.catalog.accounts, account);
      },
    });
    const ledger = new Ledger(store.usage, clock, store);
    this.node = store.shared ? new NodeServices({ store, clock, counters, log, loaded }) : undefined;
    const limits = this.node?.limitCounts(ledger) ?? new LocalLimits(ledger, clock);
    const notices = new OverflowNotices({ store, log, clock, owner, pools: () => loaded().config.pools });
    this.spending = new OverflowSpending({ limits, ledger, clock, onSpent: (cap, window) => notices.spent(cap, window) });
    this.tiers = {
      budget: this.spending,
      fits: (pool, model, account, tokens) => this.models.fits(pool, model, account, tokens),
      used: (pool, tier) => notices.used(pool, tier),
      refused: (pool, reason) => this.turnMetrics.overflowRefused(pool, reason),
    };
    this.accounting = new Accounting(
      ledger,
      limits,
      new KeylessRows({ requests: store.requests, clock, counters, log, rate: () => loaded().config.limits.keyless_rows_per_second }),
      reachablePrices({ loaded, serves: (pool, model, account) => this.models.serves(pool, model, account) }),
    );
    const records = new AccountRecords();
    this.usage = new AccountUsage({
      clock,
      counters,
      records,
      states: () => this.capacity.states,
      get: (account, path, bounds) => this.#calls.get(account, path, bounds),
      pause: (account, scope, ms) => this.capacity.health.pause(account, scope, ms),
      providerOf,
      wire: () => loaded().config.wire,
      exclusive,
    });
    this.usageRefresh = new UsageRefresh({ store: store.usage, settlements: this.node?.settlements, ledger, clock });
    const policy = { allowsModel, permittedEntry: reflectedEntry };
    this.capacity = new Capacity({
      clock,
      counters,
      log,
      store,
      records,
      loaded,
      upstream,
      catalog: this.catalog,
      models: (health) => new ModelDirectory(this.catalog, health, policy, (pool, models) => warnings.leftOut(pool, models)),
      quota: this.usage.quota,
      providerOf,
      exclusive,
      shared: this.node?.shares,
      hasBudget: (pool, account) => this.spending.hasBudget(pool, account),
    });
    this.models = this.capacity.models;
    this.capacity.states.onRefresh((accounts) => {
      for (const account of accounts) this.usage.quota.refresh(account);
    });
    this.memoryRelease = new MemoryRelease({
      clock,
      isResting: () => this.capacity.admission.running === 0 && this.bodies.held === 0 && this.bodies.dense.held === 0,
      collect: () => {
        counters.add('memory_returned');
        collectAll();
      },
    });
    this.bodies = new BodyMemory(this.memoryRelease.grown);
    const guarded = (): GuardLimits => loaded().config.guard;
    this.guard = new OverloadGuard({ load, counters, limits: guarded, running: () => this.capacity.admission.running });
    this.usage.quota.onRecovery((account) => this.capacity.health.endQuotaCooldown(account));
    this.continuity = new Continuity({
      store: store.pins,
      shared: store.shared,
      key,
      clock,
      counters,
      capacity: loaded().config.limits.pins_in_memory,
    });
    this.files = new Files(store.files, clock);
    this.histories = new WebsocketHistories(counters, () => loaded().config.limits);
    this.capsules = key.capsules();
    this.tokens = new TokenCounter({ clock, counters });
    this.changes = new ChangeFeed({ changes: store.changes, after: (ms, run) => clock.after(ms, run) });
    this.node?.follow(this.changes);
    this.credentials = new Credentials({
      vault: new TokenVault(store.credentials, key, { exclusive: this.exclusive, shared: store.shared }),
      exchange: tokenEndpoint(upstream),
      baseOf,
      clock,
      log,
      ...credentialEvents({ health: this.capacity.health, audit: store.audit, clock, log }),
    });
    this.#calls = new OwnCalls({ credentials: this.credentials, loaded, upstream });
    this.finalisation = new Finalisation({
      post: (to, path, body, bounds) => this.#calls.post(to, path, body, bounds),
    });
  }
}
