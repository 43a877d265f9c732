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
export interface EncodedAttempt {
  readonly turn: LiveTurn;
  readonly account: AccountConfig;
  /** The account's configured headers and its credential. They replace the client's headers. */
  readonly own: Readonly<Record<string, string>>;
  /** The session id that the gateway derived for an account with `session_header: derived`; undefined for all others. */
  readonly session: string | undefined;
  /** The request as the rules left it; undefined if its body passes unread. */
  readonly work: Work | undefined;
  /** The turn's model at an API account; undefined for agent accounts, and if nothing is known of it. */
  readonly model?: AccountModel | undefined;
  /** The estimated usage of the turn so far, for a reply that states none (Q18, AA56). */
  readonly estimateUsage: () => TokenCounts | undefined;
}

/** A request without its body. */
export interface RequestHead {
  readonly method: string;
  /** The absolute path with its query, below the account's base URL. */
  readonly path: string;
  /** All headers of the request, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the encoding changed or removed in the request: sorted names of members and item types, no values (AA16). */
  readonly adapted?: readonly AdaptedName[];
}

export interface EncodedRequest extends RequestHead {
  /**
   * The connection holds the body until the reply is complete. A string would be held in addition to its bytes. A promise for a
   * large body, which is written in parts.
   */
  readonly body: Buffer | Promise<Buffer>;
  /**
   * Called with the account's refusal of this request. Returns whether the API now writes the turn in another way, so that the same account
   * gets it once more (AA30, AA34). Absent if the request would not change.
   */
  readonly adjusts?: (failure: Failure) => boolean;
}

export interface EncodedFrame extends Pick<EncodedRequest, 'adapted' | 'adjusts'> {
  readonly body: Buffer;
}

export interface ProviderRequests {
  /** The path and the client's headers with which an attempt begins, before rules edit them. Returns a fresh object. */
  begin(turn: LiveTurn): { readonly path: string; readonly headers: Record<string, string> };
  /** Encodes a request whose body the rules have read. Called after the rules; `out.body` is the Responses body for this account. */
  json(out: Outgoing, context: EncodedAttempt): EncodedRequest;
  /** Encodes a request whose body passes unread; `out.headers` has the headers that describe the body. */
  passed(out: Outgoing, context: EncodedAttempt): RequestHead;
  /** Translates a field of a form that is passed on as a stream. Absent if the account gets every field unchanged (AA36). */
  readonly field?: (field: FormField, context: EncodedAttempt) => readonly FormField[];
  /** Absent for an API without websockets. Its turns are sent over HTTP. */
  readonly frames?: ProviderFrames;
}

export interface ProviderFrames {
  /** Encodes a turn as one frame. Undefined if the account serves the turn on a path of HTTP alone. */
  encode(out: Outgoing, context: EncodedAttempt): EncodedFrame | undefined;
  /** The request for the upgrade. Called only if a connection has to be opened. */
  upgrade(out: Outgoing, context: EncodedAttempt): RequestHead;
  /** The largest frame. Larger turns are sent over HTTP. */
  readonly maxBytes: number;
}

/** How accounts compact with `compact: auto` (Q27). */
export interface ProviderCompaction {
  /** The way to compact that the account's address determines; undefined if only an attempt on the compact path can show it. */
  knownWay(account: AccountConfig): 'route' | 'trigger' | undefined;
  /** Whether the account refused a compaction because it has no compact path. @param path of the request, below the base URL */
  isPathMissing(failure: Failure, path: string): boolean;
}
