// The attempt of a reply, as its readers see it. A reader settles its attempt with a verdict.
import type { Counters } from '../../base/process/metrics.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { Confidential } from '../../turn/errors/sanitise.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { SentMembers } from '../../turn/provider/provider-failures.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { HeldEvents } from '../../turn/reply/reply-observer.ts';
import type { Ending, TokenCounts } from '../../turn/reply/turn-result.ts';
import type { Event, Head, OutcomeKind, UpstreamErrorClass } from '../../turn/turn.ts';
import type { ByteReader, Sending } from '../../upstream/carriers/carrier.ts';
import type { OutputCap } from './events/output-cap.ts';
import type { AttemptObservers } from './reply-observers.ts';

export interface ReplyContext {
  readonly turn: LiveTurn;
  /** The API of the account. */
  readonly provider: ProviderApi;
  readonly counters: Counters;
  readonly observers: AttemptObservers;
  readonly known: Confidential;
  /** What the encoding of the request changed, and the tier of its account. Absent if nothing was changed in the base tier. */
  readonly sent?: SentMembers | undefined;
  /** The cap, if the account did not get it. Undefined otherwise, and for a key without a policy. */
  readonly outputCap: OutputCap | undefined;
  /** The request, which a reader can pause, resume and abort. */
  readonly sending: Sending;
  /** Counts the output that is sent to the client, for an estimate if the turn breaks off (Q18). */
  readonly countOutput: (event: ReplyEvent) => void;
  /** The usage of the turn so far, if the account states none (Q18). */
  readonly estimateUsage: () => TokenCounts | undefined;
  /** Runs the follow-up before the client gets the answer; undefined if there is none. @throws Refusal */
  readonly followUp: ((answer: JsonObject) => Promise<JsonObject>) | undefined;
  /** Whether the failure is kept from the client. */
  keepsBack(failure: Failure): boolean;
  /** Called when the reply is the turn's answer, so that no other attempt follows. @param head the held events of a reply of events */
  committed(head?: HeldEvents): void;
  /** Stops the upload of a request that was answered before it was read. */
  endUpload(): void;
  /** Ends the attempt. A second call does nothing. */
  settle(verdict: Verdict): void;
  /** Replaces a reader of events, because the body of the 200 is one JSON or HTML text. */
  asBytes(head: Head): ByteReader;
}

/** Ends a reply to the client that is still open. @param closing the closing events of the rules */
export type CloseReply = (closing: readonly (Event | Refusal)[]) => void;

export type Verdict =
  /**
   * The client gets its reply. `failure` is set if the account failed after commit, and the client got that failure or a reply that broke
   * off.
   */
  | { readonly kind: 'done'; readonly ending: Ending; readonly close: CloseReply; readonly failure?: Failure | undefined }
  /** Nothing was shown. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Nothing was shown, and no other account is tried. */
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly outcome?: OutcomeKind;
      /** Set if the account's answer was not valid, or a request that followed it failed. It does not count against the account (Q5). */
      readonly errorClass?: UpstreamErrorClass | undefined;
      readonly failure?: Failure | undefined;
    }
  /** The gateway stops. The client gets a reply that is cut, and no account is at fault. */
  | { readonly kind: 'stopped'; readonly ending: Ending; readonly close: CloseReply; readonly failure?: undefined }
  /** The client left. */
  | { readonly kind: 'gone'; readonly shown: boolean; readonly failure?: undefined };

/** How an attempt ended. */
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
