// Sends a reply as frames. A native client gets the account's events as they came, without the framing of their stream. A client of the
// compatible surface gets JSON objects that are numbered without gaps.
import { isUtf8 } from 'node:buffer';
import { frameDataOf, Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import { replyText } from '../../turn/reply/reply-text.ts';
import type { Sink } from '../../turn/reply/sink.ts';
import type { Event, Outcome } from '../../turn/turn.ts';
import { errorFrame } from './error-frame.ts';
import { inLane } from './lane.ts';
import type { TurnOutput } from './turn-output.ts';

const NOTHING: ReadonlySet<string> = new Set();
/** Events that are parsed, because their frames need a status, which only websockets have. */
const ERROR: ReadonlySet<string> = new Set(['error']);

export class FrameSink implements Sink {
  readonly wants: Pick<ReadonlySet<string>, 'has'> = ERROR;
  readonly drops = NOTHING;
  readonly collects = false;
  readonly objectCheck: Sink['objectCheck'] = 'none';
  readonly #output: TurnOutput;

  constructor(output: TurnOutput) {
    this.#output = output;
  }

  get shown(): boolean {
    return this.#output.shown;
  }

  /** Frames have no head. */
  open(): void {}

  raw(event: ReplyEvent): void {
    if (!event.hasData || event.isDone()) return;
    this.#output.write(event.type, bytesOf(event) ?? event.data());
  }

  event({ type, data }: Event): void {
    this.#output.write(type, this.encoded(type === 'error' ? errorFrame(data) : data));
  }

  renumber(): void {
    // Native clients get the account's own numbers (EV3).
  }

  flush(): boolean {
    return this.#output.flush();
  }

  onDrain(resume: () => void): void {
    this.#output.onDrain(resume);
  }

  /** Fails if nothing was sent: the head may have been held for hold_ms, and nothing followed it. @throws Refusal */
  conclude({ kind }: Outcome, refusal: () => Refusal): void {
    if (kind === 'cut' && !this.shown) throw refusal();
  }

  close(closing: readonly (Event | Refusal)[], { kind, stopped }: Outcome): void {
    for (const last of closing) {
      if (last instanceof Refusal) this.#output.write('error', this.encoded(frameDataOf(last)));
      else this.event(last);
    }
    this.#output.ended(kind);
    this.flush();
    // Without a terminal event the client would wait for one. A gateway that stops closes the connection after the turn (Q28).
    if (kind === 'cut' && !stopped && !closing.some((last) => last instanceof Refusal)) this.#output.breakOff();
  }

  cut(): void {
    this.flush();
    this.#output.breakOff();
  }

  protected encoded(data: JsonObject): string {
    return replyText(data);
  }
}

/**
 * The data as they came. Undefined if a frame cannot contain them, because they are on several lines, or not UTF-8, at which a client would
 * end its connection.
 */
function bytesOf({ bytes, dataStart, dataEnd }: ReplyEvent): Buffer | undefined {
  if (dataStart < 0) return undefined;
  const data = bytes.subarray(dataStart, dataEnd);
  // A frame of the account was checked when it came, but an event of a stream was not.
  return dataStart === 0 || isUtf8(data) ? data : undefined;
}

/** All event types, because every event is parsed. */
const EVERYTHING = { has: () => true };

/** Sends a reply as frames of the compatible surface. They are JSON objects that are numbered without gaps (F1.10, Q15). */
export class PublicFrameSink extends FrameSink {
  override readonly wants = EVERYTHING;
  override readonly objectCheck = 'parse';
  readonly #lane: string | undefined;
  #next = 0;

  constructor(output: TurnOutput, lane: string | undefined) {
    super(output);
    this.#lane = lane;
  }

  override event({ type, data }: Event): void {
    const numbered = 'sequence_number' in data && type !== 'error';
    super.event({ type, data: numbered ? { ...data, sequence_number: this.#next++ } : data });
  }

  protected override encoded(data: JsonObject): string {
    return super.encoded(inLane(data, this.#lane));
  }
}
