// One event of a reply as a carrier delivers it: its bytes, its type, and its data parsed only on demand.
import { isObject, type JsonObject } from '../json/json.ts';

const NO_BYTES = Buffer.alloc(0);
const DONE = '[DONE]';
const [SPACE, OPENING_BRACE, CLOSING_BRACE] = [32, 123, 125];

/** A view of one event. Carriers reuse one view for all events of a reply: code that keeps an event beyond the call takes a `copy`. */
export class ReplyEvent {
  bytes: Buffer = NO_BYTES;
  /** The bytes of the event are those from `start` to `end`. With SSE they include the closing blank line. */
  start = 0;
  end = 0;
  /** The `type` member of the data. If the data does not begin with it, the type in the `event:` line. '' if neither states a type. */
  type = '';
  /** False for comments and empty events. */
  hasData = false;
  /** The range of the data if it is on one line; `dataStart` is -1 otherwise. */
  dataStart = -1;
  dataEnd = -1;

  /** Makes an event of the gateway's own. A sink can write it as an event of a stream or as a frame. */
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

  /** The number of bytes of the event as it came. */
  get length(): number {
    return this.end - this.start;
  }

  /** Makes a view that stays valid. It shares the bytes. */
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

  /** Drops the reference to the bytes, so that an idle stream keeps none in memory. */
  clear(): void {
    this.bytes = NO_BYTES;
  }

  /**
   * Finds the type in data that does not begin with it, if there is no `event:` line. Parses such data.
   * @returns false if the data is not a JSON object
   */
  completeType(): boolean {
    if (this.type !== '' || !this.hasData || this.isDone()) return true;
    const data = this.json();
    if (typeof data?.type === 'string') this.type = data.type;
    return data !== undefined;
  }

  /** Whether data on one line begins with `{` and ends with `}`. Data that was cut, or plain text, does not. */
  hasBraces(): boolean {
    const { bytes, dataStart, dataEnd } = this;
    let last = dataEnd - 1;
    while (last > dataStart && (bytes[last] as number) <= SPACE) last -= 1;
    return bytes[last] === CLOSING_BRACE && this.#mayBeObject();
  }

  /** The data as a JSON object; undefined if it is not one. Every call parses the data. */
  json(): JsonObject | undefined {
    if (!this.#mayBeObject()) return undefined;
    try {
      const data: unknown = JSON.parse(this.data());
      return isObject(data) ? data : undefined;
    } catch {
      return undefined;
    }
  }

  /** Whether the data may be a JSON object. Without this check each other event would cause an exception, which is expensive. */
  #mayBeObject(): boolean {
    const { bytes, dataStart, dataEnd } = this;
    if (dataStart < 0) return this.hasData;
    let at = dataStart;
    // Skips white space and control characters. The parser decides which of them JSON permits.
    while (at < dataEnd && (bytes[at] as number) <= SPACE) at += 1;
    return at < dataEnd && bytes[at] === OPENING_BRACE;
  }

  /** The data as text, with its lines joined as SSE requires. */
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
