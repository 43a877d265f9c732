// Reads quota statements from the replies of accounts, independently of what the client receives (Q8).
import type { Failure } from '../../turn/errors/failure.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { LONGEST_RATE_MS, type QuotaStatement, type RateLimit, rateReset } from '../../turn/provider/quota-statement.ts';
import type { ReplyObserver, ReplySource } from '../../turn/reply/reply-observer.ts';
import type { WireWords } from '../../turn/settings.ts';
import type { Headers } from '../../turn/turn.ts';
import { scopeOf } from '../scope.ts';
import type { Quota } from './quota.ts';

export interface QuotaObserverOptions {
  readonly quota: Quota;
  /** Blocks turns of a model at an account for a while (AA39). */
  readonly pause: (account: string, scope: string, ms: number) => void;
  /** Reads an account's usage once the current answer counts against a limit that it has just stated. */
  readonly readLater: (account: string) => void;
}

export class QuotaObserver implements ReplyObserver {
  readonly events = [];
  readonly #options: QuotaObserverOptions;

  constructor(options: QuotaObserverOptions) {
    this.#options = options;
  }

  eventsOf({ quota }: ProviderApi, wire: WireWords): readonly string[] {
    return quota.eventTypes(wire);
  }

  head(source: ReplySource, status: number, headers: Headers): void {
    this.#recordHeaders(source, status, headers);
    const { rates } = source.provider.quota;
    if (rates) this.#recordRates(source, rates(headers, source.turn.now()));
  }

  event(source: ReplySource, _type: string, data: JsonObject): void {
    this.#record(source, source.provider.quota.fromEvent(data, source.turn.now()));
  }

  failed(source: ReplySource, { cause, status, resetsAt, lastingLimit, frameHeaders }: Failure): void {
    const { account } = source;
    // These headers are recorded before the refusal, which may take its reset from them (RB27).
    if (frameHeaders) this.#recordHeaders(source, status ?? 400, frameHeaders);
    if (cause !== 'quota') return;
    const { quota, readLater } = this.#options;
    if (lastingLimit !== true || resetsAt !== undefined) quota.recordRefusal(account.id, resetsAt);
    else {
      quota.recordLastingLimit(account.id);
      readLater(account.id);
    }
  }

  #recordHeaders(source: ReplySource, status: number, headers: Headers): void {
    const { provider, turn } = source;
    this.#record(source, provider.quota.fromHeaders(headers, { status, wire: turn.wire, now: turn.now() }));
  }

  #recordRates({ account, turn }: ReplySource, limits: readonly RateLimit[] | undefined): void {
    if (!limits || !turn.model) return;
    const { quota, pause } = this.#options;
    quota.recordRates(account.id, turn.model.id, limits);
    const reset = rateReset(limits, turn.now());
    if (reset !== undefined) pause(account.id, scopeOf(turn), Math.min(LONGEST_RATE_MS, reset));
  }

  #record({ account }: ReplySource, statement: QuotaStatement | undefined): void {
    if (statement) this.#options.quota.record(account.id, statement);
  }
}
