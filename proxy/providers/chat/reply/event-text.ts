// The data of one event of a Chat stream, in all forms in which servers write it (AA57).
import { parseKeepingDigits } from '../../../turn/json/exact-numbers.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import { ReplyEvent } from '../../../turn/reply/reply-event.ts';

export interface EventText {
  /** Undefined if the data is not a JSON object. */
  json(): JsonObject | undefined;
  /** The JSON object, whose numbers keep their digits. Called only for data of which `json` returned an object. */
  exactJson(): JsonObject;
  readonly isDone: boolean;
  readonly isBlank: boolean;
  /** Whether the data is a whole body instead of a stream. */
  readonly isBody: boolean;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Undefined for comments. @param isFirst whether a byte order mark may precede the event */
export function eventText(event: ReplyEvent, isFirst: boolean): EventText | undefined {
  if (event.hasData) return new DataText(event);
  const { bytes, start, end } = event;
  const isMarked = isFirst && bytes.subarray(start, Math.min(end, start + 3)).equals(BYTE_ORDER_MARK);
  return isMarked ? eventText(unmarked(bytes.subarray(start + 3, end)), false) : undefined;
}

/** The event without the byte order mark, with which its first line was not read as a field. */
function unmarked(bytes: Buffer): ReplyEvent {
  const event = new ReplyEvent();
  event.bytes = bytes;
  event.end = bytes.length;
  event.hasData = /(?:^|[\r\n])data:/.test(bytes.toString('latin1'));
  return event;
}

class DataText implements EventText {
  readonly #event: ReplyEvent;

  constructor(event: ReplyEvent) {
    this.#event = event;
  }

  json(): JsonObject | undefined {
    return this.#event.json();
  }

  exactJson(): JsonObject {
    return parseKeepingDigits(this.#event.data()) as JsonObject;
  }

  get isDone(): boolean {
    return this.#event.data().trim() === '[DONE]';
  }

  get isBlank(): boolean {
    return this.#event.data().trim() === '';
  }

  /** Whether the event has no field before its data. */
  get isBody(): boolean {
    const { start, dataStart } = this.#event;
    return dataStart === start;
  }
}
