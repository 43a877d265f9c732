// One attempt at one account: sends the request, handles its reply, and settles once.
import type { AttemptResult } from '../accounts/health/attempt-result.ts';
import type { AccountLease } from '../accounts/selection/lease.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type CarrierFailure, carrierFailure, type Failure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { Confidential } from '../turn/errors/sanitise.ts';
import { credentialHeader } from '../turn/provider/api-account.ts';
import type { EventHandler } from '../turn/provider/provider-replies.ts';
import type { HeldEvents } from '../turn/reply/reply-observer.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Head, Headers } from '../turn/turn.ts';
import type { ByteReader, CarrierRequest, EventReader, ReplyHandler, Sending } from '../upstream/carriers/carrier.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import type { Client } from './client.ts';
import type { DecodedReply } from './reply/decoded-reply.ts';
import { EventReply } from './reply/events/event-reply.ts';
import { OutputCap } from './reply/events/output-cap.ts';
import { PipedReply } from './reply/piped-reply.ts';
import {
  beginReply,
  pipedReply,
  type RepliedAttempt,
  type Reply,
  type ReplyByHead,
  turnReader,
  wholeReply,
} from './reply/reply-by-head.ts';
import type { Attempted, ReplyContext, Verdict } from './reply/reply-context.ts';
import type { AttemptObservers } from './reply/reply-observers.ts';
import { WholeReply } from './reply/whole-reply.ts';
import type { Composed } from './request/compose.ts';
import { stoppedRefusal } from './stopped-turn.ts';

/** What all attempts of a turn have in common. */
interface Common extends Confidential {
  readonly request: Pick<RepliedAttempt, 'client' | 'countOutput'>;
  readonly counters: Counters;
}

export abstract class Attempt implements RepliedAttempt, ReplyHandler<EventReader | ByteReader> {
  readonly turn: ReplyContext['turn'];
  readonly provider: ReplyContext['provider'];
  readonly estimateUsage: ReplyContext['estimateUsage'];
  readonly client: Client;
  readonly known: Confidential;
  readonly countOutput: ReplyContext['countOutput'];
  readonly account: AccountConfig;
  readonly upstream: Upstream;
  readonly counters: Counters;
  readonly observers: AttemptObservers;
  readonly sent: ReplyContext['sent'];
  readonly slot: Composed['slot'];
  readonly decoding: readonly EventHandler[] | undefined;
  readonly outputCap: OutputCap | undefined;
  sentAt = 0;
  status: number | undefined;
  reply: Reply | undefined;
  decoded: DecodedReply | undefined;
  readonly #upload: Composed['upload'];
  #request!: CarrierRequest;
  #resolve!: (attempted: Attempted) => void;
  #sending: Sending | undefined;
  #authorization: string | undefined;
  #reused = false;
  #cancelGone: (() => void) | undefined;
  #settled = false;

  constructor(common: Common, at: Pick<AccountLease, 'account' | 'upstream' | 'tier'>, composed: Composed, observers: AttemptObservers) {
    const { composition, adapted, out, outputCap } = composed;
    const { places } = out;
    const { turn, provider, estimateUsage } = composition;
    this.turn = turn;
    this.provider = provider;
    this.estimateUsage = estimateUsage;
    this.client = common.request.client;
    this.known = common;
    this.countOutput = common.request.countOutput;
    this.counters = common.counters;
    this.account = at.account;
    this.upstream = at.upstream;
    this.observers = observers;
    this.sent = adapted || places || at.tier > 0 ? { adapted: adapted ?? [], tier: at.tier, places } : undefined;
    this.slot = composed.slot;
    this.decoding = provider.replies.decoding?.(out, composition);
    this.outputCap = outputCap === undefined ? undefined : new OutputCap(outputCap, turn.held, estimateUsage);
    this.#upload = composed.upload;
  }

