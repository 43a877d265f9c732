// Sends the attempts of one turn: gets the account's headers, encodes the request for that account, and writes the attempt's row.
import type { CompactPaths } from '../accounts/compact-paths.ts';
import type { ModelOf } from '../accounts/selection/lacking-accounts.ts';
import type { AccountLease } from '../accounts/selection/lease.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Continuity } from '../sessions/continuity.ts';
import type { Continuation } from '../turn/continuation.ts';
import { noteErrorClass } from '../turn/errors/error-class.ts';
import { type Failure, unsentFailure, untranslatedFailure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { Confidential } from '../turn/errors/sanitise.ts';
import { promptOf } from '../turn/prompt.ts';
import { credentialHeader } from '../turn/provider/api-account.ts';
import type { ProviderApi, ProviderOf } from '../turn/provider/provider-api.ts';
import type { ReplySource } from '../turn/reply/reply-observer.ts';
import { isCompaction } from '../turn/routes/kinds.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Body, Outgoing } from '../turn/turn.ts';
import { type AccountCredentials, type AccountHeaders, asUnavailable, CredentialUnavailable } from '../upstream/account-credentials.ts';
import type { CarrierRequest } from '../upstream/carriers/carrier.ts';
import type { SocketSlot } from '../upstream/carriers/websocket/socket-slot.ts';
import { type Attempted, type AttemptOptions, attempt } from './attempt.ts';
import { type AttemptCause, AttemptLog } from './attempt-log.ts';
import type { Upload } from './client.ts';
import type { FollowUps } from './follow-up.ts';
import { failureOf } from './reply/reply-context.ts';
import type { ReplyObservers } from './reply/reply-observers.ts';
import { type Composed, type Composition, composeFrame, composeJson, composeStream } from './request/compose.ts';
import type { DispatchRequest } from './request/dispatch-request.ts';
import type { TurnSocket } from './turn-socket.ts';

export interface SenderServices {
  readonly credentials: AccountCredentials;
  readonly continuity: Continuity;
  readonly observers: ReplyObservers;
  readonly counters: Counters;
  readonly compactPaths: CompactPaths;
  readonly providerOf: ProviderOf;
  /** The follow-ups by kind. */
  readonly followUps: FollowUps;
  readonly models: { readonly accountModel: ModelOf };
}

/** What an attempt sends, with the decision whether the client gets its failure. */
export interface Sent {
  readonly cause: AttemptCause;
  /** The request before it is adapted to the account. */
  readonly body: Body;
  readonly continuation: Continuation;
  /** Whether the failure is kept from the client. */
  readonly keepsBack: (failure: Failure) => boolean;
}

type ComposedAttempt = Composed & { readonly slot: SocketSlot | undefined };

const BEARER = /^bearer /i;

/** The shortest header value that counts as a secret. Shorter values are common words. */
const SHORTEST_SECRET = 8;

export class AttemptSender implements Confidential {
  readonly log: AttemptLog;
  /** The account of the last attempt. */
  account: AccountConfig | undefined;
  /** The body that the last attempt sent. Before the first attempt, the whole body. */
  sentBody: Body;
  readonly #services: SenderServices;
  readonly #request: DispatchRequest;
  readonly #socket: TurnSocket | undefined;
  #upload: Upload | undefined;
  #session: { readonly id: string | undefined } | undefined;
  /** The credentials that attempts carried. One that was renewed since its attempt may still be valid. */
  #authorizations: readonly (string | undefined)[] = [];

  /** @param socket undefined for a turn that goes over HTTP @param log the log of attempts for earlier models of the turn */
  constructor(services: SenderServices, request: DispatchRequest, socket: TurnSocket | undefined, log?: AttemptLog) {
    const { turn, payload } = request;
    this.log = log ?? new AttemptLog(turn.id, turn);
    this.sentBody = payload.kind === 'json' ? payload.work.body : {};
    this.#services = services;
    this.#request = request;
    this.#socket = socket;
  }

  /** Whether the request has a body that can be sent only once, and has been sent (Q6). */
  get isSpent(): boolean {
    return this.#upload?.isTaken() ?? false;
  }

  send(lease: AccountLease, sent: Sent): Promise<Attempted> {
    const { turn } = this.#request;
    const { account } = lease;
    this.account = account;
    const pending = this.#services.credentials.headersFor(account, turn.generation.loaded);
    if (!(pending instanceof Promise)) return this.#send(lease, sent, pending);
    return pending.catch(asUnavailable).then((own) => {
      if (!(own instanceof CredentialUnavailable)) return this.#send(lease, sent, own);
      const failure = unsentFailure(own.why);
      return this.#unsent(account, sent.cause, failure);
    });
  }

  #unsent(account: AccountConfig, cause: AttemptCause, failure: Failure): Attempted {
    this.log.unsent(account, cause, failure);
    const unsent = { status: undefined, authorization: undefined, over: 'http', path: '', reused: false } as const;
    return { verdict: { kind: 'failed', failure }, ...unsent, isAdjusted: false };
  }

  secrets(): readonly string[] {
    const { account } = this;
    if (!account) return [];
    const bearer = this.#services.credentials.secretOf(account.id, this.#request.turn.generation.loaded);
    const configured = Object.values(account.headers).filter(({ length }) => length >= SHORTEST_SECRET);
    const carried = this.#authorizations.map((value) => value?.replace(BEARER, ''));
    return [bearer, ...carried, ...configured].filter((secret) => secret !== undefined);
  }

  prompt(): string {
    return promptOf(this.sentBody);
  }

  #send(lease: AccountLease, { cause, body, continuation, keepsBack }: Sent, own: AccountHeaders): Promise<Attempted> {
    const { turn, client, countOutput, estimateUsage } = this.#request;
    const { account } = lease;
    const { counters, continuity, models, observers } = this.#services;
    const trim = (out: Outgoing): void => continuity.trim(out, continuation, turn.wire);
    const session = this.#sessionFor(account);
    const { payload } = this.#request;
    const provider = this.#services.providerOf(account);
    const composition: Composition = {
      turn,
      provider,
      work: payload.kind === 'json' ? payload.work : undefined,
      account: this.#compacting(account),
      own,
      session,
      estimateUsage,
      trim,
      model: turn.model && models.accountModel(account, turn.model.id),
      isConnected: this.#socket?.isOpenAt(lease.upstream.websocketCarrier, session),
    };
    let composed: ComposedAttempt;
    try {
      composed = this.#compose(body, continuation, composition);
    } catch (thrown) {
      // The encoding found something that eligibility should have excluded (AA46).
      if (thrown instanceof Refusal || provider.name === 'agent') throw thrown;
      turn.fault(thrown);
      return Promise.resolve(this.#unsent(account, cause, untranslatedFailure()));
    }
    const { request, adapted, slot, out, outputCap } = composed;
    this.#authorizations = [request.headers[credentialHeader(account)], slot?.authorization, ...this.#authorizations];
    let complete: ReturnType<AttemptLog['begin']> | undefined;
    const keepResponse: ReplySource['keepResponse'] =
      slot && ((id, pin) => slot.keepResponse({ id, mode: turn.model?.mode?.effective, lifted: turn.lifted, pin }));
    const isUnstored = provider.isUnstored === true || this.sentBody.store === false;
    const adjusted = adjustment(request, cause);
    const observed = observers.of({ turn, account, provider, continuation, keepResponse, isUnstored });
    const run = (written: CarrierRequest): Promise<Attempted> =>
      attempt({
        turn,
        provider,
        decoding: provider.replies.decoding?.(out, composition),
        client,
        counters,
        upstream: lease.upstream,
        request: written,
        adapted,
        tier: lease.tier,
        places: out.places,
        slot,
        upload: this.#upload,
        known: this,
        countOutput,
        estimateUsage,
        account,
        outputCap,
        keepsBack: (failure) => adjusted(failure) || keepsBack(failure),
        adjusted,
        committed: (head) => {
          lease.answered();
          turn.committedAt ??= turn.now();
          observed.committed(head);
        },
        observers: observed,
        followUp: this.#followUp(lease, provider),
        begins: () => {
          complete = this.log.begin(account, cause, adapted);
          counters.add('attempts');
          if (lease.isProbe) counters.add('probes');
        },
        ended: ({ verdict, status }) => {
          const failure = failureOf(verdict);
          complete?.({ status, failure });
          if (failure && verdict.kind !== 'failed') noteErrorClass(turn, failure);
        },
      });
    const { body: bytes } = request;
    // A large body is written in parts.
    return bytes instanceof Promise ? bytes.then((written) => run({ ...request, body: written })) : run({ ...request, body: bytes });
  }

  #compose(body: Body, continuation: Continuation, composition: Composition): ComposedAttempt {
    const { payload } = this.#request;
    if (payload.kind !== 'json') {
      // Opened only now, so that the client sends its body when an account is ready to receive it.
      const { field } = composition.provider.requests;
      this.#upload = payload.open?.(field && ((part) => field(part, composition)));
      return { ...composeStream(this.#upload, composition), slot: undefined };
    }
    const { account } = composition;
    this.sentBody = this.#services.continuity.fit(body, continuation, account.id);
    const frame = this.#socket?.carries(account) ? composeFrame(this.sentBody, composition) : undefined;
    const { maxBytes = 0 } = composition.provider.requests.frames ?? {};
    if (frame && this.#socket?.fits((frame.request.body as Buffer).length, maxBytes)) {
      this.#socket.inSession(composition.session);
      return { ...frame, slot: this.#socket.slot };
    }
    return { ...composeJson(this.sentBody, composition), slot: undefined };
  }

  /** The account with the way in which it compacts at the moment. */
  #compacting(account: AccountConfig): AccountConfig {
    if (account.compact !== 'auto' || !isCompaction(this.#request.turn.route.kind)) return account;
    return { ...account, compact: this.#services.compactPaths.of(account) };
  }

  /** The session id of the turn, if it is sent to this account. It is the same for every attempt. */
  #sessionFor({ session_header }: AccountConfig): string | undefined {
    const { turn, payload } = this.#request;
    if (session_header === 'none' || payload.kind !== 'json' || !turn.kind.metered) return undefined;
    this.#session ??= { id: this.#services.continuity.sessionHeader(turn, payload.work.body) };
    return this.#session.id;
  }

  #followUp({ account, upstream }: AccountLease, provider: ProviderApi): AttemptOptions['followUp'] {
    const { turn, payload } = this.#request;
    const followUp = turn.route.kind && this.#services.followUps[turn.route.kind];
    if (!followUp || payload.kind !== 'json') return undefined;
    const { work } = payload;
    return (answer, signal) => followUp({ turn, account, provider, upstream, work, answer, signal });
  }
}

/**
 * Whether the account gets the turn once more, because its API now writes it in another way. Each failure is evaluated once, and the result
 * is remembered.
 */
function adjustment({ adjusts }: Composed['request'], cause: AttemptCause): (failure: Failure) => boolean {
  let known: { readonly failure: Failure; readonly adjusts: boolean } | undefined;
  return (failure) => {
    if (!adjusts || cause === 'resend') return false;
    if (known?.failure !== failure) known = { failure, adjusts: adjusts(failure) };
    return known.adjusts;
  };
}
