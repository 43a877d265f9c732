// The replies of a provider API: what of their heads counts, and their decoding into Responses events.
import type { JsonObject } from '../json/json.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { ReplyEvent } from '../reply/reply-event.ts';
import type { Headers, Outgoing } from '../turn.ts';
import type { AttemptContext } from './requests.ts';

/** Passes an event on to the next step of the decoding, and from the last one to the turn. The view may be reused after the call. */
export type Emit = (event: ReplyEvent) => void;

/** One step of a decoding: every event becomes none, itself, or others. Steps keep what they join within the reply's memory. */
export interface EventHandler {
  /** Whether it checks what it parses itself (`HeldBytes.json`): events that it passes on unparsed then cost no check. */
  readonly checksParsing?: boolean;
  /** @param event a view, which is valid during the call; it may be parsed. @throws TooMuchHeld, UnreadableReply */
  event(event: ReplyEvent, emit: Emit): void;
  /** The account ended its reply without an error of the connection. Emits what is left. */
  end?(emit: Emit): void;
  /**
   * Asked after each event: how many milliseconds without another one end the reply as if the account had ended it. Undefined while the
   * reply goes on. Comments are no events here.
   */
  endsAfter?(): number | undefined;
}

/** Thrown by a step for a reply that it cannot read: the account is at fault. */
export class UnreadableReply extends Error {}

export interface ProviderReplies {
  /** The account's headers that belong to the turn's answer; what its client gets of them the surface decides. */
  headers(headers: Headers): Headers;
  /**
   * The decoding of a reply, its first step first. A whole JSON body in answer to a turn comes as one event. Absent for an API whose replies
   * are Responses events already, and undefined for such a reply: they pass without being read.
   */
  readonly decoding?: (out: Outgoing, context: AttemptContext) => readonly EventHandler[] | undefined;
  /** A whole answer of a kind that has no events, such as that of a file; absent if it passes as it came. */
  readonly answer?: (json: JsonObject, turn: LiveTurn) => JsonObject;
}
