// One attempt at one account: sends, lets the reply's head decide how it is read, and settles once.
import type { Counters } from '../metrics.ts';
import { carrierFailure, type Failure, statusFailure } from '../turn/failure.ts';
import { nativeAnswerHeaders, publicAnswerHeaders } from '../turn/headers.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal } from '../turn/refusal.ts';
import type { Head, Headers } from '../turn/turn.ts';
import type { Carrier, CarrierFailure, CarrierRequest, ReplyHandler, Sending } from '../upstream/carrier.ts';
import type { ReplyContext, Verdict } from './reply.ts';
import type { Evidence } from './reply-observers.ts';
import type { Client } from './sink.ts';
import { StreamReply } from './stream-reply.ts';
import { WholeReply } from './whole-reply.ts';

export interface AttemptOptions {
  readonly turn: LiveTurn;
  readonly client: Client;
  readonly counters: Counters;
  readonly carrier: Carrier;
  readonly request: CarrierRequest;
  readonly retries: (failure: Failure) => boolean;
  readonly committed: () => void;
  readonly evidence: Evidence;
  /** Headers of ours on an answer of this turn. */
  readonly ownHeaders: Readonly<Record<string, string>>;
  /** Called once, before the attempt resolves. */
  readonly ended: (attempted: Attempted) => void;
}

export interface Attempted {
  readonly verdict: Verdict | { readonly kind: 'gone' };
  /** The provider's status; undefined where none came. */
  readonly status: number | undefined;
  /** What the account was asked with. */
  readonly authorization: string | undefined;
}

export function attempt(options: AttemptOptions): Promise<Attempted> {
  return new Promise((resolve) => {
    const running = new Attempt(options, resolve);
    running.start();
  });
}

class Attempt implements ReplyHandler {
  readonly #options: AttemptOptions;
  readonly #resolve: (attempted: Attempted) => void;
  #sending: Sending | undefined;
  #reply: StreamReply | WholeReply | undefined;
  #status: number | undefined;
  #forget: () => void = () => undefined;
  #settled = false;

  constructor(options: AttemptOptions, resolve: (attempted: Attempted) => void) {
    this.#options = options;
    this.#resolve = resolve;
  }

  start(): void {
    const { client, carrier, request } = this.#options;
    this.#forget = client.onGone(() => this.#gone());
    if (!this.#settled) this.#sending = carrier.send(request, this);
  }

  head(status: number, headers: Headers): void {
    try {
      this.#read(status, headers);
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  data(chunk: Buffer): void {
    try {
      this.#reply?.data(chunk);
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  end(): void {
    try {
      this.#reply?.end();
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  fail(failure: CarrierFailure): void {
    try {
      if (failure === 'first_byte') this.#options.counters.add('upstream_first_byte_timeouts');
      if (this.#reply) this.#reply.fail(failure);
      else this.#settle({ kind: 'failed', failure: carrierFailure(failure) });
    } catch (thrown) {
      this.#broken(thrown);
    }
  }

  #read(status: number, headers: Headers): void {
    this.#status = status;
    this.#options.evidence.head(status, headers);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      this.#refuseCoded(status, headers);
      return;
    }
    const { turn, client, counters, retries, committed, evidence, ownHeaders } = this.#options;
    const head: Head = { status, headers: Object.assign(answerHeaders(turn, headers), ownHeaders) };
    const context: ReplyContext = {
      turn,
      counters,
      retries,
      committed,
      evidence,
      sending: () => this.#sending as Sending,
      settle: (verdict) => this.#settle(verdict),
    };
    const streams = status < 300 && (headers['content-type'] ?? '').trimStart().toLowerCase().startsWith('text/event-stream');
    if (!streams) this.#reply = new WholeReply(status, headers, head, client, context);
    else this.#reply = new StreamReply(head, client.sink(), context);
  }

  /** What nobody foresaw ends the turn: the carrier that called would swallow it, and leave the turn waiting for ever. */
  #broken(thrown: unknown): void {
    this.#options.turn.fault(thrown);
    this.#sending?.abort();
    this.#reply?.abandon();
    this.#settle({ kind: 'refused', refusal: new Refusal('server_error') });
  }

  #gone(): void {
    const shown = this.#reply?.shown ?? false;
    this.#sending?.abort();
    this.#reply?.abandon();
    this.#options.turn.end({ outcome: { kind: 'client_gone', shown }, status: 499, code: null });
    this.#settle({ kind: 'gone' });
  }

  /** Only identity was asked for: what is coded can be neither read nor passed on. Of a refusal the status says enough. */
  #refuseCoded(status: number, headers: Headers): void {
    this.#sending?.abort();
    const now = this.#options.turn.now();
    const failure = status < 300 ? carrierFailure('malformed') : statusFailure(status, headers, Buffer.alloc(0), now);
    this.#settle({ kind: 'failed', failure });
  }

  #settle(verdict: Verdict | { readonly kind: 'gone' }): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#forget();
    const { ended, request } = this.#options;
    const attempted = { verdict, status: this.#status, authorization: request.headers.authorization };
    ended(attempted);
    this.#resolve(attempted);
    if ('failure' in verdict && verdict.failure) this.#options.evidence.failed(verdict.failure);
  }
}

function answerHeaders(turn: LiveTurn, headers: Headers): Record<string, string> {
  if (!turn.native) return publicAnswerHeaders(headers);
  return nativeAnswerHeaders(headers, turn.wire, turn.pool.hide_account_quota ? 'hide-quota' : 'show-quota');
}
