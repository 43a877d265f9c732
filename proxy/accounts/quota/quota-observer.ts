// Quota evidence in passing: what the accounts' answers say of their windows, beside what a client gets of it (Q8).
import type { Failure } from '../../turn/failure.ts';
import type { JsonObject } from '../../turn/json.ts';
import type { ReplyObserver, ReplySource } from '../../turn/reply-observer.ts';
import type { Headers } from '../../turn/turn.ts';
import type { Quota } from './quota.ts';
import { type Statement, statedByEvent, statedByHeaders } from './quota-statement.ts';

export class QuotaWitness implements ReplyObserver {
  readonly events = ['<agent>.rate_limits'];
  readonly #quota: Quota;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  head(source: ReplySource, status: number, headers: Headers): void {
    this.#hear(source, statedByHeaders(headers, source.turn.wire.agent, status, source.turn.now()));
  }

  event(source: ReplySource, _type: string, data: JsonObject): void {
    this.#hear(source, statedByEvent(data, source.turn.now()));
  }

  failed({ account }: ReplySource, { cause, resetsAt }: Failure): void {
    if (cause === 'quota') this.#quota.refuse(account.id, resetsAt);
  }

  #hear({ account }: ReplySource, statement: Statement | undefined): void {
    if (statement) this.#quota.hear(account.id, statement);
  }
}
