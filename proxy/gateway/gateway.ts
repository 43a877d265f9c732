// The running program: one generation of configuration at a time over the services that outlive it.
import type { AddressInfo } from 'node:net';
import { openStore } from '../../store/store.ts';
import { auditWait } from '../admin/answers/audit-wait.ts';
import { NodeLoad, type ProcessLoad } from '../admission/process-load.ts';
import { Log } from '../base/process/log.ts';
import { type Clock, systemClock, withDeadline } from '../base/time/clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import { agreeOnNodeSecret, agreeOnSecret } from '../encryption/shared-secret.ts';
import { storeKeyOf } from '../encryption/store-key.ts';
import { Providers } from '../providers/providers.ts';
import { startProviderThread } from '../rehearsal/provider-thread.ts';
import { RehearsalProviders, type StartRehearsal } from '../rehearsal/rehearsal-providers.ts';
import { Generation } from '../server/generation.ts';
import { NodeHop } from '../server/node-hop.ts';
import { PublicListener } from '../server/public-listener.ts';
import type { Websockets } from '../server/websockets.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { Surface } from '../turn/surface.ts';
import { AccountTests } from './account-test/account-tests.ts';
import { ConfigFollower } from './config-follower.ts';
import { endFormerRefusals, followOtherProcesses } from './convergence.ts';
import { turnHost, turnRunner } from './handlers.ts';
import { type OperatorAddresses, OperatorListeners } from './operator-listeners.ts';
import { keepRetention } from './retention.ts';
import { Services, type ServicesOptions } from './services.ts';
import { GatewayPreviews } from './turn-previews.ts';

export interface GatewayOptions {
  readonly loaded: LoadedConfig;
  readonly clock?: Clock;
  readonly log?: Log;
  /** The load of the process, which its guard reads. */
  readonly load?: ProcessLoad;
  /** Returns the API of an account. */
  readonly providerOf?: ProviderOf;
  /** Surfaces in addition to those of the kinds. They claim their requests. */
  readonly surfaces?: readonly Surface[];
  /** The provider of rehearsal accounts. */
  readonly startRehearsal?: StartRehearsal;
}

export interface Addresses extends OperatorAddresses {
  /** Undefined if clients use the socket in the file system only. */
  readonly main: AddressInfo | undefined;
}

/** How long a reload waits for the catalogs of its accounts. */
const CATALOG_DEADLINE_MS = 1_000;

export class Gateway {
  readonly services: Services;
  readonly follower: ConfigFollower;
  readonly accountTester: AccountTests;
  readonly previews: GatewayPreviews;
  readonly startedAt: number;
  readonly #listener: PublicListener;
  readonly #hop: NodeHop | undefined;
  readonly #operators: OperatorListeners;
  readonly #providers: Providers;
  readonly #rehearsals: RehearsalProviders;
  readonly #current: { generation: Generation };
  #accepting = false;
  #closing = false;
  readonly #load: ProcessLoad;
  #forgetRetention = (): void => undefined;

