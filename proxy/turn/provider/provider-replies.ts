// The replies of a provider API: the headers that are passed on, and the decoding into Responses events.
import type { ReplyEvent } from '../reply/reply-event.ts';
import type { Headers, Outgoing } from '../turn.ts';
import type { EncodedAttempt } from './provider-requests.ts';

/** Passes an event to the next step of the decoding. The last step passes it to the turn. The view may be reused after the call. */
export type Emit = (event: ReplyEvent) => void;

/**
 * One step of a decoding. It turns each event into none, into itself, or into others. Events that a step keeps count as memory of the
 * reply.
 */
export interface EventHandler {
  /** Whether the step itself checks the memory of what it parses (`HeldBytes.json`). Events that it passes on unparsed then need no check. */
  readonly checksParsing?: boolean;
  /** @param event a view, which is valid during the call; it may be parsed. @throws TooMuchHeld, UnreadableReply */
  event(event: ReplyEvent, emit: Emit): void;
  /** Called when the account ended its reply without an error of the connection. Emits what remains. */
  end?(emit: Emit): void;
  /**
   * Called after each event. Returns the milliseconds after which the reply counts as ended by the account, if no further event comes.
   * Undefined while the reply continues. Comments do not count as events.
   */
  endsAfter?(): number | undefined;
}

/** Thrown by a step if it cannot read the reply. The account is at fault. */
export class UnreadableReply extends Error {}

export interface ProviderReplies {
  /** The account's headers that belong to the answer; absent if all do. The surface decides which of them its client gets. */
  headers?(headers: Headers): Headers;
  /**
   * The steps that decode a reply, the first one first. A whole JSON body in answer to a turn comes as one event. Absent for an API whose
   * replies already are Responses events, and undefined for such a reply: its events pass without being read.
   */
  readonly decoding?: (out: Outgoing, context: EncodedAttempt) => readonly EventHandler[] | undefined;
}
