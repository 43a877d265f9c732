// The only file of the tests that uses the internals of a running gateway. All other tests use its sockets.
import assert from 'node:assert/strict';
import type { AccountStatus } from '../../proxy/accounts/capacity.ts';
import type { AttemptResult } from '../../proxy/accounts/health/attempt-result.ts';
import type { QuotaStatus } from '../../proxy/accounts/quota/quota-status.ts';
import type { ClassStatus } from '../../proxy/admission/admission.ts';
import type { CounterName } from '../../proxy/base/process/metrics.ts';
import type { Config } from '../../proxy/config/config.ts';
import type { Gateway } from '../../proxy/gateway/gateway.ts';
import type { AccountCatalogStatus } from '../../proxy/models/catalog/account-catalog.ts';
import type { AccountModel } from '../../proxy/turn/provider/account-model.ts';
import type { AdmissionClass } from '../../proxy/turn/settings.ts';
import type { AttemptRow, AuditRow, RequestRow, SessionOwner, UsageRow } from '../../store/store.ts';

/** Parts that a test can make throw, which no request could do. */
export type BreakablePart = 'leases' | 'model list' | 'request log' | 'request search';

export class Probes {
  protected readonly gateway: Gateway;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  /** The configuration with which new turns begin. */
  get config(): Config {
    return this.gateway.loaded.config;
  }

  /** Resolves when the first catalogs and usage reads have been answered. */
  async ready(): Promise<void> {
    const { catalog, usage } = this.gateway.services;
    await Promise.all([catalog.whenReady, usage.whenReady]);
  }

  /** The value of a counter. */
  count(name: CounterName): number {
    return this.gateway.services.counters.values[name];
  }

  /** The number of open websockets of clients. */
  get websockets(): number {
    return this.gateway.websockets.count;
  }

  /** The bytes that were written to client websockets and not taken yet. */
  get heldBytes(): number {
    return this.gateway.websockets.heldBytes;
  }

  /** The bytes of bodies that are being received. */
  get bodyBytes(): number {
    return this.gateway.services.bodies.held;
  }

  /** The bytes that turns hold of their replies. */
  get replyBytes(): number {
    return this.gateway.services.replies.held;
  }

  /** What is known of a model at an API account. */
  accountModel(id: string, model: string): AccountModel | undefined {
    const account = this.gateway.loaded.config.accounts.find((one) => one.id === id);
    return account && this.gateway.services.models.accountModel(account, model);
  }

  /** The health of every account and its attempts in flight, in configuration order. */
  accounts(): readonly AccountStatus[] {
    return this.gateway.services.capacity.status().accounts;
  }

  account(id: string): AccountStatus {
    return this.accounts().find(({ account }) => account === id) ?? assert.fail(`no account ${id}`);
  }

  /** The catalog state of each account. */
  catalogs(): readonly AccountCatalogStatus[] {
    return this.gateway.services.catalog.accounts.status();
  }

  /** The quota state of an account. */
  quota(id: string): QuotaStatus {
    return this.gateway.services.usage.quota.status().find(({ account }) => account === id) ?? assert.fail(`no account ${id}`);
  }

  /** The running and waiting turns of one admission class. */
  admission(name: AdmissionClass): ClassStatus {
    return this.gateway.services.capacity.status().admission[name] ?? assert.fail(`no class ${name}`);
  }

  /** All request rows, oldest first. */
  async rows(): Promise<readonly RequestRow[]> {
    const { store } = this.gateway.services;
    await this.flush();
    return (await store.requests.list({ limit: 1000 })).toReversed();
  }

  /** All usage rows, which are sums by key, Pool and day. */
  async usageRows(): Promise<readonly UsageRow[]> {
    await this.flush();
    return this.gateway.services.store.usage.load(0);
  }

  /** The row of a request, by its id or by an answer with the id in its headers. */
  async row(of: string | { readonly headers: Headers }): Promise<RequestRow | undefined> {
    const { store } = this.gateway.services;
    await this.flush();
    const [row] = await store.requests.list({ id: typeof of === 'string' ? of : (of.headers.get('x-request-id') ?? '') });
    return row;
  }

  /** The rows of a request's attempts, in order. */
  async attempts(requestId: string): Promise<readonly AttemptRow[]> {
    const row = await this.row(requestId);
    return row ? this.gateway.services.store.attempts.of(row) : [];
  }

  /** Audits the configuration as `serve` does at its start. */
  auditStart(): Promise<void> {
    return this.gateway.follower.started();
  }

  audit(action: string): Promise<readonly AuditRow[]> {
    return this.gateway.services.store.audit.list({ action });
  }

