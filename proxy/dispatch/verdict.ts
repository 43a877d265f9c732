// How one attempt ended: the client has its reply, or the failure or refusal that decides what follows.
import type { Failure } from '../turn/failure.ts';
import type { Refusal } from '../turn/refusal.ts';
import type { Event, OutcomeKind } from '../turn/turn.ts';
import type { Ending } from '../turn/turn-result.ts';

/** Ends a client's reply that is still open. @param closing the closing events of the rules */
export type CloseReply = (closing: readonly (Event | Refusal)[]) => void;

export type Verdict =
  /** The client gets its reply. `failure`: the account failed nevertheless, and the client got that or a reply that broke off. */
  | { readonly kind: 'done'; readonly ending: Ending; readonly close: CloseReply; readonly failure?: Failure | undefined }
  /** Nothing was shown. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Nothing was shown, and no other account is asked. */
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly outcome?: OutcomeKind;
      readonly failure?: Failure | undefined;
    }
  /** The client left. */
  | { readonly kind: 'gone'; readonly shown: boolean };

export const failureOf = (verdict: Verdict): Failure | undefined => ('failure' in verdict ? verdict.failure : undefined);