  /** Opens the store and starts what must run before the first turn. @throws StoreError */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const {
      loaded,
      clock = systemClock,
      log = new Log(loaded.config.log.level),
      load = new NodeLoad(),
      providerOf,
      surfaces = [],
      startRehearsal = startProviderThread,
    } = options;
    const { config } = loaded;
    const [store, key, rehearsals] = await Promise.all([
      openStore(loaded.storeUrl, {
        clock: () => clock.now(),
        machineTime: systemClock.now,
        queueRows: config.limits.rows_waiting,
        notice: (event, fields) => log.warn(event, fields),
        gateway: true,
        ...(typeof config.store === 'object' && { connections: config.store.connections }),
      }),
      storeKeyOf(config.store, config.store_key),
      RehearsalProviders.start(config, startRehearsal),
    ]);
    try {
      if (store.shared) await agreeOnSecret(store, 'store_key', key);
      if (loaded.nodeSecret !== undefined) await agreeOnNodeSecret(store, loaded.nodeSecret);
    } catch (thrown) {
      await Promise.all([rehearsals.close(), store.close()]);
      throw thrown;
    }
    const providers = new Providers({ clock, key });
    await providers.load(config.accounts);
    const opened = { store, key, clock, log, load, providerOf: providerOf ?? providers.of };
    return new Gateway(loaded, { rehearsals, providers }, opened, surfaces);
  }

  private constructor(
    loaded: LoadedConfig,
    { rehearsals, providers }: { readonly rehearsals: RehearsalProviders; readonly providers: Providers },
    opened: Omit<ServicesOptions, 'baseOf' | 'loaded'>,
    surfaces: readonly Surface[],
  ) {
    this.startedAt = opened.clock.wallTime();
    this.#rehearsals = rehearsals;
    this.#providers = providers;
    this.#load = opened.load;
    this.#current = { generation: new Generation(loaded) };
    this.services = new Services({ ...opened, loaded: () => this.loaded, baseOf: (id) => this.#baseOf(id) });
    followOtherProcesses(this.services);
    void this.services.upstreams.configure(loaded, (account) => rehearsals.urlOf(account));
    const { counters, heartbeat } = this.services;
    this.#hop = NodeHop.of({ ...opened, counters, heartbeat, loaded: () => this.loaded });
    this.#listener = new PublicListener(this.services, {
      current: this.#current,
      host: turnHost(this.services, surfaces),
      runner: turnRunner(this.services, this),
      nodes: this.#hop?.sessions,
    });
    this.follower = new ConfigFollower(this, loaded);
    this.accountTester = new AccountTests(this.services, () => this.#current.generation);
    this.previews = new GatewayPreviews(this.services, () => this.#current.generation);
    this.#operators = new OperatorListeners(this, opened.key.cipher('admin sessions'));
  }

  /** The configuration with which new turns begin. */
  get loaded(): LoadedConfig {
    return this.#current.generation.loaded;
  }

  get websockets(): Websockets {
    return this.#listener.websockets;
  }

  now(): number {
    return this.services.clock.now();
  }

  wallTime(): number {
    return this.services.clock.wallTime();
  }

  get ready(): boolean {
    const { catalog, node, usage } = this.services;
    return this.#accepting && catalog.ready && usage.ready && (node?.isReady ?? true);
  }

  /** Accepts connections at once. `/readyz` reports ready after the first round of reads of catalogs and usage. */
  async listen(): Promise<Addresses> {
    const { accounting, capacity, catalog, changes, clock, continuity, credentials, log, node, store, usage } = this.services;
    const { config } = this.loaded;
    // First, because the node publishes the address together with its name, and other nodes forward only to a process with sessions.
    const address = await this.#hop?.listen((hop) => this.websockets.acceptForwarded(hop));
    await node?.membership.start(address ?? null);
    await changes.start();
    await Promise.all([capacity.start(), continuity.load(), accounting.load()]);
    await node?.shares.start();
    await credentials.configure(this.loaded);
    endFormerRefusals(this.services, config.accounts);
    usage.configure(config.accounts);
    await catalog.start(config.accounts);
    const main = await this.#listener.listen(config.listen);
    const { admin, metrics } = await this.#operators.listen(config);
    this.#accepting = true;
    this.#forgetRetention = keepRetention({
      store,
      clock,
      log,
      counters: this.services.counters,
      retention: () => this.loaded.config.retention,
    });
    return { main, admin, metrics };
  }

  /** Loads what the start leaves out, so that the first request of an operator is not slow. */
  async warmUp(): Promise<void> {
    await this.#operators.load();
  }

  /**
   * Uses a new configuration for every turn from now on. Turns in flight keep theirs. Resolves when the catalogs of its accounts were read,
   * or when the deadline has passed, so that an account which does not answer does not delay the next change.
   */
  async reload(loaded: LoadedConfig): Promise<void> {
    const { capacity, catalog, clock, credentials, log, node, upstreams, usage } = this.services;
    await this.#providers.load(loaded.config.accounts);
    const endFormer = await this.#rehearsals.reconfigure(loaded.config);
    // A gateway that stops takes no new turns, and its connections may have ended.
    if (this.#closing) return;
    void upstreams.configure(loaded, (account) => this.#rehearsals.urlOf(account)).then(endFormer);
    this.#current.generation = new Generation(loaded);
    log.level = loaded.config.log.level;
    capacity.configure();
    this.#listener.configure();
    void node?.membership.publish();
    const followed = credentials.configure(loaded);
    usage.configure(loaded.config.accounts);
    // Awaited last, because a store that does not answer must not delay anything else, especially not the end of a revoked key.
    await followed;
    await withDeadline(catalog.reload(loaded.config.accounts), clock, CATALOG_DEADLINE_MS);
  }

  #baseOf(id: string): string {
    const account = this.loaded.config.accounts.find((one) => one.id === id);
    if (!account) throw new Error(`there is no account ${id}`);
    return this.#rehearsals.urlOf(account);
  }

  /** Reads the credential files that the configuration names again, because an operator may have logged an account in again. */
  refresh(): Promise<void> {
    return this.services.credentials.configure(this.loaded);
  }

  /**
   * Stops the gateway: reports not ready, waits for running turns, cuts the rest after `drain_ms`, then writes and closes everything.
   * @returns whether all rows and settlements are in the store
   */
  async close(): Promise<boolean> {
    const { capacity, catalog, changes, clock, continuity, log, node, store, tokens, upstreams, usage, usageRefresh } = this.services;
    this.#accepting = false;
    this.#closing = true;
    const audited = auditWait(this.follower.startAudited, clock);
    continuity.drain();
    this.#operators.endLogins();
    this.services.memoryRelease.stop();
    const cut = await this.#listener.drain(this.loaded.config.timeouts.drain_ms, store.shared);
    if (cut > 0) log.warn('turns_cut', { turns: cut });
    await Promise.all([this.websockets.stop(), this.#hop?.close()]);
    const lostSettlements = (await node?.stop()) ?? 0;
    for (const part of [catalog, usage, usageRefresh, capacity, changes]) part.stop();
    continuity.flush();
    this.#load.stop();
    this.#forgetRetention();
    await Promise.all([audited, upstreams.destroy(), tokens.close()]);
    const [lost] = await Promise.all([store.close(), this.#operators.close(), this.#rehearsals.close()]);
    if (lost > 0) log.error('store_rows_lost', { rows: lost });
    return lost === 0 && lostSettlements === 0;
  }
}
