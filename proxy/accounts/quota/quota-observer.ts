// Reads quota statements from the replies of accounts, independent of what the client receives (Q8).
import type { Failure } from '../../turn/errors/failure.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ReplyObserver, ReplySource } from '../../turn/reply/reply-observer.ts';
import type { Headers } from '../../turn/turn.ts';
import type { Quota } from './quota.ts';
import { type QuotaStatement, quotaFromEvent, quotaFromHeaders } from './quota-statement.ts';

export interface QuotaObserverOptions {
  readonly quota: Quota;
  /** Asks an account for its usage as soon as its answer counts against a limit that it has just stated. */
  readonly readLater: (account: string) => void;
}

export class QuotaObserver implements ReplyObserver {
  readonly events = ['<agent>.rate_limits'];
  readonly #options: QuotaObserverOptions;

  constructor(options: QuotaObserverOptions) {
    this.#options = options;
  }

  head(source: ReplySource, status: number, headers: Headers): void {
    this.#record(source, quotaFromHeaders(headers, source.turn.wire.agent, status, source.turn.now()));
  }

  event(source: ReplySource, _type: string, data: JsonObject): void {
    this.#record(source, quotaFromEvent(data, source.turn.now()));
  }

  failed(source: ReplySource, { cause, status, resetsAt, lastingLimit, frameHeaders }: Failure): void {
    const { turn, account } = source;
    // Before the refusal, which may have its reset from them (RB27).
    if (frameHeaders) this.#record(source, quotaFromHeaders(frameHeaders, turn.wire.agent, status ?? 400, turn.now()));
    if (cause !== 'quota') return;
    const { quota, readLater } = this.#options;
    if (lastingLimit !== true || resetsAt !== undefined) quota.recordRefusal(account.id, resetsAt);
    else {
      quota.recordLastingLimit(account.id);
      readLater(account.id);
    }
  }

  #record({ account }: ReplySource, statement: QuotaStatement | undefined): void {
    if (statement) this.#options.quota.record(account.id, statement);
  }
}
