// The context of an attempt and of its reply, and the ways in which an attempt ends.
import type { AttemptResult } from '../../accounts/health/account-health.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { loggedCode } from '../../turn/errors/error-codes.ts';
import { blamesAccount, type Failure } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { Confidential } from '../../turn/errors/sanitise.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { SentMembers } from '../../turn/provider/provider-failures.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { HeldEvents } from '../../turn/reply/reply-observer.ts';
import type { Ending, TokenCounts } from '../../turn/reply/turn-result.ts';
import { dispatchedKind } from '../../turn/routes/kinds.ts';
import type { Event, Head, Outcome, OutcomeKind } from '../../turn/turn.ts';
import type { AnswerHeaderOptions } from '../../turn/wire/headers.ts';
import type { ByteReader, Sending } from '../../upstream/carriers/carrier.ts';
import type { OutputCap } from './events/output-cap.ts';
import type { AttemptObservers } from './reply-observers.ts';

/** What the attempt and its reply have in common. */
export interface AttemptContext {
  readonly turn: LiveTurn;
  /** The API of the account. */
  readonly provider: ProviderApi;
  readonly counters: Counters;
  readonly observers: AttemptObservers;
  readonly known: Confidential;
  /** Counts the output that is sent to the client, for an estimate if the turn breaks off (Q18). */
  readonly countOutput: (event: ReplyEvent) => void;
  /** The usage of the turn so far, if the account states none (Q18). */
  readonly estimateUsage: () => TokenCounts | undefined;
  /** Whether the failure is kept from the client. */
  readonly keepsBack: (failure: Failure) => boolean;
  /** Called when the reply is the turn's answer, so that no other attempt follows. @param head the head of a reply of events */
  readonly committed: (head?: HeldEvents) => void;
}

/** The context that a reply gets from its attempt. */
export interface ReplyContext extends AttemptContext {
  /** What the encoding of the request changed, and the tier of its account. Absent if nothing was changed in the base tier. */
  readonly sent?: SentMembers | undefined;
  /** The cap, if the account did not get it. Undefined otherwise, and for a key without a policy. */
  readonly outputCap: OutputCap | undefined;
  readonly sending: () => Sending;
  /** Runs the follow-up before the client gets the answer; undefined if there is none. @throws Refusal */
  readonly followUp: ((answer: JsonObject) => Promise<JsonObject>) | undefined;
  /** Stops the upload of a request that was answered before it was read. */
  endUpload(): void;
  readonly settle: (verdict: Verdict) => void;
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
      readonly failure?: Failure | undefined;
    }
  /** The client left. */
  | { readonly kind: 'gone'; readonly shown: boolean };

/** Whether replies to this turn are checked as a whole. */
export const isChecked = (turn: LiveTurn): boolean => dispatchedKind(turn.route.kind)?.reply === 'whole';

/** The settings of the turn that determine the headers of its answer. */
export const headerOptions = ({ wire, pool }: LiveTurn): AnswerHeaderOptions => ({ wire, hideQuota: pool.hide_account_quota });

export const failureOf = (verdict: Verdict): Failure | undefined => ('failure' in verdict ? verdict.failure : undefined);

/** The effect of an attempt on the account's health. A client that left, or a refusal by the gateway, has none. */
export function resultOf(verdict: Verdict): AttemptResult {
  const failure = failureOf(verdict);
  if (failure?.isUntranslated) return 'neutral';
  return failure ?? (verdict.kind === 'done' ? 'completed' : 'neutral');
}

const shownStatus = (failure: Failure): number | undefined => (blamesAccount(failure) ? 502 : failure.status);

/** The ending of a reply of events for its row. @param failure the failure that the account reported, or how the reply broke off */
export function eventsEnding({ turn }: ReplyContext, outcome: Outcome, status: number, failure: Failure | undefined): Ending {
  const failed = outcome.kind === 'failed';
  // On a websocket an error frame has a status of its own.
  const stated = failed && turn.client === 'websocket' ? failure && shownStatus(failure) : undefined;
  const code = failure ? loggedCode(failure.error.code) : 'upstream_error';
  return {
    outcome,
    status: stated ?? status,
    code: failed ? code : outcome.kind === 'cut' ? turn.surface.brokenReplyCode : null,
  };
}
