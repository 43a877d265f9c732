// Builds a JSON object while its bytes are scanned: the members of each level are parsed in parts, and levels that were begun in different
// parts are put together (Q38).
import { checkMembers, checkName, malformedJson, nameTooLong, notAnObject, parseJson } from './checked-json.ts';
import { exactRequest, parseExactly } from './exact-numbers.ts';
import type { Json, JsonObject } from './json.ts';
import { BACKSLASH, COMMA, type JsonScan, type JsonVisitor, LIST, OBJECT, type PartSize } from './json-bounds.ts';
import { LONG_TEXTS, LongTexts } from './long-texts.ts';

/** A list or an object that has no end yet. Its places are places of bytes. */
interface Level {
  opening: number;
  openedAt: number;
  /** The place of the first member that is not parsed yet. */
  unparsedFrom: number;
  /** The place of the last member. If that member is built already, the place after it. */
  memberFrom: number;
  isMemberBuilt: boolean;
  /** Undefined until a part ends inside of this level. */
  container: Json[] | Record<string, Json> | undefined;
  /** The name of this level in the object that contains it. */
  name: string | undefined;
  hasMembers: boolean;
}

export class JsonLevels implements JsonVisitor {
  readonly longBytes: number;
  readonly #bytes: Buffer;
  readonly #part: PartSize;
  /** The levels by depth. A closed level is reused. */
  readonly #levels: Level[] = [];
  readonly #texts = new LongTexts();
  #root: JsonObject | undefined;
  #rootEnd = -1;
  /** The place after the last parsed part. `#values` counts the values since then. */
  #partFrom = 0;
  #values = 0;
  /** A long string, which is parsed by itself. */
  #long: { readonly start: number; readonly end: number } | undefined;

  constructor(bytes: Buffer, part: PartSize) {
    this.#bytes = bytes;
    this.#part = part;
    this.longBytes = part.bytes;
  }

  structure(byte: number, at: number, depth: number): boolean {
    // Text outside of the root is refused when the end is reached.
    if (depth < 1 || this.#rootEnd !== -1) return false;
    if (byte === COMMA) return this.#comma(at, this.#level(depth));
    if (byte === LIST || byte === OBJECT) this.#opened(byte, at, depth);
    else this.#closed(byte, at, depth);
    return false;
  }

  longString(start: number, end: number): boolean {
    this.#long = { start, end };
    return true;
  }

  /** Parses what is due when the scan has stopped, and yields after each part. */
  *build(scan: JsonScan): Generator<void> {
    const { depth, at } = scan;
    if (this.#long) {
      yield* this.#addString(this.#long, depth);
      this.#long = undefined;
    } else if (this.#isDue(at) && depth > 0 && this.#rootEnd === -1) {
      this.#open(depth);
      this.#parseMembers(this.#level(depth));
    } else return;
    this.#partFrom = at;
    this.#values = 0;
  }

  /** @throws Refusal if the bytes are no JSON object */
  root(): JsonObject {
    if (!this.#root) throw notAnObject();
    if (this.#rootEnd === -1 || !this.#isBlank(this.#rootEnd + 1, this.#bytes.length)) throw malformedJson();
    if (!this.#texts.isEmpty) Object.assign(this.#root, { [LONG_TEXTS]: this.#texts });
    return this.#root;
  }

  #isDue(at: number): boolean {
    return at - this.#partFrom >= this.#part.bytes || this.#values >= this.#part.values;
  }

  #level(depth: number): Level {
    return this.#levels[depth] as Level;
  }

  #opened(opening: number, at: number, depth: number): void {
    this.#values += 1;
    const level = this.#levels[depth] ?? newLevel();
    this.#levels[depth] = level;
    level.opening = opening;
    level.openedAt = at;
    level.unparsedFrom = at + 1;
    level.memberFrom = at + 1;
    level.isMemberBuilt = false;
    level.hasMembers = false;
    if (depth > 1) return;
    if (opening === LIST || !this.#isBlank(0, at)) throw notAnObject();
    const root = {};
    level.container = root;
    this.#root = root;
  }

  /** @returns whether a part has to be parsed */
  #comma(at: number, level: Level): boolean {
    this.#values += 1;
    if (level.isMemberBuilt) {
      this.#endBuilt(level, at);
      level.unparsedFrom = at + 1;
    }
    level.memberFrom = at + 1;
    return this.#isDue(at);
  }

  #closed(closing: number, at: number, depth: number): void {
    const level = this.#level(depth);
    const { container, name } = level;
    if (!container) return;
    if (closing !== level.opening + 2) throw malformedJson();
    if (level.isMemberBuilt) this.#endBuilt(level, at);
    else if (level.hasMembers || !this.#isBlank(level.unparsedFrom, at)) this.#parse(level, at);
    level.container = undefined;
    if (depth === 1) {
      this.#rootEnd = at;
      return;
    }
    if (name !== undefined) checkName(name, container);
    const parent = this.#level(depth - 1);
    parent.isMemberBuilt = true;
    parent.memberFrom = at + 1;
  }

  /** @param at the comma or bracket after a member that is built */
  #endBuilt(level: Level, at: number): void {
    if (!this.#isBlank(level.memberFrom, at)) throw malformedJson();
    level.isMemberBuilt = false;
  }

  /** Creates the containers of all levels down to the depth. */
  #open(depth: number): void {
    for (let i = 2; i <= depth; i++) {
      const level = this.#level(i);
      if (level.container) continue;
      const parent = this.#level(i - 1);
      const container = level.opening === LIST ? [] : {};
      level.name = this.#put(parent, level.openedAt, container);
      level.container = container;
    }
  }

