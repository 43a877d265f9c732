// The requests of a provider API: where a turn goes, what an attempt may carry, and how its body is written.
import type { Failure } from '../errors/failure.ts';
import type { FormField } from '../json/form.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { TokenCounts } from '../reply/turn-result.ts';
import type { AccountConfig } from '../settings.ts';
import type { Outgoing, Work } from '../turn.ts';
import type { AccountModel } from './account-model.ts';
import type { AdaptedName } from './adapted.ts';

/** The attempt that is encoded. */
export interface AttemptContext {
  readonly turn: LiveTurn;
  readonly account: AccountConfig;
  /** The account's configured headers and its credential, which replace the client's. */
  readonly own: Readonly<Record<string, string>>;
  /** The session id that the gateway derived for an account with `session_header: derived`; undefined for all others. */
  readonly session: string | undefined;
  /** The request as its rules left it; undefined if its body passes unread. */
  readonly work: Work | undefined;
  /** The turn's model at an API account; undefined for agent accounts, and if nothing is known of it. */
  readonly model?: AccountModel | undefined;
  /** The estimated usage of the turn so far, for a reply that states none (Q18, AA56). */
  readonly estimateUsage: () => TokenCounts | undefined;
}

/** A request without its body. */
export interface RequestHead {
  readonly method: string;
  /** Absolute, with any query, below the account's base URL. */
  readonly path: string;
  /** The whole set, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the encoding changed or removed of the request: sorted names of members and item types, no values (AA16). */
  readonly adapted?: readonly AdaptedName[];
}

export interface EncodedRequest extends RequestHead {
  /**
   * As bytes, which the connection holds until the reply is complete: of a string it would hold both the string and its bytes. A promise
   * for a large body, which is written in parts.
   */
  readonly body: Buffer | Promise<Buffer>;
  /**
   * Called with the refusal of this request: whether the API writes the turn otherwise from now on, so that the same account gets it once
   * more (AA30, AA34). Absent if it would be the same request.
   */
  readonly adjusts?: (failure: Failure) => boolean;
}

export interface EncodedFrame extends EncodedRequest {
  readonly body: Buffer;
}

export interface ProviderRequests {
  /** The path and the client's headers that an attempt begins with, before its rules edit them; a fresh object. */
  begin(turn: LiveTurn): { readonly path: string; readonly headers: Record<string, string> };
  /** A request whose body rules have read and written. Called after the rules; `out.body` is the Responses body for this account. */
  json(out: Outgoing, context: AttemptContext): EncodedRequest;
  /** A request whose body passes unread; `out.headers` has those that describe it. */
  passed(out: Outgoing, context: AttemptContext): RequestHead;
  /** What this account gets of a field of a form that streams through; absent if it gets every field as it is (AA36). */
  readonly field?: (field: FormField, context: AttemptContext) => readonly FormField[];
  /** Absent for an API without websockets: its turns go over HTTP. */
  readonly frames?: ProviderFrames;
}

export interface ProviderFrames {
  /** A turn as one frame; the headers are those of the upgrade, should a connection have to be opened for it. */
  encode(out: Outgoing, context: AttemptContext): EncodedFrame;
  /** A larger frame goes over HTTP. */
  readonly maxBytes: number;
  /** Whether an upgrade that was refused with this status means that the account has no websocket (Q6). */
  isAbsent(status: number | undefined): boolean;
}

/** How accounts compact with `compact: auto` (Q27). */
export interface ProviderCompaction {
  /** The way that the account's address alone shows; undefined if only an attempt on the compact path can tell. */
  knownWay(account: AccountConfig): 'route' | 'trigger' | undefined;
  /** Whether the account refused a compaction because it has no compact path. @param path of the request, below the base URL */
  isPathMissing(failure: Failure, path: string): boolean;
}
