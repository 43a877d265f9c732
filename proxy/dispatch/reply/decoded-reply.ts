// Decodes the reply of an account into Responses events for their reader, with the steps of its provider API.
import { GatheredBytes } from '../../base/bytes/gathered-bytes.ts';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../turn/provider/provider-replies.ts';
import { type HeldBytes, TooMuchHeld } from '../../turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { ReplyEnd } from '../../turn/reply/terminal-event.ts';
import type { ByteReader, EventReader } from '../../upstream/carriers/carrier.ts';
import type { ReplyContext } from './reply-context.ts';

export interface DecodedReplyOptions {
  readonly steps: readonly EventHandler[];
  readonly reader: EventReader;
  readonly memory: HeldBytes;
  readonly context: Pick<ReplyContext, 'turn' | 'sending' | 'counters'>;
  /** How long the first data may still take. Comments do not count (AA57). Undefined over a websocket. */
  readonly firstDataMs: number | undefined;
}

export class DecodedReply implements EventReader {
  readonly reads = 'events';
  readonly memory: HeldBytes;
  readonly #options: DecodedReplyOptions;
  readonly #first: Emit;
  /** Whether the parsing of the first step has to be checked here. */
  readonly #checks: boolean;
  /** Ends the steps, the first one first. What a step emits still passes the steps after it. */
  readonly #ends: readonly (() => void)[];
  #end: ReplyEnd | undefined;
  #isOver = false;
  /** Cancels the wait for a further event of a reply that may be complete without one. */
  #cancelSilence: (() => void) | undefined;
  /** Cancels the wait for the first data. */
  #cancelFirst: (() => void) | undefined;

  constructor(options: DecodedReplyOptions) {
    this.#options = options;
    this.memory = options.memory;
    const ends: (() => void)[] = [];
    let emit: Emit = (event) => {
      this.#end = options.reader.event(event) ?? this.#end;
    };
    for (const step of options.steps.toReversed()) {
      const next = emit;
      emit = (event) => step.event(event, next);
      ends.unshift(() => step.end?.(next));
    }
    this.#first = emit;
    this.#checks = options.steps[0]?.checksParsing !== true;
    this.#ends = ends;
    const { firstDataMs, context } = options;
    if (firstDataMs !== undefined) this.#cancelFirst = context.turn.after(firstDataMs, () => this.#firstDataLate());
  }

  /** Reads a body that is not a stream. It is passed on as one event. */
  asBytes(): ByteReader {
    const body = new GatheredBytes();
    return {
      reads: 'bytes',
      data: (chunk) => {
        this.#hasData();
        this.#guarded(() => this.memory.hold(body.add(chunk)));
      },
      end: () => {
        this.event(eventOf(body.take()));
        this.delivered();
        this.end();
      },
      fail: (failure) => this.fail(failure),
    };
  }

  event(event: ReplyEvent): ReplyEnd | undefined {
    if (event.hasData) this.#hasData();
    this.#guarded(() => {
      // Checked because the steps parse the event.
      if (event.hasData && this.#checks) this.memory.allowParsing(event);
      this.#first(event);
    });
    if (event.hasData) this.#awaitSilence();
    return this.#end;
  }

  delivered(): void {
    this.#options.reader.delivered();
  }

  end(): void {
    this.#cancelWaits();
    this.#guarded(() => {
      for (const end of this.#ends) end();
    });
    if (this.#isOver) return;
    this.delivered();
    this.#options.reader.end();
  }

  fail(failure: CarrierFailure): void {
    this.#cancelWaits();
    if (!this.#isOver) this.#options.reader.fail(failure);
  }

  refuse(refusal: Refusal): void {
    this.stop();
    this.#options.reader.refuse?.(refusal);
  }

  /** Ends all waits, because the attempt is over. */
  stop(): void {
    this.#isOver = true;
    this.#cancelWaits();
  }

  #hasData(): void {
    this.#cancelFirst?.();
    this.#cancelFirst = undefined;
  }

  /** Handles that no data came in time. The account has sent only its head and comments, which reset the idle timer. */
  #firstDataLate(): void {
    if (this.#isOver) return;
    const { context } = this.#options;
    context.counters.add('upstream_first_byte_timeouts');
    context.sending.abort();
    this.fail('first_byte');
    this.stop();
  }

  #cancelWaits(): void {
    this.#hasData();
    this.#cancelSilence?.();
  }

  /** Waits for the end of a reply that may be complete although the account has not ended it. */
  #awaitSilence(): void {
    this.#cancelSilence?.();
    this.#cancelSilence = undefined;
    if (this.#isOver || this.#end !== undefined) return;
    const { steps, context } = this.#options;
    for (const step of steps) {
      const ms = step.endsAfter?.();
      if (ms === undefined) continue;
      this.#cancelSilence = context.turn.after(ms, () => {
        context.sending.abort();
        this.end();
      });
      return;
    }
  }

  /** Runs work on the account's bytes. An error in it ends this reply. */
  #guarded(work: () => void): void {
    if (this.#isOver) return;
    try {
      work();
    } catch (thrown) {
      const { context, reader } = this.#options;
      if (thrown instanceof Refusal) {
        context.sending.abort();
        this.refuse(thrown);
        return;
      }
      if (!(thrown instanceof TooMuchHeld || thrown instanceof UnreadableReply)) context.turn.fault(thrown);
      this.stop();
      context.sending.abort();
      reader.fail(thrown instanceof TooMuchHeld ? 'too_large' : 'malformed');
    }
  }
}

/** A whole body as an event. */
function eventOf(bytes: Buffer): ReplyEvent {
  const event = new ReplyEvent();
  event.bytes = bytes;
  event.end = bytes.length;
  event.hasData = true;
  event.dataStart = 0;
  event.dataEnd = bytes.length;
  return event;
}
