// Replaces every value of a conversation that is not a protocol word with its kind and length. Unknown values are replaced too.
import { isList, isObject, isObjectText, type Json, type JsonObject } from '../turn/json/json.ts';
import { memberKind } from './member-kinds.ts';
import { knownSentence } from './sentences.ts';
import { isProtocolName, isProtocolText, isPublicModel } from './vocabulary.ts';

/** The depth below which a value is replaced as a whole. */
const MAX_DEPTH = 64;

export interface RedactorOptions {
  /** Names of members that the operator keeps. Values of such members are still replaced. */
  readonly keep?: readonly string[];
  /** Unix seconds. */
  readonly now: () => number;
}

export class Redactor {
  readonly #keep: ReadonlySet<string>;
  readonly #now: () => number;
  /** The numbers of values by prefix, so that equal values get equal placeholders. They are kept only in memory, during the recording. */
  readonly #numbers = new Map<string, Map<string, number>>();

  constructor({ keep = [], now }: RedactorOptions) {
    this.#keep = new Set(keep);
    this.#now = now;
  }

  /** Redacts a JSON body, event or frame. */
  json(value: Json): Json {
    return this.#value(value, '', 0);
  }

  /** Redacts the value of one member, header or query parameter. */
  member(name: string, value: string): Json {
    return this.#string(value, this.#isKept(name) ? name : '');
  }

  /** Redacts a string without a name: a path segment, the name of a file, or a comment. */
  text(text: string): string {
    if (text === '') return '';
    const url = /^(data:)([\w/+.-]*)|^(https?|wss?):/.exec(text);
    if (url?.[1]) return `<data:${isProtocolText(url[2] ?? '') ? url[2] : ''}:${text.length}>`;
    if (url) return `<url:${text.length}>`;
    return isObjectText(text) ? `<json:${text.length}>` : `<text:${text.length}>`;
  }

  /** Redacts an opaque value, so that equal ones stay equal. The id of a window keeps its counter, and the id of a model its name. */
  id(value: string): string {
    if (isPublicModel(value)) return value;
    const [, id = value, counter = ''] = /^(.+?)(:\d{1,4})?$/s.exec(value) ?? [];
    if (UUID.test(id)) return `<id:uuid:${this.#number('uuid', id)}:36>${counter}`;
    const prefix = /^([a-z]{2,10})_/.exec(id)?.[1];
    const known = prefix !== undefined && ID_PREFIXES.has(prefix) ? prefix : '';
    return `<id:${known}:${this.#number(known, id)}:${id.length}>${counter}`;
  }

  model(name: string): string {
    return isPublicModel(name) ? name : `<model:${this.#number('model', name)}>`;
  }

  /** Redacts the name of a member. It is kept if it is made of protocol words. */
  memberName(name: string): string {
    return this.#isKept(name) ? name : `member_${this.#number('member', name)}`;
  }

  #isKept(name: string): boolean {
    return this.#keep.has(name) || isProtocolName(name);
  }

  #value(value: Json | undefined, member: string, depth: number): Json {
    if (value === null || value === undefined) return null;
    if (typeof value === 'string') return this.#string(value, member);
    if (typeof value === 'number') return this.#numberOf(value, member);
    if (typeof value === 'boolean') return member === '' ? '<boolean>' : value;
    if (depth >= MAX_DEPTH) return '<text:0>';
    if (isList(value)) return value.map((element) => this.#value(element, member, depth + 1));
    return isObject(value) ? this.#object(value, depth) : null;
  }

  #object(object: JsonObject, depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(object).map(([name, value]) => [this.memberName(name), this.#value(value, this.#isKept(name) ? name : '', depth + 1)]),
    );
  }

  /** @param member '' for a member that is not kept, of whose value nothing is kept either */
  #string(text: string, member: string): string {
    if (text === '') return '';
    switch (memberKind(member)) {
      case 'word':
        return isProtocolText(text) ? text : this.sentence(text);
      case 'id':
        return this.id(text);
      case 'name':
        return isProtocolName(text) ? text : `<name:${this.#number('name', text)}:${text.length}>`;
      case 'model':
        return this.model(text);
      case 'member':
        return this.memberName(text);
      case 'version':
        return /^\d{1,4}(\.\d{1,4}){1,3}$/.test(text) ? text : this.text(text);
      case 'base64':
        return `<base64:${text.length}>`;
      case 'count':
        // The `status` of an answer is a number, while that of a response is a word.
        return /^\d{1,9}(\.\d{1,4})?$/.test(text) || isProtocolText(text) ? text : this.text(text);
      case 'time':
        return /^\d{9,12}$/.test(text) ? this.time(Number(text)) : this.text(text);
      default:
        return this.text(text);
    }
  }

  /** A refusal that is stated only in text, or the placeholder of any other text. */
  sentence(text: string): string {
    return knownSentence(text, (name) => (isProtocolName(name) ? name : isPublicModel(name) ? name : this.id(name))) ?? this.text(text);
  }

  /** Unix seconds as seconds from now, in steps of a minute. */
  time(seconds: number): string {
    return `<time:${Math.round((seconds - this.#now()) / 60) * 60}>`;
  }

  #numberOf(value: number, member: string): Json {
    const kind = memberKind(member);
    if (kind === 'time') return this.time(value);
    return kind === 'count' ? value : '<number>';
  }

  #number(prefix: string, value: string): number {
    const numbers = this.#numbers.get(prefix) ?? new Map<string, number>();
    this.#numbers.set(prefix, numbers);
    const number = numbers.get(value) ?? numbers.size + 1;
    numbers.set(value, number);
    return number;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const ID_PREFIXES: ReadonlySet<string> = new Set(
  'at call chatcmpl cmp ctc ctco cmpl fc fco file ig item lsh mcp msg req resp rs tsc tso ts ws'.split(' '),
);