  /** Writes rows as if earlier turns, operators or processes had done so. */
  async leave(rows: {
    readonly requests?: readonly RequestRow[];
    readonly attempts?: readonly AttemptRow[];
    readonly audit?: readonly Omit<AuditRow, 'id'>[];
    readonly usage?: readonly UsageRow[];
  }): Promise<void> {
    const { store } = this.gateway.services;
    const { requests = [], attempts = [], audit = [], usage = [] } = rows;
    for (const row of requests) {
      store.requests.append(
        row,
        attempts.filter(({ request_id }) => request_id === row.id),
      );
    }
    for (const row of usage) store.usage.add(row);
    for (const row of audit) await store.audit.record(row);
    await this.flush();
  }

  /** The functions of the request log, which a test may replace. */
  get requestLog() {
    return this.gateway.services.store.requests;
  }

  /** Resolves when the store has everything that was written so far. */
  async flush(): Promise<void> {
    await this.gateway.services.store.flush();
  }

  /** Writes the pins, as at the beginning of a drain. */
  drainPins(): Promise<void> {
    this.gateway.services.continuity.drain();
    return this.flush();
  }

  /** The number of pins in the store. */
  async pinRows(): Promise<number> {
    await this.drainPins();
    return (await this.gateway.services.store.pins.load(10_000)).length;
  }

  /** Adds a file to the Pool, as if it had been uploaded to the account. */
  addFile(pool: string, id: string, account: string): Promise<void> {
    const { files, clock } = this.gateway.services;
    const upload = { filename: 'a.txt', bytes: 1, purpose: 'user_data', status: 'processed', expires_at: null } as const;
    return files.save({ pool, id, account, created_at: clock.now(), ...upload });
  }

  /** Reads the changes of other gateways on the store. */
  async poll(): Promise<void> {
    await this.gateway.services.changes.poll();
  }

  /** Ends an attempt at an account with this result, as a turn would. */
  fail(account: string, model: string, result: AttemptResult): void {
    const { health } = this.gateway.services.capacity;
    health.end(health.begin(account, model, this.gateway.loaded.bearers.get(account)), result);
  }

  /** States that this percentage of the account's window of 5 h is used, as headers of an answer do. */
  stateQuota(account: string, used: number): void {
    const windows = [{ seconds: 18_000, used, resetsAt: undefined }];
    this.gateway.services.usage.quota.record(account, { source: 'headers', windows, reached: false });
  }

  /** Ends every cooldown and every need to log in. */
  heal(): void {
    const { health } = this.gateway.services.capacity;
    for (const { account } of this.accounts()) health.reset(account);
  }

  /** The slots of an account that this node holds. */
  slots(account: string): number {
    const held = this.gateway.services.node?.shares.held() ?? [];
    return held.find(([id]) => id === account)?.[1] ?? 0;
  }

  /** Counts the reservations that the store gets from now on. */
  countReservations(): () => number {
    const { limits } = this.gateway.services.store;
    const { take } = limits;
    let count = 0;
    const value: typeof take = (...asked) => {
      count += 1;
      return take(...asked);
    };
    Object.defineProperty(limits, 'take', { value });
    return () => count;
  }

  /** The number of settlements that wait to be written. */
  get settlements(): number {
    return this.gateway.services.node?.settlements.waiting ?? 0;
  }

  /** Stops all writes of the node to the store, as if its process had been killed. */
  kill(): void {
    const { limits, nodes, slots } = this.gateway.services.store;
    const value = (): Promise<never> => new Promise(() => undefined);
    for (const [verbs, name] of [
      [limits, 'settle'],
      [limits, 'take'],
      [nodes, 'renew'],
      [nodes, 'join'],
      [slots, 'claim'],
    ] as const)
      Object.defineProperty(verbs, name, { value });
  }

  /** Stops reads of catalogs and usage, for tests that advance the clock by weeks. */
  stopOwnCalls(): void {
    this.gateway.services.catalog.stop();
    this.gateway.services.usage.reads.stop();
  }

  /** Replaces the answers to claims of sessions. `ask` asks the store. */
  answerSessionClaims(answer: (ask: () => Promise<SessionOwner>) => Promise<SessionOwner>): void {
    const { sessionOwners } = this.gateway.services.store;
    const { claim } = sessionOwners;
    const value: typeof claim = (asked) => answer(() => claim(asked));
    Object.defineProperty(sessionOwners, 'claim', { value });
  }

  /** Makes a part throw whenever it is used. */
  breakPart(part: BreakablePart, thrown: Error): void {
    const { models, store } = this.gateway.services;
    const value = (): never => {
      throw thrown;
    };
    if (part === 'leases') Object.defineProperty(store.leases, 'acquire', { value });
    else if (part === 'model list') Object.defineProperty(models, 'publicList', { value });
    else Object.defineProperty(store.requests, part === 'request log' ? 'append' : 'list', { value });
    // The row of a turn with usage is written together with its usage.
    if (part === 'request log') Object.defineProperty(store.usage, 'add', { value });
  }
}
