// Splits an SSE byte stream into whole events and peeks their type in the bytes, without parsing them.
import type { JsonObject } from '../turn/json.ts';

/**
 * One event inside `bytes`; reused for every event, so it must not be kept.
 * `start` to `end` are the event's bytes with its closing blank line.
 */
export interface SseEvent {
  bytes: Buffer;
  start: number;
  end: number;
  /** The JSON's `type`; the `event:` line where the data names none in front; '' where neither says. */
  type: string;
  /** False for comments and empty events. */
  hasData: boolean;
  /** The bytes of the data, when it stands on one line; `dataStart` is -1 otherwise. */
  dataStart: number;
  dataEnd: number;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const TYPE_PREFIX = '{"type":"';
const LAST_LF = Buffer.from('\n');
const NO_BYTES = Buffer.alloc(0);

export class EventTooLarge extends Error {}

export class SseSplitter {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #maxEventBytes: number;
  readonly #event: SseEvent = { bytes: NO_BYTES, start: 0, end: 0, type: '', hasData: false, dataStart: -1, dataEnd: -1 };
  /** Chunks of an event that has not ended yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Whether the bytes so far end in a line ending, and in a CR whose LF may still come. */
  #lineEmpty = true;
  #afterCr = false;
  /** A stream of CRLF: an event whose last CR has come waits for the LF, which belongs to it. */
  #crlf = false;
  #awaitsLf = false;
  /** Once a CR was seen, every byte is looked at; plain LF framing is found by memchr. */
  #anyCr = false;
  #lastType = '';

  constructor(maxEventBytes: number, onEvent: (event: SseEvent) => void) {
    this.#maxEventBytes = maxEventBytes;
    this.#onEvent = onEvent;
  }

  /** @throws EventTooLarge */
  push(chunk: Buffer): void {
    if (!this.#anyCr && chunk.includes(CR)) this.#anyCr = true;
    let from = 0;
    while (from < chunk.length) {
      const end = this.#anyCr ? this.#boundary(chunk, from) : this.#lfBoundary(chunk, from);
      if (end === -1) break;
      this.#emit(chunk, from, end);
      from = end;
    }
    // Between chunks an idle stream holds nothing.
    this.#event.bytes = NO_BYTES;
    if (from === chunk.length) return;
    this.#pending.push(from === 0 ? chunk : chunk.subarray(from));
    this.#pendingBytes += chunk.length - from;
    if (this.#pendingBytes > this.#maxEventBytes) throw new EventTooLarge();
  }

  /** No more bytes come: an event that only waited for the LF of its last CRLF is whole, and gets it. What else is left is no event. */
  end(): void {
    if (this.#awaitsLf) this.push(LAST_LF);
  }

  /** Where the first event from `from` on ends: behind its blank line; -1 when it does not end in this chunk. */
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

  /** The same for any mix of LF, CRLF and CR. */
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
    if (this.#pendingBytes > 0) {
      this.#pending.push(chunk.subarray(from, end));
      event.bytes = Buffer.concat(this.#pending, this.#pendingBytes + end - from);
      event.start = 0;
      event.end = event.bytes.length;
      this.#pending = [];
      this.#pendingBytes = 0;
      if (event.end > this.#maxEventBytes) throw new EventTooLarge();
    } else {
      event.bytes = chunk;
      event.start = from;
      event.end = end;
    }
    this.#peek(event);
    this.#onEvent(event);
  }

  #peek(event: SseEvent): void {
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
      // `data` and `event` are the only fields that matter, and nothing else starts with their letters in practice.
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
    const type = event.dataStart >= 0 ? this.#typeIn(bytes, event.dataStart, event.dataEnd) : undefined;
    event.type = type ?? (found && nameStart >= 0 ? bytes.toString('latin1', nameStart, nameEnd) : '');
  }

  /** The `type` of data that begins with it, as every known provider writes it; undefined where it does not. */
  #typeIn(bytes: Buffer, start: number, end: number): string | undefined {
    if (!has(bytes, start, TYPE_PREFIX)) return undefined;
    const from = start + TYPE_PREFIX.length;
    // Most events have the type of the one before: comparing bytes is cheaper than making a string.
    const last = this.#lastType;
    if (last !== '' && has(bytes, from, last) && bytes[from + last.length] === QUOTE) return last;
    let quote = from;
    while (quote < end && bytes[quote] !== QUOTE && bytes[quote] !== BACKSLASH) quote++;
    if (quote >= end || bytes[quote] !== QUOTE) return undefined;
    this.#lastType = bytes.toString('latin1', from, quote);
    return this.#lastType;
  }
}

/** Whether the bytes at `at` are these characters. */
function has(bytes: Buffer, at: number, characters: string): boolean {
  for (let i = 0; i < characters.length; i++) if (bytes[at + i] !== characters.charCodeAt(i)) return false;
  return true;
}

const isField = (bytes: Buffer, line: number, end: number, name: string): boolean =>
  end - line > name.length && bytes[line + name.length] === COLON && has(bytes, line, name);

const valueStart = (bytes: Buffer, at: number, end: number): number => (at < end && bytes[at] === SPACE ? at + 1 : at);

/** What is needed of an event to read its data. */
type EventData = Pick<SseEvent, 'bytes' | 'start' | 'end' | 'dataStart' | 'dataEnd'>;

/** The data of an event as text, its lines joined as SSE says. */
export function dataOf(event: EventData): string {
  if (event.dataStart >= 0) return event.bytes.toString('utf8', event.dataStart, event.dataEnd);
  const lines: string[] = [];
  for (const line of event.bytes.toString('utf8', event.start, event.end).split(/\r\n|\r|\n/)) {
    if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return lines.join('\n');
}

/** The data of an event as the JSON object that it should be; undefined where it is none. */
export function jsonOf(event: EventData): JsonObject | undefined {
  try {
    const data: unknown = JSON.parse(dataOf(event));
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

const DONE = '[DONE]';

/** The end mark of public streams. */
export function isDone({ bytes, dataStart, dataEnd }: EventData): boolean {
  return dataStart >= 0 && dataEnd - dataStart === DONE.length && bytes.toString('latin1', dataStart, dataEnd) === DONE;
}
