// Sends a reply to a native client as frames: the account's events as they came, without the framing of their stream.
import { isUtf8 } from 'node:buffer';
import { frameDataOf, Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import { replyText } from '../../turn/reply/reply-text.ts';
import type { Sink } from '../../turn/reply/sink.ts';
import type { Event, Outcome } from '../../turn/turn.ts';
import { errorFrame } from './error-frame.ts';
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

  close(closing: readonly (Event | Refusal)[], { kind }: Outcome): void {
    for (const last of closing) {
      if (last instanceof Refusal) this.#output.write('error', this.encoded(frameDataOf(last)));
      else this.event(last);
    }
    this.#output.ended(kind);
    this.flush();
    // Without a terminal event the client would wait for one.
    if (kind === 'cut' && !closing.some((last) => last instanceof Refusal)) this.#output.breakOff();
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
