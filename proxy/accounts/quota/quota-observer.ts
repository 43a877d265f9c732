// Reads quota statements from the replies of accounts, independent of what the client receives (Q8).
import type { Failure } from '../../turn/failure.ts';
import type { JsonObject } from '../../turn/json.ts';
import type { ReplyObserver, ReplySource } from '../../turn/reply-observer.ts';
import type { Headers } from '../../turn/turn.ts';
import type { Quota } from './quota.ts';
import { type QuotaStatement, quotaFromEvent, quotaFromHeaders } from './quota-statement.ts';

export class QuotaObserver implements ReplyObserver {
  readonly events = ['<agent>.rate_limits'];
  readonly #quota: Quota;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  head(source: ReplySource, status: number, headers: Headers): void {
    this.#record(source, quotaFromHeaders(headers, source.turn.wire.agent, status, source.turn.now()));
  }

  event(source: ReplySource, _type: string, data: JsonObject): void {
    this.#record(source, quotaFromEvent(data, source.turn.now()));
  }

  failed({ account }: ReplySource, { cause, resetsAt }: Failure): void {
    if (cause === 'quota') this.#quota.recordRefusal(account.id, resetsAt);
  }

  #record({ account }: ReplySource, statement: QuotaStatement | undefined): void {
    if (statement) this.#quota.record(account.id, statement);
  }
}
