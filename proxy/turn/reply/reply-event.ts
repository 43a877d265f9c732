// One event of a reply as a carrier delivers it: its bytes, its type, and its data parsed only on demand.
import { isObject, type JsonObject } from '../json/json.ts';

const NO_BYTES = Buffer.alloc(0);
const DONE = '[DONE]';
const [SPACE, OPENING_BRACE, CLOSING_BRACE] = [32, 123, 125];

/** A view of one event. Carriers reuse one view for all events of a reply: code that keeps an event beyond the call takes a `copy`. */
export class ReplyEvent {
  bytes: Buffer = NO_BYTES;
  /** From `start` to `end` are the bytes of the event, for SSE with its closing blank line. */
  start = 0;
  end = 0;
  /** The `type` member of the data; the `event:` line if the data does not begin with one; '' if neither names it. */
  type = '';
  /** False for comments and empty events. */
  hasData = false;
  /** The range of the data if it is on one line; `dataStart` is -1 otherwise. */
  dataStart = -1;
  dataEnd = -1;

  /** An event of the gateway's own, which a sink can write as an event of a stream or as a frame. */
  static of(data: JsonObject): ReplyEvent {
    const event = new ReplyEvent();
    const head = `event: ${String(data.type)}\ndata: `;
    event.bytes = Buffer.from(`${head}${JSON.stringify(data)}\n\n`);
    event.end = event.bytes.length;
    event.type = String(data.type);
    event.hasData = true;
    event.dataStart = head.length;
    event.dataEnd = event.bytes.length - 2;
    return event;
  }

  /** Bytes of the event as it came. */
  get length(): number {
    return this.end - this.start;
  }

  /** A view that stays valid; the bytes are shared. */
  copy(into: ReplyEvent = new ReplyEvent()): ReplyEvent {
    into.bytes = this.bytes;
    into.start = this.start;
    into.end = this.end;
    into.type = this.type;
    into.hasData = this.hasData;
    into.dataStart = this.dataStart;
    into.dataEnd = this.dataEnd;
    return into;
  }

  /** Releases the bytes, so that an idle stream holds none. */
  clear(): void {
    this.bytes = NO_BYTES;
  }

  /**
   * Looks the type up inside data that does not begin with it and has no `event:` line. Parses such data.
   * @returns false for data that is not a JSON object
   */
  completeType(): boolean {
    if (this.type !== '' || !this.hasData || this.isDone()) return true;
    const data = this.json();
    if (typeof data?.type === 'string') this.type = data.type;
    return data !== undefined;
  }

  /** Whether data on one line begins and ends as a JSON object does, which no cut or plain text does. */
  hasBraces(): boolean {
    const { bytes, dataStart, dataEnd } = this;
    let last = dataEnd - 1;
    while (last > dataStart && (bytes[last] as number) <= SPACE) last -= 1;
    return bytes[last] === CLOSING_BRACE && this.#mayBeObject();
  }

  /** The data as a JSON object; undefined if it is none. Parses at every call. */
  json(): JsonObject | undefined {
    if (!this.#mayBeObject()) return undefined;
    try {
      const data: unknown = JSON.parse(this.data());
      return isObject(data) ? data : undefined;
    } catch {
      return undefined;
    }
  }

  /** Without this check each event that is not JSON would cost an exception, which is expensive. */
  #mayBeObject(): boolean {
    const { bytes, dataStart, dataEnd } = this;
    if (dataStart < 0) return this.hasData;
    let at = dataStart;
    // White space and control characters: which of them JSON permits, the parser decides.
    while (at < dataEnd && (bytes[at] as number) <= SPACE) at += 1;
    return at < dataEnd && bytes[at] === OPENING_BRACE;
  }

  /** The data as text, its lines joined as SSE requires. */
  data(): string {
    if (this.dataStart >= 0) return this.bytes.toString('utf8', this.dataStart, this.dataEnd);
    const lines: string[] = [];
    for (const line of this.bytes.toString('utf8', this.start, this.end).split(/\r\n|\r|\n/)) {
      if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
    return lines.join('\n');
  }

  /** Whether this is the end mark of public streams. */
  isDone(): boolean {
    const { bytes, dataStart, dataEnd } = this;
    return dataStart >= 0 && dataEnd - dataStart === DONE.length && bytes.toString('latin1', dataStart, dataEnd) === DONE;
  }
}
