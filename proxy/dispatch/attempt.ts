// One attempt at one account: sends the request, handles its reply, and settles once.
import type { Counters } from '../base/process/metrics.ts';
import { type CarrierFailure, carrierFailure, type Failure } from '../turn/errors/failure.ts';
import type { ItemPlaces } from '../turn/errors/item-places.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { Confidential } from '../turn/errors/sanitise.ts';
import type { JsonObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { AdaptedName } from '../turn/provider/adapted.ts';
import { credentialHeader } from '../turn/provider/api-account.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import type { SentMembers } from '../turn/provider/provider-failures.ts';
import type { ReplyEvent } from '../turn/reply/reply-event.ts';
import type { Head, Headers } from '../turn/turn.ts';
import type { ByteReader, CarrierRequest, EventReader, ReplyHandler, Sending } from '../upstream/carriers/carrier.ts';
import { SWITCHING_PROTOCOLS } from '../upstream/carriers/websocket/websocket-exchange.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import type { Upload } from './client.ts';
import { DecodedReply } from './reply/decoded-reply.ts';
import { EventReply } from './reply/events/event-reply.ts';
import { OutputCap } from './reply/events/output-cap.ts';
import { PipedReply } from './reply/piped-reply.ts';
import { mayBeEvents, pipedReply, type Reply, type ReplyByHead, type ReplyPath, turnReply, wholeReply } from './reply/reply-by-head.ts';
import { type AttemptContext, failureOf, type ReplyContext, type Verdict } from './reply/reply-context.ts';
import type { AttemptObservers } from './reply/reply-observers.ts';
import { WholeReply } from './reply/whole-reply.ts';

export interface AttemptOptions extends AttemptContext, ReplyPath {
  readonly upstream: Upstream;
  readonly request: CarrierRequest;
  /** What the encoding changed; undefined if it changed nothing. */
  readonly adapted: readonly AdaptedName[] | undefined;
  /** The tier of the account. */
  readonly tier: number;
  /** The places of the items in the turn; undefined for agent accounts. */
  readonly places: ItemPlaces | undefined;
  /** The request's body, if it is passed on unread. */
  readonly upload: Upload | undefined;
  /** The cap that the gateway has to enforce. Undefined if the account got it, and for a key without a policy. */
  readonly outputCap: number | undefined;
  /** Whether the same account gets the turn again, written in another way. */
  readonly adjusted: (failure: Failure) => boolean;
  /** Work after the account's answer and before the client gets it. */
  readonly followUp: ((answer: JsonObject, signal: AbortSignal) => Promise<JsonObject>) | undefined;
  /** Called when the request is sent. It is not sent if the client has left before. */
  readonly begins: () => void;
  /** Called once, before the attempt resolves. */
  readonly ended: (attempted: Attempted) => void;
}

export interface Attempted {
  readonly verdict: Verdict;
  /** The status of the account's reply, if one came. */
  readonly status: number | undefined;
  /** The credential of the request, or over a live socket the credential of its upgrade. */
  readonly authorization: string | undefined;
  readonly over: 'http' | 'websocket';
  /** The path of the request below the account's base URL; empty if nothing was sent. */
  readonly path: string;
  /** Whether the request was sent over a socket that was open already. */
  readonly reused: boolean;
  /** Whether the account's API writes the turn in another way after this failure. */
  readonly isAdjusted: boolean;
}

/** Never rejects. */
export function attempt(options: AttemptOptions): Promise<Attempted> {
  return new Promise((resolve) => new Attempt(options, resolve).start());
}

class Attempt implements ReplyContext {
  readonly turn: LiveTurn;
  readonly provider: ProviderApi;
  readonly sent: SentMembers | undefined;
  readonly counters: Counters;
  readonly observers: AttemptObservers;
  readonly known: Confidential;
  readonly countOutput: (event: ReplyEvent) => void;
  readonly outputCap: OutputCap | undefined;
  readonly estimateUsage: ReplyContext['estimateUsage'];
  readonly keepsBack: (failure: Failure) => boolean;
  readonly committed: ReplyContext['committed'];
  readonly followUp: ReplyContext['followUp'];
  readonly #options: AttemptOptions;
  readonly #resolve: (attempted: Attempted) => void;
  #sending: Sending | undefined;
  #reply: Reply | undefined;
  /** Undefined if the account sends Responses events. */
  #decoding: DecodedReply | undefined;
  #status: number | undefined;
  #authorization: string | undefined;
  #reused = false;
  /** Aborts the follow-up when the client leaves. */
  #following: AbortController | undefined;
  #cancelGone: () => void = () => undefined;
  #settled = false;
  /** When the request was sent. Set only for replies that are decoded. */
  #sentAt = 0;

  constructor(options: AttemptOptions, resolve: (attempted: Attempted) => void) {
    this.turn = options.turn;
    this.provider = options.provider;
    const { adapted, tier, places } = options;
    this.sent = adapted || places || tier > 0 ? { adapted: adapted ?? [], tier, places } : undefined;
    this.counters = options.counters;
    this.observers = options.observers;
    this.known = options.known;
    this.countOutput = options.countOutput;
    this.outputCap =
      options.outputCap === undefined ? undefined : new OutputCap(options.outputCap, options.turn.held, options.estimateUsage);
    this.estimateUsage = options.estimateUsage;
    this.keepsBack = options.keepsBack;
    this.committed = options.committed;
    const { followUp } = options;
    if (followUp) {
      this.followUp = (answer) => {
        this.#following = new AbortController();
        return followUp(answer, this.#following.signal);
      };
    }
    this.#options = options;
    this.#resolve = resolve;
  }

  start(): void {
    // Releases the bytes of an earlier attempt.
    this.turn.held.releaseAll();
    const { client, upload } = this.#options;
    this.#cancelGone = client.onGone(() => this.#gone());
    if (this.#settled) return;
    this.#options.begins();
    if (this.#options.decoding) this.#sentAt = this.turn.now();
    this.#sending = this.#send();
    upload?.refused.catch((thrown) => this.#uploadRefused(thrown));
  }

  #send(): Sending {
    const { upstream, request, slot, upload } = this.#options;
    if (this.#pipes) return upstream.streamCarrier.send(request, this.#handler(pipedReply, asItIs));
    if (upload) return upstream.streamCarrier.send(request, this.#handler(wholeReply, asItIs));
    const handler = this.#handler(turnReply, (reply, headers) => this.#decoded(reply, headers));
    if (!slot) return upstream.carrier.send(request, handler);
    const { websocketCarrier } = upstream;
    this.#reused = websocketCarrier.isOpen(slot);
    if (this.#reused) this.#authorization = slot.authorization;
    else this.counters.add('upstream_websockets');
    const { held: memory, limits } = this.turn;
    return websocketCarrier.send(request, { maxFrameBytes: limits.upstream_event_bytes, memory }, slot, handler);
  }

  readonly sending = (): Sending => this.#sending as Sending;

  readonly settle = (verdict: Verdict): void => {
    if (this.#settled) return;
    this.#settled = true;
    this.#cancelGone();
    this.#following?.abort();
    this.#decoding?.stop();
    const { request, ended, slot, adjusted } = this.#options;
    this.endUpload();
    const attempted: Attempted = {
      verdict,
      status: this.#status,
      authorization: this.#authorization ?? request.headers[credentialHeader(this.#options.account)],
      over: slot ? 'websocket' : 'http',
      path: request.path,
      reused: this.#reused,
      isAdjusted: verdict.kind === 'failed' && adjusted(verdict.failure),
    };
    ended(attempted);
    this.#resolve(attempted);
    const failure = failureOf(verdict);
    if (failure) this.observers.failed(failure);
  };

  asBytes(head: Head): ByteReader {
    head.headers['content-type'] = 'application/json';
    return this.#began(new WholeReply(NO_HEADERS, head, this.#options.client, this));
  }

  /**
   * Stops the upload, because its rest is not needed. If it is not complete, the request is aborted, so that no connection waits for it.
   */
  endUpload(): void {
    const { upload } = this.#options;
    if (upload && !upload.detach()) this.#sending?.abort();
  }

  get #pipes(): boolean {
    const { kind } = this.turn;
    return kind?.served === 'dispatch' && kind.reply === 'piped';
  }

  /** Handles the reply. An error in it ends the turn, because the carrier would ignore the error and the turn would never end. */
  #handler<Of extends Reply, Reader>(
    replyOf: ReplyByHead<Of>,
    readerOf: (reply: Of | ByteReader, headers: Headers) => Reader,
  ): ReplyHandler<Reader | ByteReader> {
    return {
      head: (status, headers) => {
        // An accepted upgrade means the same as status 200 of a reply of events. Over HTTP it is not an answer.
        const replied = this.#options.slot && status === SWITCHING_PROTOCOLS ? 200 : status;
        try {
          this.#status = replied;
          this.observers.head(replied, headers);
          return readerOf(this.#began(replyOf(replied, headers, this.#options, this)), headers);
        } catch (thrown) {
          this.#faulted(thrown);
          return DISCARD;
        }
      },
      fail: (failure) => this.#failed(failure),
    };
  }

  #began<Of extends Reply>(reply: Of | Failure): Of | ByteReader {
    if ('cause' in reply) {
      this.settle({ kind: 'failed', failure: reply });
      this.#sending?.abort();
      return DISCARD;
    }
    this.#reply = reply;
    return reply;
  }

  /** The reader of the account's events, with a decoding if they are not Responses events. */
  #decoded(reply: EventReader | ByteReader, headers: Headers): EventReader | ByteReader {
    const { decoding: steps, slot, upstream } = this.#options;
    if (!steps || reply.reads !== 'events') return reply;
    const firstDataMs = slot ? undefined : upstream.timeouts.firstByteMs - (this.turn.now() - this.#sentAt);
    this.#decoding = new DecodedReply({ steps, reader: reply, memory: this.turn.held, context: this, firstDataMs });
    return mayBeEvents(headers) ? this.#decoding : this.#decoding.asBytes();
  }

  #failed(failure: CarrierFailure): void {
    if (failure === 'connect_timeout') this.counters.add('upstream_connect_timeouts');
    if (failure === 'first_byte') this.counters.add('upstream_first_byte_timeouts');
    if (failure === 'interim') this.counters.add('upstream_interim_refused');
    this.settle({ kind: 'failed', failure: carrierFailure(failure) });
  }

  #faulted(thrown: unknown): void {
    this.turn.fault(thrown);
    this.#sending?.abort();
    this.#reply?.abandon();
    this.settle({ kind: 'refused', refusal: new Refusal('server_error') });
  }

  #uploadRefused(thrown: unknown): void {
    const refusal = thrown instanceof Refusal ? thrown : new Refusal('server_error');
    this.#sending?.abort();
    // After commit the reply breaks off with its connection.
    if (this.#isPiping) return;
    this.#reply?.abandon();
    this.settle({ kind: 'refused', refusal });
  }

  get #isPiping(): boolean {
    return this.#reply instanceof PipedReply && this.#reply.committed;
  }

  #gone(): void {
    const reply = this.#reply;
    // The pipe distinguishes a client that left from an account that died, and ends both sides.
    if (this.#isPiping || (reply instanceof EventReply && reply.left())) return;
    this.#sending?.abort();
    reply?.abandon();
    this.settle({ kind: 'gone', shown: reply?.shown ?? false });
  }
}

const asItIs = <Of>(reply: Of): Of => reply;

/** The headers of a whole body that was a reply of events before are in its head already. */
const NO_HEADERS: Headers = {};

/** The reader of a reply that is no longer needed. */
const DISCARD: ByteReader = { reads: 'bytes', data: () => undefined, end: () => undefined, fail: () => undefined };
