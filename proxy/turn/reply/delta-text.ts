// The text of a delta event, read from its bytes in the form that JSON has between the quotes. It is parsed only if it is written in an
// unusual way.
import type { Json } from '../json/json.ts';
import { DeltaLocator, jsonText, MemberLocator, textLength } from './event-bytes.ts';
import type { ReplyEvent } from './reply-event.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

/** The characters that may follow a backslash. `u` is left out, because its digits would have to be checked. Texts with it are parsed. */
const ESCAPED: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));

const OUTPUT_INDEX = Buffer.from('"output_index":');
const CONTENT_INDEX = Buffer.from('"content_index":');
const SUMMARY_INDEX = Buffer.from('"summary_index":');

/** Used for the events of one reply. */
export class DeltaText {
  readonly #deltas = new DeltaLocator();
  readonly #places = new MemberLocator(OUTPUT_INDEX);
  readonly #parts = { content_index: new MemberLocator(CONTENT_INDEX), summary_index: new MemberLocator(SUMMARY_INDEX) };
  #decodedBytes = 0;

  /** The UTF-8 length of the last text when it is decoded. */
  get decodedBytes(): number {
    return this.#decodedBytes;
  }

  /** Returns a view of the event's bytes, or a new buffer; undefined if the event has no text. */
  of(event: ReplyEvent): Buffer | undefined {
    const { bytes, dataStart, dataEnd } = event;
    // If the data has several lines, the prefixes of the lines are between them.
    const from = dataStart === -1 ? -1 : this.#deltas.locate(event);
    const to = from === -1 ? -1 : this.#closingQuote(bytes, from, dataEnd);
    if (to !== -1) return from === to ? undefined : bytes.subarray(from, to);
    const delta = event.json()?.delta;
    if (typeof delta !== 'string' || delta === '') return undefined;
    const text = jsonText(delta);
    this.#decodedBytes = textLength(text, 0, text.length);
    return text;
  }

  /** The value of a member that numbers the parts of an item; 0 if the event does not have it. */
  numberOf(event: ReplyEvent, member: 'content_index' | 'summary_index'): number {
    const digits = numberAt(this.#parts[member], event);
    if (digits !== undefined) return digits;
    const number = event.json()?.[member];
    return typeof number === 'number' ? number : 0;
  }

  /** Identifies the item that the event belongs to, by its `output_index`, or by the item's id if a provider leaves the index out. */
  placeOf(event: ReplyEvent): Json | undefined {
    const digits = numberAt(this.#places, event);
    if (digits !== undefined) return digits;
    const data = event.json();
    return data?.output_index ?? data?.item_id;
  }

  /** The end of a JSON string; -1 if the string has control characters, or escapes of several characters. */
  #closingQuote(bytes: Buffer, from: number, end: number): number {
    let escapes = 0;
    for (let at = from; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.#decodedBytes = at - from - escapes;
        return at;
      }
      if (byte < SPACE) return -1;
      if (byte !== BACKSLASH) continue;
      if (!ESCAPED.has(bytes[++at])) return -1;
      escapes += 1;
    }
    return -1;
  }
}

/** The number that a member of the data has; undefined if it has none. */
function numberAt(member: MemberLocator, event: ReplyEvent): number | undefined {
  const at = event.dataStart === -1 ? -1 : member.locate(event);
  return at === -1 ? undefined : digitsAt(event.bytes, at);
}

function digitsAt(bytes: Buffer, from: number): number | undefined {
  let value = 0;
  let at = from;
  for (; isDigit(bytes[at]); at++) value = value * 10 + (bytes[at] as number) - ZERO;
  return at === from ? undefined : value;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
