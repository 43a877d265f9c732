// Parses a large JSON body in parts, with other work of the event loop between them, and one body at a time.
import { setImmediate } from 'node:timers/promises';
import { JsonSyntaxRefusal } from '../../../turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import { type Excess, JsonScan } from '../../../turn/json/json-bounds.ts';
import type { Body } from '../../../turn/turn.ts';
import { checkMembers, checkUtf8, type JsonLimits, notAnObject, parseJson, refusalOf } from './json-body.ts';

/** Smaller bodies are parsed at once. */
export const LARGE_BYTES = 2_097_152;
/** What is scanned, and what is parsed, in one step. */
const SCAN_BYTES = 4_194_304;
const PART_BYTES = 1_048_576;

const [COMMA, LIST, LIST_END, OBJECT, OBJECT_END] = [44, 91, 93, 123, 125];

let last: Promise<unknown> = Promise.resolve();

/**
 * The items of long lists in the body, and groups of its members, are parsed one after another.
 * @throws Refusal as `parseBody`
 */
export function parseLargeBody(bytes: Buffer, limits: JsonLimits): Promise<Body> {
  const parsing = last.then(() => parse(bytes, limits));
  last = parsing.catch(() => undefined);
  return parsing;
}

async function parse(bytes: Buffer, { limits, counters }: JsonLimits): Promise<Body> {
  checkUtf8(bytes);
  await setImmediate();
  const parts = new BodyParts();
  const scan = new JsonScan(bytes, { maxValues: limits.json_values, structure: (byte, at, depth) => parts.add(byte, at, depth) });
  for (let to = 0; to < bytes.length; ) {
    to = Math.min(to + SCAN_BYTES, bytes.length);
    const excess: Excess | undefined = scan.readTo(to);
    if (excess) throw refusalOf(excess, counters);
    await setImmediate();
  }
  const { start, end, members } = parts;
  if (start === -1) throw notAnObject();
  if (end === -1 || parts.isBroken) throw malformed();
  parseJson(`${bytes.toString('utf8', 0, start)}{}${bytes.toString('utf8', end + 1)}`);
  const body: Record<string, Json> = {};
  for (const member of members) {
    const parsed = member.cuts.length === 0 ? parseGroup(bytes, member, members.length === 1) : await parseLong(bytes, member);
    for (const name of Object.keys(parsed)) body[name] = parsed[name] as Json;
    await setImmediate();
  }
  return body;
}

/** A member of the body, or some small ones. */
interface Member {
  readonly start: number;
  readonly end: number;
  /** Of a long list: its opening, the commas after each part of it, and its end. */
  readonly cuts: readonly number[];
}

function parseGroup(bytes: Buffer, { start, end }: Member, isOnly: boolean): JsonObject {
  const parsed = parseJson(`{${bytes.toString('utf8', start, end)}}`) as JsonObject;
  // A comma without a member.
  if (!isOnly && Object.keys(parsed).length === 0) throw malformed();
  checkMembers(parsed, 1);
  return parsed;
}

async function parseLong(bytes: Buffer, { start, end, cuts }: Member): Promise<JsonObject> {
  const text = (from: number, to: number): string => bytes.toString('utf8', from, to);
  const [opening = start] = cuts;
  const closing = cuts.at(-1) ?? end;
  const parsed = parseJson(`{${text(start, opening)}[]${text(closing + 1, end)}}`) as JsonObject;
  checkMembers(parsed, 1);
  const items: Json[] = [];
  for (let i = 1; i < cuts.length; i++) {
    const part = parseJson(`[${text((cuts[i - 1] ?? 0) + 1, cuts[i] ?? 0)}]`) as readonly Json[];
    if (part.length === 0) throw malformed();
    checkMembers(part, 2);
    for (const item of part) items.push(item);
    await setImmediate();
  }
  return Object.fromEntries(Object.keys(parsed).map((name) => [name, items]));
}

/** Where the body can be cut: between members of its root, and between items of a list that is a member. */
class BodyParts {
  /** The opening and the end of the root; -1 where it is no object, or does not end. */
  start = -1;
  end = -1;
  /** Brackets do not match. */
  isBroken = false;
  readonly members: Member[] = [];
  #groupStart = 0;
  #memberStart = 0;
  /** Of the list that is the member. */
  #cuts: number[] = [];
  #isInList = false;

  add(byte: number, at: number, depth: number): void {
    if (depth === 2) this.#inMember(byte, at);
    else if (depth !== 1 || this.end !== -1) return;
    else if (byte === COMMA) this.#memberEnds(at);
    else if (byte === OBJECT_END) {
      this.#memberEnds(at);
      if (this.#groupStart <= at) this.members.push({ start: this.#groupStart, end: at, cuts: [] });
      this.end = at;
    } else if (byte === OBJECT) {
      this.start = at;
      this.#groupStart = at + 1;
      this.#memberStart = at + 1;
    }
  }

  #inMember(byte: number, at: number): void {
    if (byte === LIST) {
      this.isBroken ||= this.#cuts.length > 0;
      this.#cuts = [at];
      this.#isInList = true;
    } else if (byte === COMMA) {
      if (this.#isInList && at - (this.#cuts.at(-1) ?? at) >= PART_BYTES) this.#cuts.push(at);
    } else if (this.#isInList) {
      this.isBroken ||= byte !== LIST_END;
      this.#cuts.push(at);
      this.#isInList = false;
    }
  }

  /** @param at the comma behind the member, or the end of the root */
  #memberEnds(at: number): void {
    const cuts = this.#cuts;
    const isLong = cuts.length >= 2 && at - (cuts[0] ?? at) >= PART_BYTES;
    if (isLong) {
      if (this.#groupStart < this.#memberStart) this.members.push({ start: this.#groupStart, end: this.#memberStart - 1, cuts: [] });
      this.members.push({ start: this.#memberStart, end: at, cuts });
      this.#groupStart = at + 1;
    } else if (at - this.#groupStart >= PART_BYTES) {
      this.members.push({ start: this.#groupStart, end: at, cuts: [] });
      this.#groupStart = at + 1;
    }
    this.#memberStart = at + 1;
    this.#cuts = [];
  }
}

const malformed = (): JsonSyntaxRefusal => new JsonSyntaxRefusal('The request body is not valid JSON.');