  *#addString({ start, end }: { readonly start: number; readonly end: number }, depth: number): Generator<void> {
    // A root that is a string, or text after the root, is refused when the end is reached.
    if (depth < 1 || this.#rootEnd !== -1) return;
    this.#open(depth);
    const level = this.#level(depth);
    if (level.opening === OBJECT && this.#isBlank(level.memberFrom, start - 1)) throw nameTooLong();
    const parts: string[] = [];
    for (let from = start; from < end; ) {
      const to = endOfPart(this.#bytes, from, Math.min(from + this.#part.bytes, end));
      parts.push(parseJson(`"${this.#text(from, to)}"`) as string);
      from = to;
      yield;
    }
    this.#put(level, start - 1, this.#texts.join(parts));
    level.isMemberBuilt = true;
    level.memberFrom = end + 1;
  }

  /**
   * Adds a value that is built by itself, after the members before it.
   * @param at the place at which it begins.
   * @returns its name in an object
   */
  #put(level: Level, at: number, value: Json): string | undefined {
    if (level.isMemberBuilt) throw malformedJson();
    this.#parseMembers(level);
    const { container, memberFrom } = level;
    level.hasMembers = true;
    if (Array.isArray(container)) {
      if (!this.#isBlank(memberFrom, at)) throw malformedJson();
      container.push(value);
      return undefined;
    }
    const [name, ...others] = Object.keys(parseJson(`{${this.#text(memberFrom, at)}[]}`) as JsonObject);
    if (name === undefined || others.length > 0) throw malformedJson();
    checkName(name, undefined);
    if (container) container[name] = value;
    return name;
  }

  /** Parses the members before the last comma that are not parsed yet. */
  #parseMembers(level: Level): void {
    if (level.unparsedFrom < level.memberFrom) this.#parse(level, level.memberFrom - 1);
  }

  #parse(level: Level, end: number): void {
    const { container, unparsedFrom } = level;
    const part = this.#text(unparsedFrom, end);
    level.unparsedFrom = end + 1;
    level.hasMembers = true;
    if (Array.isArray(container)) {
      const text = `[${part}]`;
      const items = parseJson(text) as readonly Json[];
      // A comma had no value before it.
      if (items.length === 0) throw malformedJson();
      const exact = checkMembers(items, 1) ? (parseExactly(text) as readonly Json[]) : items;
      for (const item of exact) container.push(item);
    } else if (container) {
      const text = `{${part}}`;
      const members = parseJson(text) as JsonObject;
      const names = Object.keys(members);
      if (names.length === 0) throw malformedJson();
      const exact = checkMembers(members, 1) ? this.#exactly(text, members, container) : members;
      for (const name of names) container[name] = exact[name] as Json;
    }
  }

  #exactly(text: string, members: JsonObject, container: object): JsonObject {
    const exact = parseExactly(text) as JsonObject;
    return container === this.#root ? exactRequest(exact, members) : exact;
  }

  #text(from: number, to: number): string {
    return this.#bytes.toString('utf8', from, to);
  }

  #isBlank(from: number, to: number): boolean {
    const bytes = this.#bytes;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return false;
    }
    return true;
  }
}

const UNICODE_ESCAPE = 117;

const newLevel = (): Level => ({
  opening: OBJECT,
  openedAt: 0,
  unparsedFrom: 0,
  memberFrom: 0,
  isMemberBuilt: false,
  container: undefined,
  name: undefined,
  hasMembers: false,
});

/** Finds the end of a part of a string, at `target` or a little after it. The end is between two characters. */
function endOfPart(bytes: Buffer, from: number, target: number): number {
  let at = from;
  while (at < target) {
    if (bytes[at] !== BACKSLASH) at += 1;
    else at += bytes[at + 1] === UNICODE_ESCAPE ? 6 : 2;
  }
  while (((bytes[at] as number) & 0xc0) === 0x80) at += 1;
  return at;
}
