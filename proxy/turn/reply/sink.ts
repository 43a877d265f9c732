// A sink: writes a reply of events in the client's encoding.
import type { Refusal } from '../errors/refusal.ts';
import type { Event, Outcome } from '../turn.ts';
import type { ReplyEvent } from './reply-event.ts';

/** Writes a reply of events in the client's encoding: SSE, one collected JSON answer, websocket frames. */
export interface Sink {
  /** Event types that it needs parsed, in addition to those that rules subscribe to. */
  readonly wants: Pick<ReadonlySet<string>, 'has'>;
  /** Whether it makes one answer of the reply: its client gets no failure event, but a refusal. */
  readonly collects: boolean;
  /**
   * How much of each event is checked, so that its client gets only JSON objects: nothing, the first and last character, or all (F1.10).
   * Any other event is dropped, as if it had not been sent.
   */
  readonly objectCheck: 'none' | 'braces' | 'parse';
  /** Event types that it does not write: they are not parsed, even if rules subscribe to them. */
  readonly drops: ReadonlySet<string>;
  /** Whether anything irrevocable was sent to the client. */
  readonly shown: boolean;
  /** Whether the client has all that it asked for, although the account goes on: its reply is ended here. */
  readonly satisfied?: boolean;
  /** Commit: no other attempt follows. */
  open(status: number, headers: Readonly<Record<string, string>>): void;
  /** An event as it came. The view is reused: the sink has to copy what it needs before it returns. */
  raw(event: ReplyEvent): void;
  /** An event that rules made or changed, or that the sink needs parsed. */
  event(event: Event): void;
  /** Rules dropped or added events: the sequence numbers of the account no longer hold. */
  renumber(): void;
  /** An event of the account that its client cannot read was dropped. */
  lost?(): void;
  /** Writes everything since the last flush. False: the client is slow, and `onDrain` reports when to continue. */
  flush(): boolean;
  onDrain(resume: () => void): void;
  /**
   * The reply ended. A sink that shows nothing before makes its answer here.
   * @param refusal the answer to a client that gets no stream, if the reply failed
   * @throws Refusal while nothing was shown
   */
  conclude(outcome: Outcome, refusal: () => Refusal): void;
  /** Ends the client's reply, after the closing events of the rules. */
  close(closing: readonly (Event | Refusal)[], outcome: Outcome): void;
  /** Ends it as a dead connection does, so that no reader mistakes it for complete. */
  cut(): void;
}
