// The tests' upstream: the rehearsal provider in this process, with a queue of scripts for each account and a record of all requests.
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { SimulatedLogin } from '../../proxy/rehearsal/account/login.ts';
import type { Manners } from '../../proxy/rehearsal/account/manners.ts';
import type { RehearsalAccount } from '../../proxy/rehearsal/account/simulated-account.ts';
import type { Authorization } from '../../proxy/rehearsal/login/authorization.ts';
import { type Provider, startProvider } from '../../proxy/rehearsal/provider.ts';
import type { ReceivedRequest } from '../../proxy/rehearsal/received-request.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { WireWords } from '../../proxy/turn/settings.ts';
import { type Arrival, Inbox, inTime, type Script } from './rehearsal-inbox.ts';
import { until } from './until.ts';

export type { Arrival, Script };

export interface UpstreamOptions {
  /** The accounts. Default: `north` and `south`. A string is an account with default settings. */
  readonly accounts?: readonly (string | RehearsalAccount)[];
  readonly wire?: WireWords;
  readonly clock?: Clock;
  /** Whether accounts are strict by default. Otherwise they accept everything. Default: true. */
  readonly strict?: boolean;
  /** Manners of all accounts that differ from those of the real backend. */
  readonly manners?: Partial<Manners>;
  /** The catalog of accounts that have none of their own. */
  readonly models?: readonly JsonObject[];
  /** Returns the script of a request, which takes precedence over all queues. Useful if requests come in any order. */
  readonly script?: (request: ReceivedRequest) => Script | undefined;
}

export class Upstream {
  private readonly provider: Provider;
  private readonly inbox: Inbox;

  /** Call `startUpstream` instead. */
  constructor(provider: Provider, inbox: Inbox) {
    this.provider = provider;
    this.inbox = inbox;
  }

  /** The account's base URL, without trailing slash. */
  urlOf(account: string): string {
    return this.provider.urlOf(account);
  }

  /** Queues scripts for the account's next turns, one for each turn. A turn without a script gets the ordinary answer. */
  next(account: string, ...scripts: readonly Script[]): void {
    this.inbox.queue(`${account} turn`, scripts);
  }

  /** Queues scripts for the next requests of a path that is not a turn: `/backend-api/agent/models`, `/backend-api/files/*\/uploaded`. */
  nextOn(account: string, path: string, ...scripts: readonly Script[]): void {
    this.inbox.queue(`${account} ${path}`, scripts);
  }

  /** Queues scripts for the account's next upgrades: `refuse upgrade 403`, `stall upgrade`. */
  nextUpgrade(account: string, ...scripts: readonly Script[]): void {
    this.inbox.queue(`${account} upgrade`, scripts);
  }

  /**
   * Sets the script of every turn and upgrade of the account while its queue is empty, until it is set to `steady`. Upgrades do not get its
   * `reply`.
   */
  always(account: string, script: Script): void {
    this.inbox.standing.set(account, script);
  }

  /** All requests so far, of one account or of all, in order of arrival. */
  requests(account?: string): readonly Arrival[] {
    return this.inbox.arrivals.filter((arrival) => account === undefined || arrival.account === account);
  }

  /** The turns among these requests. */
  turns(account?: string): readonly Arrival[] {
    return this.requests(account).filter(({ turn }) => turn > 0);
  }

  /** The upgrades among these requests. */
  upgrades(account?: string): readonly Arrival[] {
    return this.requests(account).filter(({ isUpgrade }) => isUpgrade);
  }

  /** Resolves with the turns when there are at least this many. */
  async arrived(count: number, account?: string): Promise<readonly Arrival[]> {
    const of = account === undefined ? '' : ` at ${account}`;
    await this.inbox.until(
      () => this.turns(account).length >= count,
      () => `${this.turns(account).length} of ${count} turns arrived${of}`,
    );
    return this.turns(account);
  }

  /** Resolves when this many answers of the account are stalled (`stall …`). */
  stalled(account: string, count = 1): Promise<void> {
    const { paused } = this.provider;
    return inTime(paused.whenPaused(account, count), () => `${paused.count(account)} of ${count} answers of ${account} are paused`);
  }

  /** The number of stalled answers of the account. */
  stalledNow(account: string): number {
    return this.provider.paused.count(account);
  }

  /** Continues stalled answers, of one account or of all. */
  release(account?: string): void {
    this.provider.paused.release(account);
  }

  /** The number of open websockets of the account. */
  socketsOf(account: string): number {
    return this.provider.socketsOf(account);
  }

  /** Resolves when the account has this many open websockets. */
  async sockets(account: string, count: number): Promise<void> {
    await until(`${count} websockets of ${account}`, () => this.socketsOf(account) === count || undefined);
  }

  /** Closes the account's websockets without a running turn. @returns how many */
  closeSockets(account: string, code: number): number {
    return this.provider.closeSockets(account, code);
  }

  /** The login of an account that has a token endpoint (`oauth`). */
  loginOf(account: string): SimulatedLogin {
    return this.provider.loginOf(account);
  }

  /** The authorization server of an account with a login (`oauth`). */
  authorizationOf(account: string): Authorization {
    return this.provider.authorizationOf(account);
  }

  /** Ends the account's connections and refuses new ones. */
  hangUp(account: string): Promise<void> {
    return this.provider.disconnect(account);
  }

  /** Accepts connections again, at the same address. */
  pickUp(account: string): Promise<void> {
    return this.provider.reconnect(account);
  }

  /** Drops all records and scripts, and releases stalled answers. */
  clear(): void {
    this.inbox.clear();
    this.release();
  }

  close(): Promise<void> {
    return this.provider.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Starts an upstream for a test. `await using` closes it. */
export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const { accounts = ['north', 'south'], strict, manners, models, wire, clock, script } = options;
  const inbox = new Inbox(script);
  const common = {
    ...(strict === undefined ? {} : { strict }),
    ...(manners === undefined ? {} : { manners }),
    ...(models === undefined ? {} : { models }),
  };
  const provider = await startProvider({
    accounts: accounts.map((account) => ({ ...common, ...(typeof account === 'string' ? { id: account } : account) })),
    faultSource: (request) => inbox.scriptFor(request),
    observe: (request) => inbox.record(request),
    ...(wire === undefined ? {} : { wire }),
    ...(clock === undefined ? {} : { clock }),
  });
  return new Upstream(provider, inbox);
}
