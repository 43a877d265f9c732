// Writes large JSON in parts, with other work of the event loop between them, even if it has large strings or dense lists (Q38).
import { OneAtATime } from '../../base/process/one-at-a-time.ts';
import { SlicedWork } from '../../base/process/slices.ts';
import { isList, isObject, type Json } from './json.ts';
import { type LongTexts, longTextsOf } from './long-texts.ts';

/** The characters of a part. Strings are divided at this length, and smaller values are written whole. */
const PART = 65_536;

/** The characters that each item of a list counts in addition, because small items cost more than their characters. */
const ITEM = 16;

/** The characters that are written between two checks of the time. */
const LOOK = 32_768;

const writing = new OneAtATime();

/** A client that leaves while its turn is written ends the attempt. The attempt is not sent then. */
const NO_SIGNAL = new AbortController().signal;

export interface WriteOptions {
  /** The client's key. Work is divided fairly between keys. */
  readonly key: string;
  /** The approximate size of the JSON in bytes. */
  readonly bytes: number;
}

/** Writes the same bytes as `JSON.stringify`. Members that are undefined are left out. */
export function writeLargeJson(
  value: Json | { readonly [member: string]: Json | undefined },
  { key, bytes }: WriteOptions,
): Promise<Buffer> {
  return writing.run(key, NO_SIGNAL, async () => {
    const work = new SlicedWork(key);
    await work.pause();
    const written = new GrowingBuffer(bytes);
    let since = 0;
    for (const part of parts(value as Json, longTextsOf(value as object))) {
      written.add(part);
      since += part.length;
      if (since < LOOK) continue;
      since = 0;
      await work.pause();
    }
    return written.take();
  });
}

function* parts(value: Json, texts: LongTexts | undefined): Generator<string> {
  if (isSmall(value)) yield JSON.stringify(value);
  else if (typeof value === 'string') yield* stringParts(value, texts?.partsOf(value));
  else if (isList(value)) yield* listParts(value, texts);
  else if (isObject(value)) yield* objectParts(value, texts);
}

function* listParts(list: readonly Json[], texts: LongTexts | undefined): Generator<string> {
  let before = '[';
  for (let from = 0; from < list.length; ) {
    const end = endOfPart(list, from);
    yield before;
    if (end > from) yield JSON.stringify(list.slice(from, end)).slice(1, -1);
    else yield* parts(list[from] as Json, texts);
    from = Math.max(end, from + 1);
    before = ',';
  }
  yield list.length === 0 ? '[]' : ']';
}

/** The index after the items that form one part; `from` itself if its item is larger than a part. */
function endOfPart(list: readonly Json[], from: number): number {
  let end = from;
  for (let left = PART; end < list.length; end++) {
    left = remaining(list[end], left - ITEM);
    if (left <= 0) break;
  }
  return end;
}

function* objectParts(object: Readonly<Record<string, Json | undefined>>, texts: LongTexts | undefined): Generator<string> {
  let before = '{';
  for (const name in object) {
    const member = object[name];
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* parts(member, texts);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

function* stringParts(text: string, known: readonly string[] | undefined): Generator<string> {
  yield '"';
  if (known) for (const part of known) yield JSON.stringify(part).slice(1, -1);
  else yield* cut(text);
  yield '"';
}

function* cut(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = Math.min(at + PART, text.length);
    const next = end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
    yield JSON.stringify(text.slice(at, next)).slice(1, -1);
    at = next;
  }
}

/** Both halves of a character stay in one part. A single half would be written as an escape. */
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** Whether the value has less text than a part. The walk ends as soon as it has more. */
const isSmall = (value: Json): boolean => remaining(value, PART) > 0;

/**
 * What remains of a number of characters after this value; 0 or less if the value is longer. Each value also counts a few characters for
 * its punctuation.
 */
function remaining(value: Json | undefined, left: number): number {
  if (typeof value === 'string') return left - value.length - 2;
  if (typeof value !== 'object' || value === null) return left - 8;
  let rest = left - 2;
  if (isList(value)) {
    for (const item of value) {
      if (rest <= 0) break;
      rest = remaining(item, rest);
    }
    return rest;
  }
  const object = value as Readonly<Record<string, Json | undefined>>;
  for (const name in object) {
    if (rest <= 0) break;
    rest = remaining(object[name], rest - name.length - 4);
  }
  return rest;
}

/** The size of the buffer beyond the expected bytes. */
const ROOM = 65_536;

/** Gathers texts as UTF-8 in one buffer. The buffer grows if the first size was too small. */
class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  /** @param bytes the expected number of bytes */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes + ROOM);
  }

  add(text: string): void {
    // A unit of a text has at most three bytes.
    if (this.#length + text.length * 3 > this.#buffer.length) this.#reserve(this.#length + Buffer.byteLength(text));
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** Returns all bytes so far, without copying them. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(bytes + ROOM, Math.ceil(this.#buffer.length * 1.5)));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
