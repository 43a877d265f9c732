// A sink: writes a reply of events in the client's encoding.
import type { Refusal } from '../errors/refusal.ts';
import type { Event, Outcome } from '../turn.ts';
import type { ReplyEvent } from './reply-event.ts';

/** Writes a reply of events in the client's encoding: as SSE, as one collected JSON answer, or as websocket frames. */
export interface Sink {
  /** Event types that the sink needs parsed, in addition to those that rules subscribe to. */
  readonly wants: Pick<ReadonlySet<string>, 'has'>;
  /** Whether the sink makes one answer of the reply. Its client then gets a refusal instead of a failure event. */
  readonly collects: boolean;
  /**
   * How much of each event is checked to be a JSON object: nothing, the first and last character, or all (F1.10). An event that fails the
   * check is dropped.
   */
  readonly objectCheck: 'none' | 'braces' | 'parse';
  /** Event types that the sink does not write. They are not parsed, even if rules subscribe to them. */
  readonly drops: ReadonlySet<string>;
  /** Whether anything irrevocable was sent to the client. */
  readonly shown: boolean;
  /** Whether the client has all that it asked for. The reply then ends here, although the account continues. */
  readonly satisfied?: boolean;
  /** Called at commit. No other attempt follows. */
  open(status: number, headers: Readonly<Record<string, string>>): void;
  /** An event as it came. The view is reused: the sink has to copy what it needs before it returns. */
  raw(event: ReplyEvent): void;
  /** An event that rules made or changed, or that the sink needs parsed. */
  event(event: Event): void;
  /** Called if rules dropped or added events. The account's sequence numbers then have to be replaced. */
  renumber(): void;
  /** Called if an event of the account was dropped because the client could not read it. */
  lost?(): void;
  /** Writes everything since the last flush. False: the client is slow, and `onDrain` reports when to continue. */
  flush(): boolean;
  onDrain(resume: () => void): void;
  /**
   * Called when the reply ended. A sink that collects makes its answer here.
   * @param refusal makes the answer to a client that gets no stream, if the reply failed
   * @throws Refusal while nothing was shown
   */
  conclude(outcome: Outcome, refusal: () => Refusal): void;
  /** Ends the client's reply, after the closing events of the rules. */
  close(closing: readonly (Event | Refusal)[], outcome: Outcome): void;
  /** Breaks the client's connection off, so that no reader takes the reply for complete. */
  cut(): void;
}