  /** Sends the request, whose body is written. Never rejects. */
  run(request: CarrierRequest): Promise<Attempted> {
    this.#request = request;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#start();
    });
  }

  get sending(): Sending {
    return this.#sending as Sending;
  }

  abstract get followUp(): ReplyContext['followUp'];

  abstract keepsBack(failure: Failure): boolean;

  abstract committed(head?: HeldEvents): void;

  /** Called when the request is sent. It is not sent if the client has left before. */
  protected abstract begins(): void;

  /** Whether the same account gets the turn again, written in another way. */
  protected abstract adjusts(failure: Failure): boolean;

  /** Called once, before the attempt resolves. */
  protected abstract ended(attempted: Attempted): void;

  settle(verdict: Verdict): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#cancelGone?.();
    this.decoded?.stop();
    this.endUpload();
    const { headers, path } = this.#request;
    const attempted: Attempted = {
      verdict,
      status: this.status,
      authorization: this.#authorization ?? headers[credentialHeader(this.account)],
      over: this.slot ? 'websocket' : 'http',
      path,
      reused: this.#reused,
      isAdjusted: verdict.kind === 'failed' && this.adjusts(verdict.failure),
    };
    this.ended(attempted);
    this.#resolve(attempted);
    if (verdict.failure) this.observers.failed(verdict.failure);
  }

  asBytes(head: Head): ByteReader {
    head.headers['content-type'] = 'application/json';
    const reply = new WholeReply(NO_HEADERS, head, this.client, this);
    this.reply = reply;
    return reply;
  }

  /**
   * Stops the upload, because its rest is not needed. If it is not complete, the request is aborted, so that no connection waits for it.
   */
  endUpload(): void {
    if (this.#upload && !this.#upload.detach()) this.#sending?.abort();
  }

  head(status: number, headers: Headers): EventReader | ByteReader {
    return turnReader(status, headers, this);
  }

  fail(failure: CarrierFailure): void {
    if (failure === 'connect_timeout') this.counters.add('upstream_connect_timeouts');
    if (failure === 'first_byte') this.counters.add('upstream_first_byte_timeouts');
    if (failure === 'interim') this.counters.add('upstream_interim_refused');
    this.settle({ kind: 'failed', failure: carrierFailure(failure) });
  }

  #start(): void {
    const { turn } = this;
    // Releases the bytes of an earlier attempt.
    turn.held.releaseAll();
    this.#cancelGone = this.client.onGone(() => this.#gone());
    if (this.#settled) return;
    this.begins();
    if (this.decoding) this.sentAt = turn.now();
    this.#sending = this.#send();
    this.#upload?.refused.catch((thrown) => this.#uploadRefused(thrown));
  }

  #send(): Sending {
    const { slot, turn, upstream } = this;
    // A carrier is made when it is first read.
    if (turn.dispatchedKind?.reply === 'piped') return upstream.streamCarrier.send(this.#request, this.#reading(pipedReply));
    if (this.#upload) return upstream.streamCarrier.send(this.#request, this.#reading(wholeReply));
    if (!slot) return upstream.carrier.send(this.#request, this);
    const { websocketCarrier } = upstream;
    this.#reused = websocketCarrier.isOpen(slot);
    if (this.#reused) this.#authorization = slot.authorization;
    else this.counters.add('upstream_websockets');
    const { held: memory, limits } = turn;
    return websocketCarrier.send(this.#request, { maxFrameBytes: limits.upstream_event_bytes, memory }, slot, this);
  }

  /** Handles the reply to a body that passes unread. */
  #reading<Of extends Reply>(replyOf: ReplyByHead<Of>): ReplyHandler<Of | ByteReader> {
    return { head: (status, headers) => beginReply(status, headers, this, replyOf), fail: (failure) => this.fail(failure) };
  }

  /** Ends the attempt without an answer of the account. */
  refuse(refusal: Refusal): void {
    this.#sending?.abort();
    this.reply?.abandon();
    this.settle({ kind: 'refused', refusal });
  }

  #uploadRefused(thrown: unknown): void {
    // After commit the reply breaks off with its connection.
    if (this.#isPiping) this.#sending?.abort();
    else this.refuse(thrown instanceof Refusal ? thrown : new Refusal('server_error'));
  }

  get #isPiping(): boolean {
    return this.reply instanceof PipedReply && this.reply.committed;
  }

  #gone(): void {
    if (this.client.isStopped) {
      this.#stop();
      return;
    }
    const reply = this.reply;
    // The pipe distinguishes a client that left from an account that died, and ends both sides.
    if (this.#isPiping || (reply instanceof EventReply && reply.left())) return;
    this.#sending?.abort();
    reply?.abandon();
    this.settle({ kind: 'gone', shown: reply?.shown ?? false });
  }

  /** Ends the attempt, because the gateway stops. */
  #stop(): void {
    // A reply that is piped breaks off with its request.
    if (this.#isPiping) this.#sending?.abort();
    else if (!(this.reply instanceof EventReply && this.reply.stop())) {
      this.#sending?.abort();
      this.reply?.abandon();
      this.settle({ kind: 'refused', refusal: stoppedRefusal(this.turn), outcome: 'cut' });
    }
  }
}

/** The headers of a whole body that was a reply of events before are in its head already. */
const NO_HEADERS: Headers = {};

/** The effect of an attempt on the account's health. A client that left, or a refusal by the gateway, has none. */
export function resultOf({ kind, failure }: Verdict): AttemptResult {
  if (failure?.isUntranslated) return 'neutral';
  return failure ?? (kind === 'done' ? 'completed' : 'neutral');
}
