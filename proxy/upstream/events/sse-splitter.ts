// Splits an SSE byte stream into whole events and reads their type in the bytes, without parsing them.
import { GatheredBytes } from '../../base/bytes/gathered-bytes.ts';
import { has, TypePeek } from '../../turn/reply/event-bytes.ts';
import { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { EventReader } from '../carriers/carrier.ts';

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const LAST_LF = Buffer.from('\n');

export class SseSplitter {
  readonly #onEvent: (event: ReplyEvent) => void;
  readonly #memory: EventReader['memory'];
  /** Reused for every event. */
  readonly #event = new ReplyEvent();
  /** The bytes of an event that has not ended. */
  readonly #pending = new GatheredBytes();
  /** Whether the bytes so far end in a line ending. `#afterCr`: whether they end in a CR, so that an LF may follow. */
  #lineEmpty = true;
  #afterCr = false;
  /** Whether the stream has CRLF. An event whose last CR has arrived then waits for the LF, which is part of it. */
  #crlf = false;
  #awaitsLf = false;
  /** Whether a CR has been seen. Every byte is then examined; before, line ends are found with memchr. */
  #anyCr = false;
  readonly #types = new TypePeek();

  constructor(memory: EventReader['memory'], onEvent: (event: ReplyEvent) => void) {
    this.#memory = memory;
    this.#onEvent = onEvent;
  }

  /** @throws TooMuchHeld */
  push(chunk: Buffer): void {
    if (!this.#anyCr && chunk.includes(CR)) this.#anyCr = true;
    let from = 0;
    while (from < chunk.length) {
      const end = this.#anyCr ? this.#boundary(chunk, from) : this.#lfBoundary(chunk, from);
      if (end === -1) break;
      this.#emit(chunk, from, end);
      from = end;
    }
    // Cleared so that an idle stream keeps no bytes in memory.
    this.#event.clear();
    if (from === chunk.length) return;
    this.#memory.hold(this.#pending.add(from === 0 ? chunk : chunk.subarray(from)));
  }

  /**
   * Called at the end of the stream. An event that waits only for the LF of its last CRLF is complete, and gets it. Any other rest is
   * dropped.
   */
  end(): void {
    if (this.#awaitsLf) this.push(LAST_LF);
  }

  /** The end of the first event after `from`, including its blank line; -1 if the event does not end in this chunk. */
  #lfBoundary(chunk: Buffer, from: number): number {
    if (this.#lineEmpty && chunk[from] === LF) return from + 1;
    let at = chunk.indexOf(LF, from);
    while (at !== -1 && at + 1 < chunk.length) {
      if (chunk[at + 1] === LF) {
        this.#lineEmpty = true;
        return at + 2;
      }
      at = chunk.indexOf(LF, at + 1);
    }
    this.#lineEmpty = at !== -1;
    return -1;
  }

  /** The end of the next event, with line ends of any mix of LF, CRLF and CR. */
  #boundary(chunk: Buffer, from: number): number {
    if (this.#awaitsLf) {
      this.#awaitsLf = false;
      this.#afterCr = false;
      return chunk[from] === LF ? from + 1 : from;
    }
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
        this.#crlf = true;
        continue;
      }
      this.#afterCr = byte === CR;
      if (byte !== LF && byte !== CR) {
        this.#lineEmpty = false;
        continue;
      }
      if (!this.#lineEmpty) {
        this.#lineEmpty = true;
        continue;
      }
      if (byte === CR && chunk[at + 1] === LF) {
        this.#afterCr = false;
        return at + 2;
      }
      this.#awaitsLf = byte === CR && this.#crlf && at + 1 === chunk.length;
      return this.#awaitsLf ? -1 : at + 1;
    }
    return -1;
  }

  #emit(chunk: Buffer, from: number, end: number): void {
    const event = this.#event;
    const pending = this.#pending.length;
    const joined = pending === 0 ? 0 : pending + end - from;
    if (joined > 0) {
      this.#memory.hold(joined + this.#pending.add(chunk.subarray(from, end)));
      const { held } = this.#pending;
      event.bytes = this.#pending.take();
      event.start = 0;
      event.end = joined;
      this.#memory.release(held);
    } else {
      event.bytes = chunk;
      event.start = from;
      event.end = end;
    }
    this.#peek(event);
    this.#onEvent(event);
    if (joined > 0) this.#memory.release(joined);
  }

  #peek(event: ReplyEvent): void {
    const { bytes, end } = event;
    let nameStart = -1;
    let nameEnd = -1;
    let found = false;
    event.dataStart = -1;
    event.dataEnd = -1;
    for (let line = event.start; line < end; ) {
      let lineEnd = bytes.indexOf(LF, line);
      if (lineEnd === -1 || lineEnd >= end) lineEnd = end;
      let next = lineEnd + 1;
      if (this.#anyCr) {
        const cr = bytes.indexOf(CR, line);
        if (cr !== -1 && cr < lineEnd) {
          next = cr + 1 === lineEnd ? next : cr + 1;
          lineEnd = cr;
        }
      }
      // Only the fields `data` and `event` matter, and in practice no other field begins with their letters.
      if (isField(bytes, line, lineEnd, 'data')) {
        const start = valueStart(bytes, line + 5, lineEnd);
        event.dataStart = found ? -1 : start;
        event.dataEnd = found ? -1 : lineEnd;
        found = true;
      } else if (isField(bytes, line, lineEnd, 'event')) {
        nameStart = valueStart(bytes, line + 6, lineEnd);
        nameEnd = lineEnd;
      }
      line = next;
    }
    event.hasData = found;
    const type = event.dataStart >= 0 ? this.#types.typeIn(bytes, event.dataStart, event.dataEnd) : undefined;
    event.type = type ?? (found && nameStart >= 0 ? bytes.toString('latin1', nameStart, nameEnd) : '');
  }
}

const isField = (bytes: Buffer, line: number, end: number, name: string): boolean =>
  end - line > name.length && bytes[line + name.length] === COLON && has(bytes, line, name);

const valueStart = (bytes: Buffer, at: number, end: number): number => (at < end && bytes[at] === SPACE ? at + 1 : at);
